/** Proofs by TXT records, as every name server that has a say must see them (RFC 8555 §8.4). */

import type { Lookup } from "#core/dns/answer.ts";
import type { Resolver } from "#domain/ports.ts";

import { lookupFault, lookupSecondsMax } from "./addresses.ts";
import { type Deadline, within } from "./deadline.ts";
import { excerpt, ValidationFault } from "./fault.ts";

export interface DnsDeps {
  readonly vantages: readonly Resolver[];
  readonly deadline: Deadline;
}

/**
 * Ends when each name server lists, at `name` or where its aliases lead, a TXT record whose strings
 * put together `matches` takes. Throws ValidationFault: `dns` when any name server fails,
 * `unauthorized` when any lists no such record, `incorrectResponse` when none of those that any
 * lists is taken.
 */
export async function proveByTxt(
  name: string,
  matches: (value: string) => boolean,
  { vantages, deadline }: DnsDeps,
): Promise<void> {
  const seconds = Math.min(lookupSecondsMax, deadline.secondsLeft() / 2);
  const asked = Promise.all(vantages.map((vantage) => vantage.lookup(name, "TXT", seconds)));
  const lookups = await within(asked, deadline.signal, () => lookupFault(name, "timeout"));
  for (const lookup of lookups) judge(name, lookup, matches);
}

function judge(name: string, lookup: Lookup, matches: (value: string) => boolean): void {
  if (!lookup.answered) throw lookupFault(name, lookup.failure);
  const values = lookup.records.flatMap((one) =>
    one.type === "TXT" ? [Buffer.concat(one.strings)] : [],
  );
  const [first] = values;
  if (first === undefined) {
    throw new ValidationFault("unauthorized", `There is no TXT record at ${name}.`);
  }
  if (values.some((value) => matches(value.toString("latin1")))) return;
  // Where an alias leads may be a zone that only our name servers see.
  const shown = lookup.aliases.length === 0 ? `: ${excerpt(first)}` : "";
  const others = values.length === 1 ? "" : `, of ${values.length}`;
  throw new ValidationFault(
    "incorrectResponse",
    `No TXT record at ${name} is the right one${shown}${others}.`,
  );
}
