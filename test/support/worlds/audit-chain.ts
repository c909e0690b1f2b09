/** Chains of events with whatever texts strangers can bring into them. */

import fc from "fast-check";

import { results } from "#core/audit/actions.ts";
import { type AuditEvent, type ChainHead, eventHash, genesis } from "#core/audit/chain.ts";
import { type EventText, eventTexts } from "#core/audit/members.ts";

/** What an event says, before it has a place in a chain. */
export type Said = Readonly<Record<Exclude<EventText, "prevHash" | "hash">, string>>;

/** The members that are in the hash, but for the links. */
export const hashedTexts = (Object.keys(eventTexts) as EventText[]) // The keys of the table.
  .filter((name) => !["prevHash", "hash", "requestId"].includes(name));

/** A text with everything in it that some format gives a meaning. */
export const anyText = fc.oneof(
  fc.string({ unit: "grapheme", maxLength: 12 }),
  fc.string({
    unit: fc.constantFrom(...'\\"]|=\n\r\t\0 a\u0085\u2028\u2029\u001b,:{}[n'),
    maxLength: 12,
  }),
);

const neverEmpty = anyText.filter((text) => text !== "");

/** One event of any texts; those that every event has are not empty. */
export const anySaid: fc.Arbitrary<Said> = fc.record({
  id: fc.uuid(),
  timestamp: fc
    .date({ min: new Date(0), max: new Date("9999-12-31T23:59:59Z"), noInvalidDate: true })
    .map((at) => at.toISOString().replace("Z", "000Z")),
  actor: neverEmpty,
  action: fc.constantFrom("cert.issue", "auth.login_failed", "revocation.bulk.approved"),
  result: fc.constantFrom(...results),
  actorName: anyText,
  actorRoles: anyText,
  tenant: anyText,
  target: anyText,
  targetName: anyText,
  caId: anyText,
  serial: anyText,
  detail: anyText,
  ip: anyText,
  requestId: anyText,
});

/** The events one behind the other, after `head`. */
export function chained(all: readonly Said[], head: ChainHead = genesis): readonly AuditEvent[] {
  let last = head;
  return all.map((said) => {
    const event = { ...said, seq: last.seq + 1, prevHash: last.hash };
    const hash = eventHash(event);
    last = { seq: event.seq, hash };
    return { ...event, hash };
  });
}
