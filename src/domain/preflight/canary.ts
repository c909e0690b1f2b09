/** Whether CAs that are probed issue, answer and revoke (CAN-1). */

import { failed, type Finding, gathered, skipped, warned } from "#core/preflight/finding.ts";
import { type Instant, parseTimestamp } from "#core/time.ts";
import type { CanarySections } from "#domain/canary/canary.ts";
import { type LastProbe, lastProbesOf } from "#domain/canary/last-probes.ts";
import type { Store } from "#domain/store.ts";

/** The last probe of each configured CA. */
export async function probesSucceed(
  store: Pick<Store, "read">,
  now: Instant,
  { enabled, cas, interval_minutes }: CanarySections["canary"],
): Promise<Finding> {
  if (!enabled || cas.length === 0) return skipped("No CA is probed (`canary`).");
  const last = await lastProbesOf(store, cas);
  const findings = cas.map((reference) => {
    const probe = last.find((one) => one.reference === reference);
    if (probe === undefined) return warned(`${reference} has not been probed yet.`);
    return findingOf(probe, now, interval_minutes);
  });
  return gathered(
    findings.filter((finding) => finding !== undefined),
    `The last probe succeeded: ${last.map(({ reference, at }) => `${reference} at ${at}`).join(", ")}.`,
  );
}

/** Undefined while the probe is as it should be. */
function findingOf(probe: LastProbe, now: Instant, minutes: number): Finding | undefined {
  const { reference, at, result, stage, reason } = probe;
  if (result === "error") {
    return failed(`The probe of ${reference} failed ${at} at the stage ${stage}: ${reason}.`);
  }
  const age = now - (parseTimestamp(at) ?? 0);
  if (age > 3 * minutes * 60_000) return warned(`${reference} was last probed ${at}.`);
  return undefined;
}
