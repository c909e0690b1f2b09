/** Settings of load limits: how many signing operations run and wait at once. */

import { count, flag, reloadable } from "#config/fields.ts";
import { section } from "#config/section.ts";

/** Operations in flight at once: as configured, else one per session of the token. */
export const signingLimit = (configured: number, sessions: number): number =>
  configured > 0 ? configured : sessions;

/** The keys under `rate_limit`. */
export const rateLimit = section("Load limits", {
  concurrency: section("Signing operations at once", {
    enabled: reloadable(flag("Bound the signing operations in flight and in waiting.", false)),
    max_in_flight: reloadable(
      count("Operations at once; 0 or less takes `pkcs11.session_pool_size`.", 0, { min: -1 }),
    ),
    max_queue: reloadable(count("Operations that may wait; more are answered 503.", 64)),
    acquire_timeout_ms: reloadable(
      count("Milliseconds an operation may wait; 0 waits until the request ends.", 0),
    ),
  }),
});
