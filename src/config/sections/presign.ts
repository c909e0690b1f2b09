/** Settings of OCSP answers signed ahead. */

import { count, flag } from "#config/fields.ts";
import { derived, section } from "#config/section.ts";

/** The keys under `presign`. */
export const presign = section("OCSP answers signed ahead", {
  enabled: flag(
    "Sign answers for every certificate ahead, so that they are given while the key provider is away.",
    false,
  ),
  validity_minutes: count("Minutes an answer signed ahead is served for.", 1440, {
    min: 1,
    max: 14_400,
  }),
  refresh_minutes: count(
    "Minutes from one sweep to the next; at most half of the validity.",
    derived("a quarter of `presign.validity_minutes`", (of) =>
      Math.max(1, Math.floor(Number(of("presign.validity_minutes")) / 4)),
    ),
    { min: 1, max: 7200 },
  ),
  recently_queried: flag("Sweep what was lately asked about, also when it has long expired.", true),
  recent_capacity: count("Serials lately asked about that are remembered.", 4096, {
    min: 1,
    max: 1_000_000,
  }),
  expired_grace_minutes: count(
    "Minutes after notAfter in which a certificate is still swept; -1 stops at notAfter.",
    1440,
    { min: -1, max: 525_600 },
  ),
});
