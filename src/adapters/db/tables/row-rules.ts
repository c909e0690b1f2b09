/**
 * WHAT ROWS PROMISE BY THEMSELVES: the words their states have, which are the ports' own, and what
 * they refer to. `pkid verify` names the rows that break it, `pkid db check` counts them.
 */

import { approvalStatuses } from "#core/approvals/classes.ts";
import { replacementStates } from "#domain/acme/replacement-store.ts";
import {
  accountStates,
  authorizationStates,
  challengeStates,
  orderStates,
} from "#domain/acme/store.ts";
import { decisions } from "#domain/approvals/store.ts";
import { caStatuses } from "#domain/authorities/store.ts";
import { settledStates, storedStatuses } from "#domain/certificates/store.ts";
import { kekStatuses } from "#domain/envelopes/store.ts";
import { bulkStates } from "#domain/revocation/bulk-store.ts";
import { crlKinds } from "#domain/revocation/store.ts";
import { tenantStatuses } from "#domain/tenants/store.ts";
import { inclusionStatuses } from "#domain/transparency/store.ts";

/** Something that is true of every row of a table. */
export interface RowRule {
  readonly table: string;
  /** The column that names a row. */
  readonly named: string;
  /** True for a row `t` of the table that breaks it, in the words of both dialects. */
  readonly broken: string;
  /** What is wrong with such a row, as the end of a sentence. */
  readonly says: string;
}

interface Promised {
  readonly named: string;
  /** Columns with a word of a list. */
  readonly words?: Readonly<Record<string, readonly string[]>>;
  readonly rules?: readonly (readonly [broken: string, says: string])[];
}

const none = (from: string, where: string): string =>
  `not exists (select 1 from ${from} o where ${where})`;
/** A CA that was deleted leaves what it signed, so these refer to one that is or was. */
const noCa = none("cas", "o.id = t.ca_id");
const noAccount = none("acme_accounts", "o.id = t.account");
const isOpen = "t.state in ('planning', 'running')";
const items = (which: string): string =>
  `(select count(*) from acme_replacement_items o where o.replacement = t.id${which})`;
const noCertificate = none("certificates", "o.ca_id = t.ca_id and o.serial = t.serial");

/** THE PROMISES, by table. */
// biome-ignore format: the table is read by column.
const promises: Readonly<Record<string, Promised>> = {
  cas: { named: "id", words: { status: caStatuses }, rules: [
    [`t.parent is not null and ${none("cas", "o.id = t.parent")}`, "its parent does not exist"],
    ["t.status in ('active', 'superseded') and t.certificate is null", "it has no certificate"],
    [`t.successor is not null and ${none("cas", "o.id = t.successor")}`, "its successor does not exist"],
  ] },
  certificates: { named: "serial", words: { status: storedStatuses } },
  cross_signs: { named: "serial", rules: [[none("certificates", "o.ca_id = t.issuer and o.serial = t.serial and o.kind = 'cross'"), "it has no certificate"]] },
  intents: { named: "serial", words: { state: settledStates } },
  open_intents: { named: "op_id", rules: [[`t.number is not null and ${none("ledger", "o.number = t.number and o.kind = 'intent' and o.op_id = t.op_id")}`, "the ledger has no such intent"]] },
  responders: { named: "serial", rules: [[none("certificates", "o.ca_id = t.ca_id and o.serial = t.serial and o.kind = 'responder'"), "it has no certificate"]] },
  crl_heads: { named: "number", words: { kind: crlKinds }, rules: [["(t.base is null) <> (t.kind = 'base')", "it is neither base nor delta"]] },
  grants: { named: "id", rules: [[noCa, "its CA does not exist"]] },
  bulk_items: { named: "serial", rules: [[noCertificate, "it has no certificate"]] },
  bulk_runs: { named: "id", words: { state: bulkStates } },
  bulk_serials: { named: "run", rules: [[none("bulk_runs", "o.number = t.run"), "its run does not exist"]] },
  approvals: { named: "id", words: { status: approvalStatuses } },
  approval_decisions: { named: "id", words: { decision: decisions }, rules: [[none("approvals", "o.id = t.approval"), "its request does not exist"]] },
  // 22 octets in hex: the time it was made, and 16 that were drawn.
  acme_nonces: { named: "id", rules: [["length(t.id) <> 44", "it is none that was made here"]] },
  acme_accounts: { named: "id", words: { status: accountStates }, rules: [
    // Others are of the configuration.
    [`length(t.eab_id) = 26 and substr(t.eab_id, 1, 4) = 'eab_' and ${none("acme_eabs", "o.id = t.eab_id")}`, "its credential does not exist"],
  ] },
  acme_account_keys: { named: "account", rules: [[noAccount, "its account does not exist"]] },
  acme_eabs: { named: "id", rules: [
    ["t.uses < 0 or (t.max_uses > 0 and t.uses > t.max_uses)", "it was used more often than it may be"],
    ["(select count(*) from acme_accounts o where o.eab_id = t.id) > t.uses", "more accounts are bound with it than it was used for"],
    ["(t.uses = 0) <> (t.last_used_at is null)", "its uses have no last one, or none has"],
    ["(t.revoked_at is null) <> (t.revoked_by is null)", "its end is told by halves"],
  ] },
  acme_orders: { named: "id", words: { status: orderStates }, rules: [
    [noAccount, "its account does not exist"],
    ["(t.status = 'valid') <> (t.certificate_serial is not null)", "only a valid order has a certificate"],
    [`t.certificate_serial is not null and ${none("certificates", "o.ca_id = t.certificate_ca and o.serial = t.certificate_serial and o.not_after = t.certificate_not_after")}`, "its certificate does not exist"],
    ["(t.replaces_ca is null) <> (t.replaces_serial is null)", "what it replaces is told by halves"],
    [`t.replaces_serial is not null and ${none("certificates", "o.ca_id = t.replaces_ca and o.serial = t.replaces_serial")}`, "what it replaces does not exist"],
    ["(t.status = 'processing') <> (t.owner is not null) or (t.owner is null) <> (t.claimed_at is null)", "somebody finalizes it, or nobody, and its state says otherwise"],
    ["t.ends_at < t.expires_at", "it ends before it expires"],
  ] },
  acme_order_authorizations: { named: "order_id", rules: [
    [none("acme_orders", "o.id = t.order_id"), "its order does not exist"],
    [none("acme_authorizations", "o.id = t.authorization_id"), "its authorization does not exist"],
  ] },
  acme_authorizations: { named: "id", words: { status: authorizationStates }, rules: [
    [noAccount, "its account does not exist"],
    ["(t.status in ('valid', 'revoked') and t.method is null) or (t.status = 'pending' and t.method is not null)", "its state and its proof do not fit"],
    ["t.ordered <> exists (select 1 from acme_order_authorizations o where o.authorization_id = t.id)", "it is told wrongly whether an order names it"],
  ] },
  acme_challenges: { named: "id", words: { status: challengeStates }, rules: [
    [none("acme_authorizations", "o.id = t.authorization_id and o.account = t.account"), "its account has no such authorization"],
    [`t.status = 'valid' and ${none("acme_authorizations", "o.id = t.authorization_id and o.method = t.type")}`, "it proved nothing"],
    ["(t.status = 'valid') <> (t.validated_at is not null)", "only a valid one was found at a time"],
    ["(t.status = 'processing') <> (t.next_at is not null)", "only one that is worked on is due"],
    ["(t.owner is null) <> (t.lease_until is null)", "its lease is told by halves"],
  ] },
  acme_replacements: { named: "id", words: { state: replacementStates }, rules: [
    ["t.starts_at > t.ends_at", "it ends before it begins"],
    // The items of a plan that is over go.
    [`${isOpen} and t.total <> ${items("")}`, "its total is not that of its certificates"],
    [`${isOpen} and t.replaced <> ${items(" and o.replaced_at is not null")}`, "more or fewer are replaced than it counts"],
    [`${isOpen} and t.revoked <> ${items(" and o.revoked_at is not null")}`, "more or fewer are revoked than it counts"],
  ] },
  acme_replacement_items: { named: "serial", rules: [
    [none("acme_replacements", "o.id = t.replacement"), "its plan does not exist"],
    [noCertificate, "its certificate does not exist"],
    ["t.starts_at > t.ends_at", "it ends before it begins"],
  ] },
  tenants: { named: "id", words: { status: tenantStatuses } },
  kek_versions: { named: "version", words: { status: kekStatuses } },
  ct_inclusions: { named: "id", words: { status: inclusionStatuses }, rules: [[noCertificate, "its certificate does not exist"]] },
  heads: { named: "id", rules: [["t.id <> 1", "there is one head row"]] },
};

/** The tables that promise something. */
export const promisingTables: readonly string[] = Object.keys(promises);

/** Every rule, in the order of the tables; that of its words comes first. */
export const rowRules: readonly RowRule[] = Object.entries(promises).flatMap(
  ([table, { named, words = {}, rules = [] }]) => [
    ...Object.entries(words).map(([column, legal]) => ({
      table,
      named,
      broken: `t.${column} not in (${legal.map((word) => `'${word}'`).join(", ")})`,
      says: `its ${column === "status" ? "state" : column} is none there is`,
    })),
    ...rules.map(([broken, says]) => ({ table, named, broken, says })),
  ],
);
