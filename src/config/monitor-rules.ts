/** Startup validation of the expiry monitor: V-22. */

import type { Fault } from "./faults.ts";
import type { Config } from "./schema.ts";

/** V-22: whoever is critical was a warning before. */
export function monitorFaults({ monitor }: Pick<Config, "monitor">): readonly Fault[] {
  const { warning_days, critical_days } = monitor;
  if (critical_days <= warning_days) return [];
  return [{ path: "monitor.critical_days", sentence: "Must not be above monitor.warning_days." }];
}
