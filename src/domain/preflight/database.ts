/** Whether the database can be believed: engine, schema, room, and the clock beside its own. */

import type { Diagnosis } from "#core/preflight/database.ts";
import { failed, type Finding, gathered, passed, warned } from "#core/preflight/finding.ts";
import { judgeClock, judgeEngine, judgeVolume, type VolumeFacts } from "#core/preflight/host.ts";
import { parseTimestamp } from "#core/time.ts";
import { lastEventTime } from "#domain/clock-watch.ts";
import type { Clock } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";
import { closed, type Part } from "./part.ts";

export interface DatabasePremises {
  readonly store: Part<Store>;
  /** The database as it was before anything was opened. */
  readonly diagnosis: Part<Diagnosis>;
}

/** How far the schema is, or why it can be no schema of this binary. */
export type SchemaLook =
  | { readonly current: number; readonly newest: number; readonly pending: readonly number[] }
  | { readonly fault: string };

/** It answers, and soon. */
export async function databaseAnswers({ store, diagnosis }: DatabasePremises): Promise<Finding> {
  if ("fault" in diagnosis) return closed(diagnosis);
  const { pingMs, unusable } = diagnosis.open;
  if (unusable !== undefined) return failed(unusable);
  if ("open" in store) await store.open.ping();
  const told = `The database answered within ${pingMs.toFixed(1)} ms.`;
  return pingMs > pingMsMax ? warned(told) : passed(told);
}

/** Its version, and how far its replicas are behind. */
export const engineFits = ({ diagnosis }: DatabasePremises): Finding =>
  "fault" in diagnosis ? closed(diagnosis) : judgeEngine(diagnosis.open);

/** The schema is this binary's. */
export async function schemaCurrent(
  { diagnosis }: DatabasePremises,
  look: () => Promise<SchemaLook>,
): Promise<Finding> {
  if ("fault" in diagnosis) return closed(diagnosis);
  const found = await look();
  if ("fault" in found) return failed(found.fault);
  const { current, newest, pending } = found;
  if (pending.length > 0) return failed(`Migrations pending: ${pending.join(", ")}.`);
  return passed(`Schema ${current} of ${newest}.`);
}

/** No row breaks a rule of the schema; `violations` reads all of them. */
export async function rowsSound(
  { diagnosis }: DatabasePremises,
  violations: () => Promise<readonly string[]>,
): Promise<Finding> {
  if ("fault" in diagnosis && diagnosis.absent) return closed(diagnosis);
  return gathered((await violations()).map(failed), "Every rule of the schema holds.");
}

/** The volumes have room for what is written on them. */
export async function roomLeft(
  premises: DatabasePremises,
  volumes: readonly VolumeFacts[],
  minFreeMegabytes: number,
): Promise<Finding> {
  const limits = { minFreeMegabytes, bytesPerDay: await growth(premises) };
  const findings = volumes.map((volume) => judgeVolume(volume, limits));
  return gathered(findings, findings.map(({ detail }) => detail).join(" "));
}

/** The clock of the host agrees with the database's and lies after the newest event. */
export async function clockAgrees(
  { diagnosis }: DatabasePremises,
  store: Store,
  clock: Clock,
): Promise<Finding> {
  const event = await lastEventTime(store);
  const now = clock.now();
  const database = "open" in diagnosis ? diagnosis.open : undefined;
  return judgeClock({
    databaseSeconds: database?.time && (database.time - database.askedAt) / 1000,
    newestEventSeconds: event && (event - now) / 1000,
  });
}

/** Octets a day since the first event; undefined while that is less than a day. */
async function growth({ store, diagnosis }: DatabasePremises): Promise<number | undefined> {
  if ("fault" in store || "fault" in diagnosis) return undefined;
  const { audit } = store.open.read;
  const [first] = await audit.eventsAfter(0, 1);
  const head = await audit.eventHead();
  const [last] = await audit.eventsAfter(Math.max(head.seq - 1, 0), 1);
  const [from, to] = [first, last].map((event) => event && parseTimestamp(event.timestamp));
  if (from === undefined || to === undefined || to - from < dayMs) return undefined;
  return diagnosis.open.bytes / ((to - from) / dayMs);
}

const dayMs = 86_400_000;
const pingMsMax = 100;
