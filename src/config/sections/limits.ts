/**
 * Settings of load limits: how many public requests are answered, and how many signing operations
 * run and wait at once.
 */

import { count, field, flag, reloadable } from "#config/fields.ts";
import { derived, section } from "#config/section.ts";
import { decimal } from "#core/shape.ts";

const amount = decimal({ min: 0, max: Number.MAX_SAFE_INTEGER });

function tier(title: string, rate: number, burst: number) {
  return section(title, {
    rate: reloadable(field("Requests per second; 0 switches this tier off.", amount, rate)),
    burst: reloadable(count("Requests at once, before the rate applies.", burst, { min: 1 })),
  });
}

/** The keys under `rate_limit`. */
export const rateLimit = section("Load limits", {
  enabled: reloadable(
    flag("Limit the requests to public endpoints; excess is answered 429.", false),
  ),
  global: tier("All public requests together", 200, 400),
  per_ip: tier("Public requests of one address, or of one IPv6 /64", 20, 40),
  per_account: tier("Public requests of one protocol account or credential", 50, 100),
  max_keys: reloadable(
    count("Addresses and accounts remembered in each tier.", 100_000, { min: 1 }),
  ),
  idle_ttl_seconds: reloadable(
    count("Seconds after which one that is not seen any more is forgotten.", 600, { min: 1 }),
  ),
  concurrency: section("Signing operations at once", {
    enabled: reloadable(
      flag(
        "Bound the signing operations in flight and in waiting.",
        derived("as `rate_limit.enabled`", (of) => of("rate_limit.enabled")),
      ),
    ),
    max_in_flight: reloadable(
      count("Operations at once; 0 or less takes `pkcs11.session_pool_size`.", 0, { min: -1 }),
    ),
    max_queue: reloadable(count("Operations that may wait; more are answered 503.", 64)),
    acquire_timeout_ms: reloadable(
      count("Milliseconds an operation may wait; 0 waits until the request ends.", 0),
    ),
  }),
});
