/** Settings of retention: when expired certificates leave the inventory, and how. */

import { count, flag, reloadable, word } from "#config/fields.ts";
import { section } from "#config/section.ts";

/** The keys under `retention`. */
export const retention = section("Retention", {
  enabled: flag("Let certificates that expired long ago leave the inventory by schedule.", false),
  mode: reloadable(
    word(
      "How they leave: `archive` moves their DER aside, `prune` removes it too and leaves CA, serial, validity, status and key.",
      ["archive", "prune"],
      "archive",
    ),
  ),
  min_age_days: reloadable(count("Days after their end before they leave.", 90, { max: 36_500 })),
  prune_after_days: reloadable(
    count("Days after their end before no more than a tombstone is left; 0 means never.", 0, {
      max: 36_500,
    }),
  ),
  schedule: section("Schedule", {
    interval_hours: count("Hours between runs.", 24, { min: 1, max: 8760 }),
  }),
  batch_size: reloadable(count("Certificates in one unit.", 500, { min: 1, max: 5000 })),
});
