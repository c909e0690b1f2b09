/** What people and other systems are told of certificates that end soon. */

import { type Alarming, alarmOf, timeLeft } from "#core/expiry/severity.ts";
import { type Instant, timestamp } from "#core/time.ts";
import type { Entry } from "./report.ts";

/** One certificate that needs somebody. */
export interface Warning {
  readonly ca_label: string;
  readonly serial: string;
  readonly common_name: string;
  readonly profile: string;
  readonly severity: Alarming;
  /** The time that is left, for people. */
  readonly expires_in: string;
  readonly not_after: string;
}

/** Those of the entries that need somebody at this moment; what is superseded needs nobody. */
export function warningsOf(entries: readonly Entry[], at: Instant): readonly Warning[] {
  return entries.flatMap((entry): readonly Warning[] => {
    const severity = alarmOf(entry.severity);
    if (severity === undefined || entry.superseded) return [];
    return [
      {
        ca_label: entry.caLabel,
        serial: entry.serial,
        common_name: entry.commonName,
        profile: entry.profile,
        severity,
        expires_in: timeLeft(entry.notAfter, at),
        not_after: timestamp(entry.notAfter),
      },
    ];
  });
}
