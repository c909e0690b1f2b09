/**
 * Settings of certificate transparency: the logs, what a profile asks of them, and the watch over
 * their SCTs.
 */

import { absoluteUrl, label, lines, textual } from "#core/shape/texts.ts";
import type { CtPolicy } from "#core/policy/transparency.ts";

import { count, existingFile, field, flag, items, list, text, word } from "#config/fields.ts";
import { section, type Values } from "#config/section.ts";

const operator = textual("operator", "Example", { max: 200 });

const logMembers = {
  name: field("Name, used by profiles.", label),
  url: field("Submission address.", absoluteUrl("base")),
  operator: text("Who runs it; the known logs may say so."),
  public_key: field("Public key, PEM or base64 of its DER.", lines),
  public_key_file: existingFile("File with the public key instead."),
  mmd_hours: count("Hours within which the log includes what it gave an SCT for.", 24, {
    min: 1,
    max: 168,
  }),
  api: word("How its tree is read.", ["rfc6962", "static"], "rfc6962"),
  monitoring_url: field("Where a static log is read.", absoluteUrl("base")),
  disabled: flag("Submit nothing more to it.", false),
} as const;

/** The keys under `certificate_transparency`. */
export const certificateTransparency = section("Certificate transparency", {
  logs: items("The logs profiles may use.", logMembers),
  known_logs_file: existingFile(
    "Log list of version 3 in JSON; supplies operator, key and state of the logs above by their address.",
  ),
  inclusion_monitor: section("Inclusion monitor", {
    enabled: flag("Check that logs include what they gave SCTs for.", false),
    interval_minutes: count("Minutes between runs.", 60, { min: 1, max: 1440 }),
    max_certs_per_run: count("SCTs checked in one run.", 500, { min: 1, max: 100_000 }),
    timeout_seconds: count("Seconds to wait for one answer.", 15, { min: 1, max: 300 }),
  }),
});

/** One entry of `certificate_transparency.logs` as configured. */
export type LogSetting = Values<typeof logMembers>;

/** The keys under `profiles[].ct`. */
export const profileCt = section("Certificate transparency", {
  enabled: flag("Have logs give SCTs for the certificate before it is signed.", false),
  logs: list("Names of logs; none means all.", label, []),
  min_scts: count("SCTs needed; 0 counts as 1.", 0, { max: 50 }),
  policy: word(
    "Rules of a browser: `chrome` wants 2 SCTs up to 180 days, 3 above, of 2 operators.",
    ["none", "chrome"],
    "none",
  ),
  min_distinct_operators: count("Operators the SCTs must come from.", 0, { max: 50 }),
  require_operators: list("Operators each of which must have given an SCT.", operator, []),
  fail_open: flag("Sign also when too few logs give an SCT; the record says so.", false),
  timeout_seconds: count("Seconds to wait for a log; 0 means 10.", 0, { max: 60 }),
  retries: count("Further attempts per log.", 0, { max: 5 }),
});

/** What the keys of a profile mean. */
export function ctPolicyOf(setting: Values<typeof profileCt.members>): CtPolicy {
  return {
    enabled: setting.enabled,
    logs: setting.logs,
    minScts: setting.min_scts,
    policy: setting.policy,
    minDistinctOperators: setting.min_distinct_operators,
    requireOperators: setting.require_operators,
    failOpen: setting.fail_open,
    timeoutSeconds: setting.timeout_seconds,
    retries: setting.retries,
  };
}
