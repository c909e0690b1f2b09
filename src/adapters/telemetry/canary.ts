/** What probes of CAs measure. */

import type { CanarySections } from "#domain/canary/canary.ts";
import { probeFactsOf } from "#domain/canary/last-probes.ts";
import type { ProbeReport } from "#domain/canary/stages.ts";
import type { Store } from "#domain/store.ts";

import type { Metrics } from "./families.ts";

/** Counts probes and times their stages; to be told of each that ended. */
export const probeCounter =
  (metrics: Metrics) =>
  ({ result, stages }: Pick<ProbeReport, "result" | "stages">): void => {
    metrics.count("pki_canary_probes_total", { result });
    for (const { stage, milliseconds } of stages) {
      metrics.observe("pki_canary_stage_duration_seconds", { stage }, milliseconds / 1000);
    }
  };

/** Before a scrape: what is remembered of the CAs that are probed; of none while that is off. */
export async function measureProbes(
  metrics: Metrics,
  store: Pick<Store, "read">,
  { enabled, cas }: Pick<CanarySections["canary"], "enabled" | "cas">,
): Promise<void> {
  const { leastSuccess, failing } = await probeFactsOf(store, enabled ? cas : []);
  metrics.set("pki_canary_last_success_timestamp_seconds", {}, leastSuccess / 1000);
  metrics.set("pki_canary_failing_cas", {}, failing);
}
