/** Whether what expired leaves the inventory in time (RET-1). */

import { failed, type Finding, passed, skipped, warned } from "#core/preflight/finding.ts";
import { type Instant, parseTimestamp } from "#core/time.ts";
import { lastRetentionOf } from "#domain/retention/retention.ts";
import type { Store } from "#domain/store.ts";

/** The last run; `intervalHours` is undefined where nothing leaves by schedule. */
export async function retentionFresh(
  store: Pick<Store, "read">,
  now: Instant,
  intervalHours: number | undefined,
): Promise<Finding> {
  if (intervalHours === undefined) return skipped("Nothing leaves the inventory (`retention`).");
  const last = await lastRetentionOf(store);
  const at = parseTimestamp(last?.at ?? "");
  if (last === undefined || at === undefined) return warned("No run has ended yet.");
  const told = `The last run ended ${last.at}`;
  if (last.result === "error") return failed(`${told} before its end.`);
  if ((now - at) / 3_600_000 > 2 * intervalHours) return warned(`${told}.`);
  const left = `${last.archived} certificates into the archive, ${last.pruned} to a tombstone`;
  return passed(`${told}: ${left}, ${last.held_back} held back.`);
}
