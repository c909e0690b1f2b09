/** Settings of the canary: which CAs issue and revoke a certificate nobody uses, and how often. */

import { count, field, flag, reloadable, text } from "#config/fields.ts";
import { section } from "#config/section.ts";
import { list } from "#core/shape.ts";
import { label } from "#core/shape/texts.ts";

/** The keys under `canary`. */
export const canary = section("Canary", {
  enabled: flag(
    "Have CAs issue and revoke a certificate by schedule, to see that they can.",
    false,
  ),
  interval_minutes: reloadable(
    count("Minutes between two probes of a CA.", 15, { min: 1, max: 10_080 }),
  ),
  // What is remembered of each is one value of the instance.
  cas: reloadable(field("Ids or labels of the CAs, 100 at most.", list(label), [])),
  profile: reloadable(text("Profile of the certificates.", "canary")),
  timeout_seconds: reloadable(
    count("Seconds one probe may take, all stages together.", 60, { min: 1, max: 3600 }),
  ),
});
