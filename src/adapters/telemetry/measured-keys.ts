/** Counts and times every key-provider operation, around whatever provides the keys. */

import type { Keys } from "#domain/keys.ts";

import type { Metrics } from "./families.ts";
import type { LabelsOf } from "./metrics.ts";

type Operation = LabelsOf<"pki_hsm_operations_total">["operation"];

/** The same keys, measured; refusals and faults count as `error` and pass through unchanged. */
export function measuredKeys(keys: Keys, metrics: Metrics): Keys {
  const measured = <T>(operation: Operation, run: () => Promise<T>) =>
    measure(metrics, operation, run);
  return {
    generate: (wanted) => measured("generate", () => keys.generate(wanted)),
    find: (ref) => measured("find", () => keys.find(ref)),
    sign: (ticket, message) => measured("sign", () => keys.sign(ticket, message)),
    facts: () => measured("ping", () => keys.facts()),
    destroy: (ref) => keys.destroy(ref),
    close: () => keys.close(),
  };
}

async function measure<T>(
  metrics: Metrics,
  operation: Operation,
  run: () => Promise<T>,
): Promise<T> {
  const begun = performance.now();
  let result: "success" | "error" = "error";
  try {
    const value = await run();
    result = "success";
    return value;
  } finally {
    const seconds = (performance.now() - begun) / 1000;
    metrics.count("pki_hsm_operations_total", { operation, result });
    metrics.observe("pki_hsm_operation_duration_seconds", { operation }, seconds);
  }
}
