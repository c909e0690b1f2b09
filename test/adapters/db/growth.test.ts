/** Nothing grows without somebody having said what bounds it, or that it is kept for ever. */

import { expect, test } from "bun:test";
import { Database } from "bun:sqlite";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";

import { embeddedMigrations } from "#adapters/db/engine/migrations.ts";

/**
 * Why the disk is not full of it one day.
 *
 * - `job`: this one takes rows away.
 * - `replaced`: there is a row for each of what there is now, and what ends takes its row along.
 * - `people`: rows are made by hand, one at a time.
 * - `record`: evidence, or what must never happen twice; kept for ever, and `disk.space` warns of
 *   its growth 14 days ahead.
 */
type Bound =
  | { readonly by: "job"; readonly job: string }
  | { readonly by: "replaced" | "people" | "record"; readonly why: string };

const job = (name: string): Bound => ({ by: "job", job: name });
const replaced = (why: string): Bound => ({ by: "replaced", why });
const people = (why: string): Bound => ({ by: "people", why });
const record = (why: string): Bound => ({ by: "record", why });

const bounds: Readonly<Record<string, Bound>> = {
  access_log: job("access_log.prune"),
  access_packs: job("access_log.prune"),
  acme_account_keys: record(
    "a key of an account certifies nothing else, also after it was changed",
  ),
  acme_accounts: record("whose a key is, and who asked for what"),
  acme_authorizations: job("acme.clean_up"),
  acme_challenges: job("acme.clean_up"),
  acme_eabs: people("a credential that ended stays named by its accounts"),
  acme_nonces: job("acme.clean_up"),
  acme_order_authorizations: job("acme.clean_up"),
  acme_orders: job("acme.clean_up"),
  acme_record_ends: record("what a revocation by the key of a certificate has ended"),
  acme_replacement_items: people("a certificate of a plan"),
  acme_replacements: people("a plan"),
  api_tokens: people("a token that ended stays named in events"),
  approval_decisions: record("who decided what"),
  approval_effects: record("an approval is executed once"),
  approvals: record("who asked for what"),
  blocked_keys: record("a key that leaked is never certified again"),
  bulk_items: record("a bulk issue that is repeated issues nothing twice"),
  bulk_operations: record("its id is taken for good"),
  bulk_runs: record("its id is taken for good"),
  bulk_serials: replaced("gone when the run has ended"),
  cas: people("a CA"),
  certificate_archive: job("retention.run"),
  certificate_counts: replaced("a row a day and profile, however many certificates"),
  certificate_search: job("retention.run"),
  certificates: job("retention.run"),
  crl_heads: replaced("the newest list of each scope"),
  crl_indexes: replaced("a row a CA"),
  crl_members: replaced("a row an entry of the revocation table"),
  crl_pieces: replaced("the newest list of each scope"),
  crl_reservations: replaced("a row a scope"),
  crl_stamps: replaced("a row a partition and address"),
  cross_signs: people("a cross certificate"),
  ct_inclusions: record("what a log has promised"),
  ct_log_heads: replaced("a row a log"),
  events: record("the audit chain"),
  folds: replaced("a row a folded table"),
  grants: people("a grant"),
  heads: replaced("one row"),
  instance: replaced("a row a setting, CA or counter of a key"),
  intents: record("a serial that came to nothing is used by nothing else"),
  kek_versions: people("a rotation"),
  ledger: record("every signature"),
  open_intents: replaced("gone when the signature is there or has failed"),
  own_keys: people("a key of a CA"),
  passkeys: people("a passkey"),
  precertificates: record("a log may show it for ever"),
  presigned: job("ocsp.presign"),
  responders: record("an answer may be held against its certificate"),
  revocation_changes: replaced("a row a CA"),
  revocation_counts: replaced("a row a CA"),
  revocation_releases: record("a hold that ended, for the delta lists after it"),
  revocations: record("what was revoked stays revoked (CRL-7 takes it off the lists)"),
  schema_migrations: replaced("a row a migration"),
  sealed_values: replaced("gone with what it belongs to"),
  tenant_counts: replaced("a row a day, a quota and a tenant"),
  tenants: people("a tenant"),
};

const root = resolve(import.meta.dir, "../../..");

test("every table of the schema has its bound, and no bound lacks its table", () => {
  const database = new Database(":memory:");
  for (const { statements } of embeddedMigrations("sqlite")) {
    for (const statement of statements) database.run(statement);
  }
  const rows = database
    .query("select name from sqlite_schema where type = 'table' and name not like 'sqlite_%'")
    .all() as { name: string }[]; // As the query names it.
  const parts = /^certificate_search_(config|data|docsize|idx)$/;
  const names = rows.map(({ name }) => name).filter((name) => !parts.test(name));
  const elsewhere = ["access_log", "access_packs", "schema_migrations"];
  expect([...new Set([...names, ...elsewhere])].sort()).toEqual(Object.keys(bounds).sort());
});

test("every job that is named is there", () => {
  const jobs = readFileSync(join(root, "src/jobs/jobs.ts"), "utf8");
  const named = Object.values(bounds).flatMap((bound) => (bound.by === "job" ? [bound.job] : []));
  expect(named.length).toBeGreaterThan(0);
  for (const name of named) expect(jobs).toContain(`name: "${name}"`);
});
