/** Where a look begins: at the genesis, or behind what an earlier run has proven (`--since`). */

import { importedMarker } from "#domain/revocation/adoption.ts";
import { genesis } from "#core/audit/chain.ts";
import { instant, parseTimestamp, timestamp } from "#core/time.ts";
import type { Connection } from "#adapters/db/engine/connection.ts";

import { asked, numberOf, textOf } from "./look-rows.ts";

export interface Beginning {
  /** True when everything is looked at. */
  readonly whole: boolean;
  readonly event: { readonly seq: number; readonly hash: string };
  readonly entry: { readonly number: number; readonly hash: string };
  /** Certificates up to this one are left out. */
  readonly ordinal: number;
  /** What is older than this, in epoch milliseconds, need not have its other half here. */
  readonly at: number;
}

/**
 * Behind the event with this number, or at the genesis for 0. Ledger and inventory have numbers of
 * their own, so they begin an hour before that event by the time they were written; what lies in
 * that hour counts as the other half of what came later. Gives a sentence where there is no such
 * event.
 */
export async function beginning(
  connection: Connection,
  since: number,
): Promise<Beginning | string> {
  if (since === 0) return { whole: true, ...start, ordinal: 0, at: Number.NEGATIVE_INFINITY };
  const event = "select hash, timestamp from events where seq = %1";
  const [found] = await asked(connection, event, [since]);
  const at = found && parseTimestamp(textOf(found[1]));
  if (found === undefined || at === undefined) return `There is no event ${since}.`;
  const early = instant(at - marginMs);
  const ordinal = await lastBefore(connection, certificates, early);
  const number = await lastBefore(connection, entries, timestamp(early));
  const [entry] = await asked(connection, "select hash from ledger where number = %1", [number]);
  const hash = entry === undefined ? genesis.hash : textOf(entry[0]);
  return {
    whole: false,
    event: { seq: since, hash: textOf(found[0]) },
    entry: { number: entry === undefined ? 0 : number, hash },
    ordinal,
    at,
  };
}

interface Numbered {
  readonly last: string;
  /** The value by which rows are older, of the first row from a number on. */
  readonly at: string;
}

/** The greatest number below which rows are older, by halving; 0 for none. */
async function lastBefore(
  connection: Connection,
  { last, at }: Numbered,
  time: number | string,
): Promise<number> {
  const [row] = await asked(connection, last);
  let [low, high] = [0, numberOf(row?.[0]) ?? 0];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    const [found] = await asked(connection, at, [middle]);
    const value = typeof time === "number" ? numberOf(found?.[0]) : textOf(found?.[0] ?? null);
    if (value !== undefined && value !== "" && value < time) low = middle;
    else high = middle - 1;
  }
  return low;
}

const certificates: Numbered = {
  last: "select max(ordinal) from certificates",
  // What was imported is as old as it was when it came.
  at: `select created_at from certificates where ordinal >= %1 and marker <> '${importedMarker}' order by ordinal limit 1`,
};
const entries: Numbered = {
  last: "select max(number) from ledger",
  at: "select timestamp from ledger where number >= %1 order by number limit 1",
};
const start = {
  event: genesis,
  entry: { number: genesis.seq, hash: genesis.hash },
};
const marginMs = 3_600_000;
