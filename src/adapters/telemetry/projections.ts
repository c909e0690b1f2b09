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
  const backup = backupCounters.get(event.action);
  if (backup !== undefined && result !== "denied") metrics.count(backup, { result });
  if (event.action === "auth.step_up") {
    metrics.count("pki_auth_step_ups_total", { result: "success" });
  }
  if (event.action === "auth.step_up_denied") {
    metrics.count("pki_auth_step_ups_total", { result: "denied" });
  }
  const certificate = certificateOperation(event);
  if (certificate !== undefined) {
    metrics.count("pki_certificates_total", { operation: certificate, result });
  }
  if (event.action === "cert.revoke_bulk" && result === "success") countRun(metrics, event);
}

/** Runs that were refused for their count changed nothing and are no runs. */
function countRun(metrics: Metrics, { detail }: AuditEvent): void {
  // The last one: a filter, which comes before the figures, may hold anything.
  const figure = (name: string) =>
    Number(new RegExp(`^(?:.* )?${name}=(\\S+)`).exec(detail)?.[1] ?? 0);
  metrics.count("pki_revocations_bulk_total", {});
  metrics.count("pki_revocations_bulk_certificates_total", {}, figure("revoked"));
  metrics.observe("pki_revocations_bulk_duration_seconds", {}, figure("duration"));
}

/** Suspensions and releases are counted nowhere, and a repeated revocation is no event (MET-1). */
function certificateOperation(event: AuditEvent): "issue" | "renew" | "revoke" | undefined {
  if (event.action === "cert.revoke") return "revoke";
  if (event.action === "cert.renew") return "renew";
  if (event.action !== "cert.issue") return undefined;
  // What gates refused is a denied issue on every path, and says what it would have replaced.
  return /(^| )renewed_from=/.test(event.detail) ? "renew" : "issue";
}

const backupCounters: ReadonlyMap<string, "pki_backups_total" | "pki_backup_drills_total"> =
  new Map([
    ["backup.run", "pki_backups_total"],
    ["backup.verify", "pki_backup_drills_total"],
  ]);
const tokenOperations: ReadonlyMap<string, "create" | "revoke"> = new Map([
  ["token.create", "create"],
  ["token.revoke", "revoke"],
]);
