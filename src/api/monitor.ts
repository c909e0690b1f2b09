/** The expiry monitor in JSON: what ends when, and what is done about it. */

import { alarming, secondsLeft, severities, timeLeft } from "#core/expiry/severity.ts";
import {
  flag,
  integer,
  many,
  oneOf,
  optional,
  otherwise,
  shape,
  text,
  type ValueOf,
  words,
} from "#core/shape.ts";
import { type Instant, timestamp } from "#core/time.ts";
import { type Definition, operation } from "#domain/access/operation.ts";
import { anyScope } from "#domain/access/targets.ts";
import { warningsOf } from "#domain/expiry/notice.ts";
import type { Entry, Reports } from "#domain/expiry/report.ts";
import type { Store } from "#domain/store.ts";
import type { OperationName } from "#operations";
import { readableCa, readableTenant } from "./pages.ts";
import { count, serialText, time } from "./shapes.ts";

interface Deps {
  readonly store: Store;
  readonly reports: Reports;
}

/** Handlers of `monitor.expiring`. */
export function monitorHandlers(deps: Deps) {
  return { "monitor.expiring": expiring(deps) } satisfies Partial<
    Record<OperationName, Definition>
  >;
}

function expiring({ store, reports }: Deps) {
  return operation({
    summary: "What ends when: certificates by the time they have left, the most urgent first.",
    target: anyScope,
    input: {
      ca: optional(text({ max: 64 })),
      tenant: optional(text({ max: 64 })),
      days: optional(integer(0, 36_500)),
      severity: optional(oneOf(severities)),
      include_superseded: otherwise(flag(), false),
      limit: otherwise(integer(1, 10_000), 1000),
    },
    output: expiringShape,
    run: async ({ input, reach }) => {
      const { ca: named, days, severity, include_superseded: superseded, limit } = input;
      const ca = named === undefined ? undefined : await readableCa(store, named, reach);
      const tenant = await readableTenant(store, input.tenant, reach);
      const listing = { days, severity, superseded, limit };
      const { at, thresholds, counts, total, entries } = await reports.report(
        { reach, ca, tenant },
        listing,
      );
      return {
        generated_at: timestamp(at),
        min_severity: severity ?? "warning",
        warning_days: thresholds.warningDays,
        critical_days: thresholds.criticalDays,
        counts,
        total,
        truncated: total > entries.length,
        certificates: entries.map((entry) => itemJson(entry, at)),
        warnings: warningsOf(entries, at),
        renewed: [],
      };
    },
  });
}

const severityText = oneOf(severities);

const itemShape = shape({
  ca_id: words(),
  ca_label: words(),
  serial: serialText,
  common_name: words(),
  subject: words(),
  profile: words(),
  not_after: time,
  expires_in_seconds: integer(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER),
  expires_in: words(),
  severity: severityText,
  /** Of one that is suspended, and so is not renewed. */
  status: optional(oneOf(["held"])),
  superseded: optional(flag()),
});

const warningShape = shape({
  ca_label: words(),
  serial: serialText,
  common_name: words(),
  profile: words(),
  severity: oneOf(alarming),
  expires_in: words(),
  not_after: time,
});

const renewedShape = shape({
  ca_id: words(),
  serial: serialText,
  new_serial: serialText,
  common_name: words(),
});

const expiringShape = shape({
  generated_at: time,
  min_severity: severityText,
  warning_days: count,
  critical_days: count,
  counts: shape({ ok: count, warning: count, critical: count, expired: count }),
  total: count,
  truncated: flag(),
  certificates: many(itemShape),
  warnings: many(warningShape),
  renewed: many(renewedShape),
});

function itemJson(entry: Entry, at: Instant): ValueOf<typeof itemShape> {
  return {
    ca_id: entry.caId,
    ca_label: entry.caLabel,
    serial: entry.serial,
    common_name: entry.commonName,
    subject: entry.subject,
    profile: entry.profile,
    not_after: timestamp(entry.notAfter),
    expires_in_seconds: secondsLeft(entry.notAfter, at),
    expires_in: timeLeft(entry.notAfter, at),
    severity: entry.severity,
    ...(entry.status === "held" ? { status: "held" } : {}),
    ...(entry.superseded ? { superseded: true } : {}),
  };
}
