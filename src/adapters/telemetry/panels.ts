/** WHAT THE DASHBOARD SHOWS: its rows, their panels, and what each panel asks of the metrics. */

import { queries } from "./promql.ts";

/** One curve or several: the label in braces is what names them. */
export interface Curve {
  readonly expr: string;
  readonly legend: string;
}

/** How a panel is drawn: curves over time, or the newest value in large. */
export type PanelKind = "timeseries" | "stat";

/** One panel; `unit` is a word of Grafana. */
export interface Panel {
  readonly title: string;
  readonly kind: PanelKind;
  readonly unit: string;
  readonly curves: readonly Curve[];
}

/** A row of panels under one title. */
export interface PanelRow {
  readonly title: string;
  readonly panels: readonly Panel[];
}

const { series, perSecond, quantile } = queries({
  scope: 'instance=~"$instance"',
  window: "$__rate_interval",
});

const over = (title: string, unit: string, ...curves: readonly Curve[]): Panel => ({
  title,
  kind: "timeseries",
  unit,
  curves,
});

const now = (title: string, unit: string, ...curves: readonly Curve[]): Panel => ({
  title,
  kind: "stat",
  unit,
  curves,
});

const curve = (legend: string, expr: string): Curve => ({ legend, expr });

/** Each series by its instance. */
const each = (expr: string): Curve => curve("{{instance}}", expr);

const duration = "pki_http_request_duration_seconds";
const signing = "pki_hsm_operation_duration_seconds";
/** Of a time that is 0 before the first, nothing is shown before it. */
const since = (time: string): Curve => each(`time() - (${time} > 0)`);

// biome-ignore format: the table is read row by row, a panel in two lines.
export const panelRows: readonly PanelRow[] = [
  { title: "Now", panels: [
    now("Components", "bool_on_off",
      curve("{{instance}} {{component}}", series("pki_component_up"))),
    now("Requests in flight", "short",
      each(series("pki_http_requests_in_flight"))),
    now("Age of the newest backup", "s",
      since(series("pki_backup_last_success_timestamp_seconds"))),
    now("Since a drill succeeded", "s",
      since(series("pki_backup_drill_last_success_timestamp_seconds"))),
  ] },
  { title: "Requests", panels: [
    over("By status", "reqps",
      curve("{{status}}", perSecond("pki_http_requests_total", ["status"]))),
    over("Most asked", "reqps",
      curve("{{method}} {{route}}", `topk(10, ${perSecond("pki_http_requests_total", ["method", "route"])})`)),
    over("Time to answer", "s",
      curve("median", quantile(0.5, duration, [])),
      curve("99 of 100", quantile(0.99, duration, []))),
    over("Slowest routes, 99 of 100", "s",
      curve("{{route}}", `topk(10, ${quantile(0.99, duration, ["route"])})`)),
  ] },
  { title: "Issuance", panels: [
    over("Issued and renewed", "ops",
      curve("{{operation}}", perSecond("pki_certificates_total", ["operation"], { operation: { like: "issue|renew" }, result: "success" }))),
    over("Refused and failed", "ops",
      curve("{{operation}} {{result}}", perSecond("pki_certificates_total", ["operation", "result"], { result: { like: "denied|error" } }))),
  ] },
  { title: "Enrolment by ACME", panels: [
    over("Orders", "ops",
      curve("{{step}}", perSecond("pki_acme_orders_total", ["step"]))),
    over("Proofs looked for", "ops",
      curve("{{type}} {{result}}", perSecond("pki_acme_validations_total", ["type", "result"]))),
    over("Clients a plan waits for", "short",
      each(series("pki_acme_replacements_outstanding"))),
  ] },
  { title: "Revocation", panels: [
    over("Revoked", "ops",
      curve("{{result}}", perSecond("pki_certificates_total", ["result"], { operation: "revoke" }))),
    over("By bulk revocations", "ops",
      curve("runs", perSecond("pki_revocations_bulk_total", [])),
      curve("certificates", perSecond("pki_revocations_bulk_certificates_total", []))),
    over("Length of a bulk revocation, 99 of 100", "s",
      curve("99 of 100", quantile(0.99, "pki_revocations_bulk_duration_seconds", []))),
  ] },
  { title: "OCSP and CRLs", panels: [
    over("OCSP answers", "reqps",
      curve("{{result}}", perSecond("pki_ocsp_requests_total", ["result"]))),
    over("CRLs fetched", "reqps",
      curve("{{result}}", perSecond("pki_crl_requests_total", ["result"]))),
    over("Time to answer, 99 of 100", "s",
      curve("{{route}}", quantile(0.99, duration, ["route"], { route: { like: "/api/ca/.*/(ocsp|crl).*" } }))),
  ] },
  { title: "Canary", panels: [
    now("CAs that fail", "short",
      each(series("pki_canary_failing_cas"))),
    now("Since every CA succeeded", "s",
      since(series("pki_canary_last_success_timestamp_seconds"))),
    over("Probes", "ops",
      curve("{{result}}", perSecond("pki_canary_probes_total", ["result"]))),
    over("Length of a stage, 99 of 100", "s",
      curve("{{stage}}", quantile(0.99, "pki_canary_stage_duration_seconds", ["stage"]))),
  ] },
  { title: "Keys", panels: [
    over("Operations", "ops",
      curve("{{operation}}", perSecond("pki_hsm_operations_total", ["operation"]))),
    over("Operations that failed", "ops",
      curve("{{operation}}", perSecond("pki_hsm_operations_total", ["operation"], { result: "error" }))),
    over("Length of an operation, 99 of 100", "s",
      curve("{{operation}}", quantile(0.99, signing, ["operation"]))),
    over("Data keys wrapped and unwrapped", "ops",
      curve("{{operation}} {{result}}", perSecond("pki_envelope_operations_total", ["operation", "result"]))),
  ] },
  { title: "Access", panels: [
    over("Logins", "ops",
      curve("{{method}} {{result}}", perSecond("pki_auth_logins_total", ["method", "result"]))),
    over("API tokens presented", "reqps",
      curve("{{result}}", perSecond("pki_auth_token_verifications_total", ["result"]))),
    over("What was not allowed", "ops",
      curve("{{action}}", perSecond("pki_authz_decisions_total", ["action"], { decision: "deny" }))),
    over("Confirmations with a passkey", "ops",
      curve("{{result}}", perSecond("pki_auth_step_ups_total", ["result"]))),
    over("Sessions and tokens", "short",
      curve("{{instance}} sessions", series("pki_auth_sessions_active")),
      curve("{{instance}} tokens", series("pki_auth_tokens_active"))),
    over("Sessions ended, tokens made and revoked", "ops",
      curve("sessions ended", perSecond("pki_auth_logouts_total", [])),
      curve("tokens {{operation}} {{result}}", perSecond("pki_auth_token_operations_total", ["operation", "result"]))),
  ] },
  { title: "Live feed", panels: [
    over("Readers", "short",
      each(series("pki_event_stream_subscribers"))),
    over("Readers that began", "ops",
      curve("{{instance}}", perSecond("pki_event_stream_connections_total", ["instance"]))),
    over("Events that readers were not told", "ops",
      curve("{{instance}}", perSecond("pki_event_stream_dropped_total", ["instance"]))),
  ] },
  { title: "Backups", panels: [
    over("Age of the newest", "s",
      since(series("pki_backup_last_success_timestamp_seconds"))),
    over("Size of the newest", "bytes",
      each(series("pki_backup_last_success_bytes"))),
    over("Backups", "ops",
      curve("{{result}}", perSecond("pki_backups_total", ["result"]))),
    over("Drills", "ops",
      curve("{{result}}", perSecond("pki_backup_drills_total", ["result"]))),
    over("Time they take, 99 of 100", "s",
      curve("backups", quantile(0.99, "pki_backup_duration_seconds", [])),
      curve("drills", quantile(0.99, "pki_backup_drill_duration_seconds", []))),
  ] },
  { title: "Process", panels: [
    over("Processor", "percentunit",
      curve("{{instance}}", perSecond("pki_process_cpu_seconds_total", ["instance"]))),
    over("Memory", "bytes",
      curve("{{instance}} resident", series("pki_process_resident_memory_bytes")),
      curve("{{instance}} heap", series("pki_process_heap_bytes"))),
    over("Open files", "short",
      each(series("pki_process_open_fds"))),
    over("Delay of the event loop, 99 of 100", "s",
      each(series("pki_process_event_loop_delay_seconds"))),
    over("Times the event loop was held", "ops",
      curve("{{instance}}", perSecond("pki_process_event_loop_holds_total", ["instance"]))),
  ] },
];
