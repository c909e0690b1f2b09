/**
 * WHAT PKID RECORDS: the audit actions with the keys of their detail, in the order they are
 * written.
 */

import type { CaId, Serial, TenantId } from "#core/ids.ts";

const caDetail = [
  "subject",
  "parent",
  "key_type",
  "serial",
  "old_ca",
  "new_ca",
  "reason",
  "force",
  "approval",
  "sha256",
] as const;

const quotaDetail = [
  "max_certs_per_day",
  "max_active_certs",
  "rate_limit_per_second",
  "rate_limit_burst",
] as const;

const approvalDetail = [
  "resource",
  "required",
  "approvals",
  "comment",
  "withdrawn",
  "reason",
] as const;

/** What a credential of external account binding permits. */
const eabDetail = [
  "directory",
  "profile",
  "dns_suffixes",
  "ip_ranges",
  "allow_wildcards",
  "any_identifier",
  "max_uses",
  "expires_at",
] as const;

const acmeDetail = ["identifiers", "eab", "profile"] as const;

/** A plan that has many certificates replaced, and how far it has come. */
const replacementDetail = [
  "filter",
  "from",
  "to",
  "per_second",
  "reason",
  "planned",
  "not_by_acme",
  "replaced",
  "revoked",
  "cause",
] as const;

/**
 * Columns: the detail keys. What an event brought about is bound by it, so that a row that was
 * edited or removed later is found: a certificate or list by the digest of its DER (`sha256`), a
 * change of revocation by its serial, reason, number in the revocation sequence and time, which is
 * that of the event unless `revoked_at` says another. Target and target name are given by whoever
 * appends the event.
 */
export const actions = {
  "auth.login": ["method"],
  "auth.logout": ["ended_by"],
  "auth.login_failed": ["method", "reason", "channel", "count", "error", "description"],
  "auth.step_up": ["credential"],
  "auth.step_up_denied": ["operation", "reason", "credential"],
  "webauthn.register": ["subject"],
  "webauthn.remove": ["subject", "approval"],
  "token.create": ["scope", "roles", "tenant", "expires_at", "approval"],
  "token.revoke": ["scope", "roles", "tenant", "expires_at", "approval"],
  "tenant.create": ["slug", "name", "kek_label", ...quotaDetail],
  "tenant.update": ["name", "kek_label", "status"],
  "tenant.quota": quotaDetail,
  "tenant.delete": ["tokens"],
  "resource.grant": ["role", "scope"],
  "resource.revoke": ["role", "scope"],
  "cert.issue": [
    "profile",
    "not_after",
    "ct",
    "requester",
    "protocol",
    "renewed_from",
    "validity_clamped",
    "approval",
    "reasons",
    "sha256",
  ],
  "cert.issue_bulk": ["op", "requested", "issued", "pending", "failed"],
  "cert.renew": [
    "renewed_from",
    "profile",
    "not_after",
    "ct",
    "validity_clamped",
    "approval",
    "reasons",
    "sha256",
  ],
  "cert.import": ["profile", "not_after", "sha256"],
  "cert.revoke": ["reason", "known", "previous", "protocol", "bulk_op", "revoked_at", "sequence"],
  "cert.revoke_bulk": [
    "op",
    "reason",
    "filter",
    "planned",
    "revoked",
    "upgraded",
    "already_skipped",
    "batches",
    "crl_scopes",
    "duration",
    "approval",
    "confirm_count",
    "actual_count",
  ],
  "cert.suspend": ["reason", "bulk_op", "revoked_at", "sequence"],
  "cert.release": ["held_since", "sequence"],
  "cert.lint": ["profile", "findings"],
  "cert.caa": ["names", "verdict"],
  "cert.keycheck": ["profile", "findings"],
  "cert.nameconstraint": ["profile", "findings"],
  "ca.init_root": caDetail,
  "ca.issue_intermediate": caDetail,
  "ca.csr": caDetail,
  "ca.import_cert": caDetail,
  "ca.import": caDetail,
  "ca.import_finish": ["subject", "serial", "crl_number", "approval", "sha256"],
  "ca.cross_sign": caDetail,
  "ca.rotate": caDetail,
  "ca.retire": caDetail,
  "ca.delete": caDetail,
  "key.block": ["reason", "source"],
  "key.unblock": ["reason", "source"],
  "kek.rotate": ["old_version", "new_version", "approval"],
  "hsm.factory_reset": ["approval"],
  "acme.account.new": acmeDetail,
  "acme.account.deactivate": acmeDetail,
  "acme.account.key_change": acmeDetail,
  "acme.order.new": acmeDetail,
  "acme.order.finalize": acmeDetail,
  "acme.order.deactivate": acmeDetail,
  "acme.authz.deactivate": acmeDetail,
  "acme.cert.revoke": acmeDetail,
  "acme.replace.plan": replacementDetail,
  "acme.replace.cancel": replacementDetail,
  "acme.replace.finish": replacementDetail,
  "acme.eab.create": eabDetail,
  "acme.eab.revoke": eabDetail,
  "publish.run": ["target", "artifacts", "earliest_expiry"],
  "crl.publish": ["number", "kind", "entries", "sha256"],
  "crl.clock_reset": ["number", "from", "to"],
  "crl.import": ["imported", "already_revoked", "skipped"],
  "ocsp.presign": ["responses", "signed", "shed", "duration"],
  "ct.inclusion": ["serial", "log", "status"],
  "audit.export": ["kind", "from", "to", "rows"],
  "monitor.clock_accept": ["resumed", "last_event", "from", "to"],
  "ca.create.pending": approvalDetail,
  "ca.create.approved": approvalDetail,
  "ca.create.rejected": approvalDetail,
  "ca.rotate.pending": approvalDetail,
  "ca.rotate.approved": approvalDetail,
  "ca.rotate.rejected": approvalDetail,
  "ca.retire.pending": approvalDetail,
  "ca.retire.approved": approvalDetail,
  "ca.retire.rejected": approvalDetail,
  "revocation.bulk.pending": approvalDetail,
  "revocation.bulk.approved": approvalDetail,
  "revocation.bulk.rejected": approvalDetail,
  "kek.rotate.pending": approvalDetail,
  "kek.rotate.approved": approvalDetail,
  "kek.rotate.rejected": approvalDetail,
  "token.create.pending": approvalDetail,
  "token.create.approved": approvalDetail,
  "token.create.rejected": approvalDetail,
  "cert.issue.pending": approvalDetail,
  "cert.issue.approved": approvalDetail,
  "cert.issue.rejected": approvalDetail,
  "config.load": ["digest"],
  "config.reload": ["digest", "restart_required"],
  "canary.probe": ["ca", "stage", "reason"],
  "inventory.retention": ["mode", "count", "sha256"],
  "access_log.trim": ["rows"],
  "backup.run": ["artifact", "seq", "sha256", "recipients", "reason", "duration"],
  "backup.verify": ["artifact", "reason", "duration"],
  "system.restore": ["archive", "seq", "created_at", "lost_seconds", "ledger_number", "new_kek"],
  "system.move": ["from", "to", "seq", "ledger_number"],
  "system.accept_rollback": [
    "reason",
    "seq",
    "acknowledged_seq",
    "ledger_number",
    "acknowledged_ledger_number",
    "sequence",
    "epoch",
  ],
} as const satisfies Record<string, readonly string[]>;

export type Action = keyof typeof actions;
/** What came of what was tried. */
export const results = ["success", "error", "denied"] as const;
export type Result = (typeof results)[number];

/** An event before it has a place in the chain: what happened, to what, by whom. */
export interface EventDraft<A extends Action = Action> {
  readonly action: A;
  readonly result: Result;
  readonly actor: string;
  readonly actorName?: string | undefined;
  readonly actorRoles?: string | undefined;
  readonly tenant?: TenantId | undefined;
  readonly caId?: CaId | undefined;
  readonly serial?: Serial | undefined;
  readonly target?: string | undefined;
  readonly targetName?: string | undefined;
  /** Values for the keys of the action's row; absent ones are left out of the text. */
  readonly detail?: Readonly<Record<string, string | number | boolean | undefined>>;
  readonly ip?: string | undefined;
  /** The approval under which it happened; `detail` then says so where its row has the key. */
  readonly approval?: string | undefined;
  readonly requestId?: string | undefined;
}

/**
 * Writes detail values as `key=value` pairs in the table's order, one space between.
 * A value outside `[A-Za-z0-9._:/@,+*-]+` becomes a JSON string.
 */
export function detailText(draft: Pick<EventDraft, "action" | "detail">): string {
  const values = draft.detail ?? {};
  const keys: readonly string[] = actions[draft.action];
  return [...keys.filter((key) => key !== repeats), repeats]
    .filter((key) => values[key] !== undefined)
    .map((key) => `${key}=${detailValue(clipped(String(values[key]), detailMax))}`)
    .join(" ");
}

/**
 * The draft with texts no longer than a reader of the chain needs: strangers write some of them,
 * and events stay for good. Who acted is never cut: two of one beginning are two.
 */
export function clippedDraft(draft: EventDraft): EventDraft {
  const { actorName, actorRoles, target, targetName } = draft;
  return {
    ...draft,
    actorName: actorName && clipped(actorName, nameMax),
    actorRoles: actorRoles && clipped(actorRoles, rolesMax),
    target: target && clipped(target, nameMax),
    targetName: targetName && clipped(targetName, nameMax),
  };
}

/** So many characters at most, the last of which says that there were more. */
const clipped = (text: string, max: number): string =>
  text.length > max ? `${text.slice(0, max - 1).toWellFormed()}…` : text;

/**
 * Joins values by commas until the limit; the number of the others follows as `+N`.
 *
 * @param max characters of the values that are listed; the first is cut to it
 */
export function formatDetailList(values: readonly string[], max = listMax): string {
  const listed: string[] = [];
  let length = 0;
  for (const value of values) {
    length += value.length + 1;
    if (listed.length > 0 && length > max) break;
    listed.push(clipped(value, max));
  }
  const left = values.length - listed.length;
  return [...listed, ...(left > 0 ? [`+${left}`] : [])].join(",");
}

/** The key of folded events of any action: how many there were. */
const repeats = "count";
const nameMax = 256;
const rolesMax = 1024;
/** A list of all the partitions of a CRL. */
const detailMax = 4096;
/** Names in a request: events are permanent, and the order or certificate has all names. */
const listMax = 512;

const detailValue = (text: string) =>
  /^[A-Za-z0-9._:/@,+*-]+$/.test(text) ? text : JSON.stringify(text);
