/**
 * Counts what audit events say: metrics of issuance, revocation and tokens are a projection, never
 * a second record.
 */

import type { Result } from "#core/audit/actions.ts";
import type { AuditEvent } from "#core/audit/chain.ts";

import type { Metrics } from "./families.ts";

/**
 * Counts committed events; to be given to `Store.onOwnEvents`, so that the sum over all replicas
 * counts each once.
 */
export function eventCounters(metrics: Metrics): (events: readonly AuditEvent[]) => void {
  return (events) => {
    for (const event of events) countEvent(metrics, event);
  };
}

function countEvent(metrics: Metrics, event: AuditEvent): void {
  // Written by us from the closed list, and hashed into the chain.
  const result = event.result as Result;
  const token = tokenOperations.get(event.action);
  if (token !== undefined) {
    metrics.count("pki_auth_token_operations_total", { operation: token, result });
  }
  const backup = backupMetrics.get(event.action);
  if (backup !== undefined && result !== "denied") {
    metrics.count(backup.total, { result });
    // Of a drill that could not open its archive there is none.
    const seconds = figureIn(event, "duration");
    if (result === "success" && seconds !== undefined) metrics.observe(backup.took, {}, seconds);
  }
  if (event.action === "auth.step_up") {
    metrics.count("pki_auth_step_ups_total", { result: "success" });
  }
  if (event.action === "auth.step_up_denied") {
    metrics.count("pki_auth_step_ups_total", { result: "denied" });
  }
  const step = orderSteps.get(event.action);
  if (step !== undefined && result === "success") {
    metrics.count("pki_acme_orders_total", { step });
  }
  const certificate = certificateOperation(event);
  if (certificate !== undefined) {
    metrics.count("pki_certificates_total", { operation: certificate, result });
  }
  if (event.action === "cert.revoke_bulk" && result === "success") countRun(metrics, event);
}

const orderSteps: ReadonlyMap<string, "new" | "valid"> = new Map([
  ["acme.order.new", "new"],
  ["acme.order.finalize", "valid"],
]);

/** Runs that were refused for their count changed nothing and are no runs. */
function countRun(metrics: Metrics, event: AuditEvent): void {
  const figure = (name: string) => figureIn(event, name) ?? 0;
  metrics.count("pki_revocations_bulk_total", {});
  metrics.count("pki_revocations_bulk_certificates_total", {}, figure("revoked"));
  metrics.observe("pki_revocations_bulk_duration_seconds", {}, figure("duration"));
}

/** The last of its name: texts of others, such as filters, come before the figures. */
function figureIn({ detail }: AuditEvent, name: string): number | undefined {
  const found = new RegExp(`^(?:.* )?${name}=(\\S+)`).exec(detail)?.[1];
  return found === undefined ? undefined : Number(found);
}

/** Suspensions and releases are counted nowhere, and a repeated revocation is no event (MET-1). */
function certificateOperation(event: AuditEvent): "issue" | "renew" | "revoke" | undefined {
  if (event.action === "cert.revoke") return "revoke";
  if (event.action === "cert.renew") return "renew";
  if (event.action !== "cert.issue") return undefined;
  // What gates refused is a denied issue on every path, and says what it would have replaced.
  return /(^| )renewed_from=/.test(event.detail) ? "renew" : "issue";
}

const backupMetrics = new Map<string, BackupMetrics>([
  ["backup.run", { total: "pki_backups_total", took: "pki_backup_duration_seconds" }],
  [
    "backup.verify",
    { total: "pki_backup_drills_total", took: "pki_backup_drill_duration_seconds" },
  ],
]);
interface BackupMetrics {
  readonly total: "pki_backups_total" | "pki_backup_drills_total";
  readonly took: "pki_backup_duration_seconds" | "pki_backup_drill_duration_seconds";
}
const tokenOperations: ReadonlyMap<string, "create" | "revoke"> = new Map([
  ["token.create", "create"],
  ["token.revoke", "revoke"],
]);
