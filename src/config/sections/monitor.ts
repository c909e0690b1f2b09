/** Settings of the watch over the ends of certificates. */

import { count, reloadable } from "#config/fields.ts";
import { section } from "#config/section.ts";

const daysMax = { min: 1, max: 36_500 } as const;

/** The keys under `monitor`. */
export const monitor = section("Expiry monitor", {
  warning_days: reloadable(
    count("Days before its end from which a certificate is a warning.", 30, daysMax),
  ),
  critical_days: reloadable(
    count("Days before its end from which a certificate is critical.", 7, daysMax),
  ),
});
