/** Whether OCSP answers signed ahead are renewed in time (PRE-1, PRE-3). */

import { failed, type Finding, gathered, skipped, warned } from "#core/preflight/finding.ts";
import { type Instant, timestamp } from "#core/time.ts";
import { lastSweepOf } from "#domain/revocation/presign.ts";
import type { Store } from "#domain/store.ts";

/**
 * The last sweep, and what it left behind; `refreshMinutes` is undefined where nothing is signed
 * ahead.
 */
export async function answersAhead(
  store: Pick<Store, "read">,
  now: Instant,
  refreshMinutes: number | undefined,
): Promise<Finding> {
  if (refreshMinutes === undefined) return skipped("No answers are signed ahead (`presign`).");
  const sweep = await lastSweepOf(store);
  if (sweep === undefined) return warned("No sweep has ended yet.");
  const { count, earliestNextUpdate } = await store.read.presigned.summary();
  const refreshes = (now - sweep.at) / 60_000 / refreshMinutes;
  const told = `The last sweep ended ${timestamp(sweep.at)}`;
  const findings: Finding[] = [];
  if (!sweep.succeeded) findings.push(failed(`${told} and could not sign everything.`));
  if (refreshes > 1.5) findings.push((refreshes > 2 ? failed : warned)(`${told}.`));
  // A sweep removes what has ended; what was there before the last one ended should be gone.
  if (earliestNextUpdate !== undefined && earliestNextUpdate < sweep.at) {
    findings.push(failed(`An answer ended ${timestamp(earliestNextUpdate)} and is still kept.`));
  }

  return gathered(findings, `${told}, and ${count} answers are kept.`);
}
