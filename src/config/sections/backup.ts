/** Settings of backups: where they go, who can open them, how often they are made and tried. */

import { count, existingFile, flag, list, path, written } from "#config/fields.ts";
import { secret } from "#config/secret-field.ts";
import { derived, section } from "#config/section.ts";
import { s3Members } from "./publish.ts";
import { textual } from "#core/shape/texts.ts";

/** What it encodes is looked at when the archive is made. */
const recipient = textual(
  "age recipient",
  "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p",
  {
    pattern: /^age1(?:pq1|tag1|tagpq1)?[02-9ac-hj-np-z]{8,4000}$/,
    max: 4096,
    wants: "Must be a recipient of the age format, such as age1….",
  },
);

/** The keys under `backup`. */
export const backup = section("Backup", {
  enabled: flag("Make backups by schedule.", false),
  schedule: section("Schedule", {
    interval_hours: count("Hours between backups.", 24, { min: 1, max: 8760 }),
  }),
  include_config: flag("Take the effective configuration along, without secrets.", true),
  include_master_key: flag(
    "Take the file of the master key along, so that software keys open where the archive is restored.",
    true,
  ),
  dir: written("private directory", path("Directory the archives go to, with mode 0700.")),
  recipients: list("Recipients of the age format; each of them opens the archives.", recipient, []),
  passphrase: secret("Passphrase that opens the archives, instead of recipients.", undefined, {
    wrong: (value) => (value.length < 16 ? "must have at least 16 characters" : undefined),
  }),
  retention: section("Retention", {
    keep: count("Newest archives that stay, whatever their age.", 7, { min: 1, max: 10_000 }),
    max_age_days: count("Days after which older ones go; 0 keeps only the newest.", 0, {
      max: 36_500,
    }),
  }),
  s3: section("Into an S3-compatible store", s3Members),
  verify: section("Drill", {
    enabled: flag("Restore the latest archive into a throw-away instance by schedule.", false),
    interval_hours: count(
      "Hours between drills.",
      derived("`backup.schedule.interval_hours`", (of) =>
        Number(of("backup.schedule.interval_hours") ?? 24),
      ),
      { min: 1, max: 8760 },
    ),
    identity_file: existingFile("File with the identity that opens the archives, for the drill."),
  }),
});
