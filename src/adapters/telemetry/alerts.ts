/** WHEN PROMETHEUS WAKES SOMEBODY: every alert with its condition, and what to do then. */

import { type CheckName, preflightChecks } from "#core/preflight/checks.ts";

import { queries } from "./promql.ts";

/** What the rules are made for. */
export interface AlertsAsked {
  /** Name of the scrape job. */
  readonly job: string;
  /** Seconds between backups (`backup.schedule.interval_hours`). */
  readonly backupIntervalSeconds: number;
}

/** An alerting rule, in the words of Prometheus. */
export interface AlertRule {
  readonly alert: string;
  readonly expr: string;
  readonly for: string;
  readonly labels: { readonly severity: Severity };
  readonly annotations: {
    readonly summary: string;
    readonly description: string;
    readonly remedy: string;
  };
}

/** `critical` is for the pager, `warning` for the morning. */
type Severity = "critical" | "warning";

/** The rules in their groups, as a file of rules holds them. */
export function alertRules(asked: AlertsAsked) {
  const groups = [
    { name: "pkid instance", rules: instanceRules(asked) },
    { name: "pkid load", rules: loadRules },
    { name: "pkid certificates", rules: certificateRules },
    { name: "pkid keys", rules: keyRules },
    { name: "pkid backups", rules: backupRules(asked) },
    { name: "pkid access", rules: accessRules },
  ];
  return { groups };
}

/** A rule; what to do stands in a check of preflight, or in words of its own. */
function rule(
  alert: string,
  [severity, lasting]: readonly [Severity, string],
  expr: string,
  told: {
    /** Whom it is about, where that is no instance. */
    readonly of?: string;
    readonly summary: string;
    readonly description: string;
    readonly remedy: string | { readonly check: CheckName };
  },
): AlertRule {
  const { of = "{{ $labels.instance }}", summary, description, remedy } = told;
  return {
    alert,
    expr,
    for: lasting,
    labels: { severity },
    annotations: { summary: `${of}: ${summary}`, description, remedy: sentences(remedy) },
  };
}

/** A check is named too: its finding says more than a number can. */
function sentences(remedy: string | { readonly check: CheckName }): string {
  if (typeof remedy === "string") return remedy;
  const { check } = remedy;
  return `${preflightChecks[check].remedy} \`pkid preflight --only ${check}\` says more.`;
}

const within = (window: string) => queries({ scope: "", window });
const { series, quantile } = within("10m");
const { perSecond } = within("5m");

/** More than this share of what a counter counts, in both over the same labels. */
const share = (part: string, of: string, more: number) => `${part} / ${of} > ${more}`;

/** Probes, whose refusals are their answer. */
const probes = { unlike: "/readyz|/healthz|/api/health|/metrics" } as const;
/** Those whose length is that of the work. */
const longRoutes = { unlike: ".*:(bulk|import|finish|run|drilled|presign|verify)|/api/backup" };
const requestDuration = "pki_http_request_duration_seconds";
const publicRoutes = { like: "/api/ca/.*/(ocsp|crl).*" } as const;

const instanceRules = ({ job }: AlertsAsked): readonly AlertRule[] => {
  const up = `up{job=${JSON.stringify(job)}}`;
  const asked = perSecond("pki_http_requests_total", ["instance"], { route: probes });
  const failed = perSecond("pki_http_requests_total", ["instance"], {
    route: probes,
    status: { like: "5.." },
  });
  return [
    rule("PkidDown", ["critical", "2m"], `${up} == 0`, {
      summary: "pkid does not answer",
      description: "Its metrics cannot be fetched.",
      remedy: "See whether it runs, what its log ends with, and what `pkid preflight` says there.",
    }),
    rule("PkidUnwatched", ["critical", "10m"], `absent(${up})`, {
      of: "{{ $labels.job }}",
      summary: "no pkid is watched",
      description: "Prometheus has no target of this job.",
      remedy: "Correct the scrape configuration, or the job these rules were made for.",
    }),
    rule(
      "PkidDatabaseDown",
      ["critical", "2m"],
      `${series("pki_component_up", { component: "database" })} == 0`,
      {
        summary: "the database does not answer",
        description: "Nothing is issued or revoked meanwhile.",
        remedy: { check: "db.connectivity" },
      },
    ),
    rule("PkidErrors", ["critical", "5m"], share(failed, asked, 0.05), {
      summary: "answers are errors",
      description: "{{ $value | humanizePercentage }} of the answers have a status from 500 on.",
      remedy: "Look for `request_failed` in its log; `pkid preflight` says what is broken.",
    }),
  ];
};

const loadRules: readonly AlertRule[] = [
  rule(
    "PkidSlow",
    ["warning", "15m"],
    `${quantile(0.99, requestDuration, ["instance"], { route: longRoutes })} > 5`,
    {
      summary: "answers are slow",
      description: "One of 100 takes {{ $value | humanizeDuration }} or more.",
      remedy: "`pkid preflight --only disk.fsync,db.connectivity` measures disk and database.",
    },
  ),
  rule(
    "PkidEventLoopHeld",
    ["warning", "10m"],
    `${series("pki_process_event_loop_delay_seconds")} > 0.5`,
    {
      summary: "the thread that serves is held",
      description: "Its work waits {{ $value | humanizeDuration }} or more.",
      remedy: "Look for `event_loop_held` in its log; give the host more processor time.",
    },
  ),
  rule(
    "PkidRestarts",
    ["warning", "0m"],
    `resets(${series("pki_process_cpu_seconds_total")}[1h]) > 2`,
    {
      summary: "pkid starts again and again",
      description: "It has started anew {{ $value }} times in an hour.",
      remedy: "Read what its log ends with before each start; `pkid manual incident`.",
    },
  ),
];

const certificateRules: readonly AlertRule[] = [
  rule(
    "PkidIssuanceFails",
    ["critical", "5m"],
    `${within("15m").risen("pki_certificates_total", ["instance", "operation"], { result: "error" })} > 3`,
    {
      summary: "certificates cannot be issued, renewed or revoked",
      description: "{{ $value | humanize }} times in 15 minutes: {{ $labels.operation }}.",
      remedy: "`pkid preflight --only keys.ca,ledger.head` tries the keys; else look in the log.",
    },
  ),
  rule(
    "PkidOcspFails",
    ["critical", "10m"],
    share(
      perSecond("pki_ocsp_requests_total", ["instance"], { result: "error" }),
      perSecond("pki_ocsp_requests_total", ["instance"]),
      0.25,
    ),
    {
      summary: "relying parties get no OCSP answers",
      description: "{{ $value | humanizePercentage }} of the answers say that there is none.",
      remedy: { check: "keys.ocsp_delegate" },
    },
  ),
  rule(
    "PkidCrlFails",
    ["critical", "10m"],
    share(
      perSecond("pki_crl_requests_total", ["instance"], { result: "error" }),
      perSecond("pki_crl_requests_total", ["instance"]),
      0.25,
    ),
    {
      summary: "relying parties get no CRLs",
      description: "{{ $value | humanizePercentage }} of the CRLs asked for are not served.",
      remedy: { check: "crl.freshness" },
    },
  ),
  rule(
    "PkidStatusSlow",
    ["warning", "10m"],
    `${quantile(0.99, requestDuration, ["instance"], { route: publicRoutes })} > 1`,
    {
      summary: "relying parties wait for OCSP answers and CRLs",
      description: "One of 100 waits {{ $value | humanizeDuration }} or more.",
      remedy: { check: "ocsp.presign" },
    },
  ),
  rule(
    "PkidManyRevoked",
    ["warning", "0m"],
    `${within("1h").risen("pki_revocations_bulk_certificates_total", ["instance"])} > 100`,
    {
      summary: "many certificates were revoked at once",
      description: "{{ $value | humanize }} in an hour, by bulk revocations.",
      remedy:
        "`pkid audit list --action cert.revoke_bulk` says who; `pkid manual incident` if nobody meant it.",
    },
  ),
];

const keyRules: readonly AlertRule[] = [
  rule(
    "PkidKeysDown",
    ["critical", "2m"],
    `${series("pki_component_up", { component: "hsm" })} == 0`,
    {
      summary: "the key store does not answer",
      description: "Nothing is signed meanwhile.",
      remedy: { check: "keyprovider.ca" },
    },
  ),
  rule(
    "PkidKeyOperationsFail",
    ["critical", "5m"],
    `${within("5m").risen("pki_hsm_operations_total", ["instance", "operation"], { result: "error" })} > 10`,
    {
      summary: "the key store fails",
      description: "{{ $value | humanize }} times in 5 minutes: {{ $labels.operation }}.",
      remedy: { check: "keyprovider.ca" },
    },
  ),
  rule(
    "PkidSigningSlow",
    ["warning", "15m"],
    `${quantile(0.99, "pki_hsm_operation_duration_seconds", ["instance"], { operation: "sign" })} > 1`,
    {
      summary: "the key store signs slowly",
      description: "One of 100 signatures takes {{ $value | humanizeDuration }} or more.",
      remedy: { check: "ocsp.presign" },
    },
  ),
  rule(
    "PkidSecretsFail",
    ["critical", "0m"],
    `${within("15m").risen("pki_envelope_operations_total", ["instance", "operation"], { result: "error" })} > 0`,
    {
      summary: "secrets of the database cannot be sealed or opened",
      description: "{{ $value | humanize }} times in 15 minutes: {{ $labels.operation }}.",
      remedy: { check: "keys.kek" },
    },
  ),
];

/** Where no backup or drill has succeeded yet the time is 0: those that fail are told. */
const backupRules = ({ backupIntervalSeconds }: AlertsAsked): readonly AlertRule[] => {
  const { risen } = within("1h");
  const old = (time: string, seconds: number) => `time() - (${time} > 0) > ${seconds}`;
  const backedUp = series("pki_backup_last_success_timestamp_seconds");
  const drilled = series("pki_backup_drill_last_success_timestamp_seconds");
  return [
    rule("PkidBackupOld", ["critical", "0m"], old(backedUp, 3 * backupIntervalSeconds), {
      summary: "the newest backup is too old",
      description: "It was made {{ $value | humanizeDuration }} ago, three intervals or more.",
      remedy: { check: "backup.freshness" },
    }),
    rule(
      "PkidBackupFails",
      ["warning", "0m"],
      `${risen("pki_backups_total", ["instance"], { result: "error" })} > 0`,
      {
        summary: "a backup failed",
        description: "{{ $value | humanize }} in an hour.",
        remedy: { check: "backup.freshness" },
      },
    ),
    rule("PkidDrillOld", ["warning", "0m"], old(drilled, drillDays * 86_400), {
      summary: "no backup was restored for long",
      description: "The last drill that succeeded was {{ $value | humanizeDuration }} ago.",
      remedy: { check: "backup.restore_verified" },
    }),
    rule(
      "PkidDrillFails",
      ["warning", "0m"],
      `${risen("pki_backup_drills_total", ["instance"], { result: "error" })} > 0`,
      {
        summary: "a backup could not be restored in a drill",
        description: "{{ $value | humanize }} in an hour.",
        remedy: { check: "backup.restore_verified" },
      },
    ),
  ];
};

const { risen: risenSoon } = within("15m");
const accessRules: readonly AlertRule[] = [
  rule(
    "PkidLoginsDenied",
    ["warning", "0m"],
    `${risenSoon("pki_auth_logins_total", ["instance", "method"], { result: "denied" })} > 50`,
    {
      summary: "somebody guesses passwords, or a machine has a wrong one",
      description: "{{ $value | humanize }} logins by {{ $labels.method }} in 15 minutes.",
      remedy: "`pkid audit list --action auth.login_failed` says from where; `pkid manual access`.",
    },
  ),
  rule(
    "PkidTokensDenied",
    ["warning", "0m"],
    `${risenSoon("pki_auth_token_verifications_total", ["instance", "result"], { result: { like: "unknown|revoked" } })} > 50`,
    {
      summary: "API tokens are presented that are none any more",
      description: "{{ $value | humanize }} in 15 minutes: {{ $labels.result }}.",
      remedy: "Look in the access log from where, and give that machine a token of its own.",
    },
  ),
];

/** A drill a week, and a day for one that is late. */
const drillDays = 8;
