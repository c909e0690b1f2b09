/**
 * WHAT PKID MEASURES: every metric with its type, its sentence and the closed values of its labels.
 */

import { capabilities } from "#core/access/roles.ts";
import { challengeTypes } from "#core/acme/challenges.ts";
import { stages } from "#domain/canary/stages.ts";

/** Label values: a closed list, or `mounted` for route patterns and `code` for status codes. */
type Values = readonly string[] | "mounted" | "code";

/** Columns: type, sentence, labels. Histograms also have their bucket bounds, in seconds. */
interface Row {
  readonly type: "counter" | "gauge" | "histogram";
  readonly help: string;
  readonly labels: Readonly<Record<string, Values>>;
  readonly buckets?: readonly number[];
}

const methods = ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "other"] as const;
const outcomes = ["success", "error", "denied"] as const;
const worked = ["success", "error"] as const;
const hsmOperations = ["sign", "decrypt", "generate", "find", "public_key", "ping"] as const;
const requestBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const bulkBuckets = [0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800];
const probeBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const backupBuckets = [0.5, 1, 5, 15, 60, 300, 900, 1800, 3600, 10_800, 43_200];
const signBuckets = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5];

// biome-ignore format: the table is read by column.
export const metricTable = {
  // requests
  pki_http_requests_total:               { type: "counter",   help: "HTTP requests answered.",                   labels: { method: methods, route: "mounted", status: "code" } },
  pki_http_request_duration_seconds:     { type: "histogram", help: "Time from arrival to answer.",              labels: { method: methods, route: "mounted" }, buckets: requestBuckets },
  pki_http_requests_in_flight:           { type: "gauge",     help: "HTTP requests being answered now.",         labels: {} },

  // issuance and revocation
  pki_certificates_total:                { type: "counter",   help: "Certificate operations by outcome.",        labels: { operation: ["issue", "renew", "revoke"], result: outcomes } },
  pki_revocations_bulk_total:            { type: "counter",   help: "Bulk revocations that came to their end.",  labels: {} },
  pki_revocations_bulk_certificates_total: { type: "counter", help: "Certificates revoked or held by bulk revocations that came to their end.", labels: {} },
  pki_revocations_bulk_duration_seconds: { type: "histogram", help: "Time from the start of a bulk revocation to its end.", labels: {}, buckets: bulkBuckets },
  pki_ocsp_requests_total:               { type: "counter",   help: "OCSP requests by outcome.",                 labels: { result: ["success", "error", "malformed"] } },
  pki_crl_requests_total:                { type: "counter",   help: "CRL downloads by outcome.",                 labels: { result: worked } },

  // enrolment
  pki_acme_orders_total:                 { type: "counter",   help: "ACME orders made, and those that came to a certificate.", labels: { step: ["new", "valid"] } },
  pki_acme_validations_total:            { type: "counter",   help: "Attempts to prove control over a name by outcome.", labels: { type: Object.keys(challengeTypes), result: outcomes } },
  pki_acme_replacements_outstanding:     { type: "gauge",     help: "Certificates of running plans whose clients have not come for others yet.", labels: {} },

  // keys and components
  pki_hsm_operations_total:              { type: "counter",   help: "Key-provider operations by outcome.",       labels: { operation: hsmOperations, result: worked } },
  pki_hsm_operation_duration_seconds:    { type: "histogram", help: "Time a key-provider operation took.",       labels: { operation: hsmOperations }, buckets: signBuckets },
  pki_envelope_operations_total:         { type: "counter",   help: "Data keys wrapped and unwrapped by outcome.", labels: { operation: ["encrypt", "decrypt"], result: worked } },
  pki_component_up:                      { type: "gauge",     help: "1 while the component answers its probe.",  labels: { component: ["database", "hsm"] } },

  // access
  pki_authz_decisions_total:             { type: "counter",   help: "Authorization decisions by capability.",    labels: { action: capabilities, decision: ["allow", "deny"] } },
  pki_auth_logins_total:                 { type: "counter",   help: "Logins by method and outcome.",             labels: { method: ["oidc", "password", "ldap", "mtls"], result: outcomes } },
  pki_auth_logouts_total:                { type: "counter",   help: "Sessions ended by their owner or by an admin.", labels: {} },
  pki_auth_step_ups_total:               { type: "counter",   help: "Confirmations with a passkey, and what was refused for want of one.", labels: { result: ["success", "denied"] } },
  pki_auth_sessions_active:              { type: "gauge",     help: "Live sessions of this process.",            labels: {} },
  pki_auth_token_operations_total:       { type: "counter",   help: "API tokens created and revoked.",           labels: { operation: ["create", "revoke"], result: outcomes } },
  pki_auth_token_verifications_total:    { type: "counter",   help: "API tokens presented, by outcome.",         labels: { result: ["success", "expired", "revoked", "unknown", "error"] } },
  pki_auth_tokens_active:                { type: "gauge",     help: "API tokens neither expired nor revoked.",   labels: {} },

  // the live feed
  pki_event_stream_subscribers:          { type: "gauge",     help: "Readers of the live feed.",                 labels: {} },
  pki_event_stream_connections_total:    { type: "counter",   help: "Readers that began to follow the live feed.", labels: {} },
  pki_event_stream_dropped_total:        { type: "counter",   help: "Events that readers of the live feed were not told, since they had fallen behind.", labels: {} },

  // backups
  pki_backups_total:                     { type: "counter",   help: "Backups made, and those that failed.",      labels: { result: worked } },
  pki_backup_drills_total:               { type: "counter",   help: "Drills with an archive by outcome.",        labels: { result: worked } },
  pki_backup_duration_seconds:           { type: "histogram", help: "Time a backup took that was made, until all of it was handed on.", labels: {}, buckets: backupBuckets },
  pki_backup_drill_duration_seconds:     { type: "histogram", help: "Time a drill took that succeeded, from fetching the archive to the last proof.", labels: {}, buckets: backupBuckets },
  pki_backup_last_success_timestamp_seconds: { type: "gauge", help: "Time of the newest backup, in seconds since 1970; 0 before the first.", labels: {} },
  pki_backup_last_success_bytes:         { type: "gauge",     help: "Size of the newest backup.",                labels: {} },
  pki_backup_drill_last_success_timestamp_seconds: { type: "gauge", help: "Time of the newest drill that succeeded, in seconds since 1970; 0 before the first.", labels: {} },

  // probes of CAs
  pki_canary_probes_total:               { type: "counter",   help: "Probes of CAs by outcome.",                 labels: { result: worked } },
  pki_canary_stage_duration_seconds:     { type: "histogram", help: "Time a stage of a probe took.",             labels: { stage: stages }, buckets: probeBuckets },
  pki_canary_last_success_timestamp_seconds: { type: "gauge", help: "Time of the last successful probe of the CA whose last success is the longest ago, in seconds since 1970; 0 while a configured CA has had none.", labels: {} },
  pki_canary_failing_cas:                { type: "gauge",     help: "CAs whose last probe failed.",              labels: {} },

  // this process
  pki_process_cpu_seconds_total:         { type: "counter",   help: "Processor time used.",                      labels: {} },
  pki_process_resident_memory_bytes:     { type: "gauge",     help: "Resident memory.",                          labels: {} },
  pki_process_heap_bytes:                { type: "gauge",     help: "JavaScript heap in use.",                   labels: {} },
  pki_process_open_fds:                  { type: "gauge",     help: "Open file descriptors.",                    labels: {} },
  pki_process_event_loop_holds_total:    { type: "counter",   help: "Times the thread that serves requests was held for more than 50 ms.", labels: {} },
  pki_process_event_loop_delay_seconds:  { type: "gauge",     help: "99th percentile of the event-loop delay since the last scrape.", labels: {} },
} as const satisfies Record<string, Row>;

export type MetricName = keyof typeof metricTable;
/** The names of one type. */
export type NamesOf<T extends Row["type"]> = {
  [N in MetricName]: (typeof metricTable)[N]["type"] extends T ? N : never;
}[MetricName];
/** The labels of a metric with the values each may take. */
export type LabelsOf<N extends MetricName> = {
  readonly [L in keyof (typeof metricTable)[N]["labels"]]: (typeof metricTable)[N]["labels"][L] extends readonly (infer V)[]
    ? V
    : string;
};

/** The row widened to all optional members. */
export const metricOf = (name: MetricName): Row => metricTable[name];

export type { Row as MetricRow };
