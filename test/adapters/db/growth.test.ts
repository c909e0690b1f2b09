/** Nothing grows without somebody having said what bounds it, or that it is kept for ever. */

import { beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";

import { CleanUp } from "#domain/acme/clean-up.ts";
import { type IdleDeps, IdleAccounts } from "#domain/acme/idle-accounts.ts";
import type { Store } from "#domain/store.ts";
import { type SharedPostgres, sharePostgres } from "#test/support/servers/postgres.ts";
import * as make from "#test/support/stores/acme-records.ts";
import { noon } from "#test/support/stores/records.ts";
import { postgresDatabase, sqliteDatabase } from "#test/support/stores/stores.ts";

const { later } = make;

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
  acme_account_keys: job("acme.idle_accounts"),
  acme_accounts: job("acme.idle_accounts"),
  acme_authorizations: job("acme.clean_up"),
  acme_challenges: job("acme.clean_up"),
  acme_eabs: people("a credential that ended stays named by its accounts"),
  acme_nonces: job("acme.clean_up"),
  acme_order_authorizations: job("acme.clean_up"),
  acme_orders: job("acme.clean_up"),
  acme_record_ends: record("what a revocation by the key of a certificate has ended"),
  acme_replacement_items: job("acme.clean_up"),
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
  certificates: record("its serial is used by nothing else; retention.run leaves a tombstone"),
  crl_heads: replaced("the newest list of each scope"),
  crl_indexes: replaced("a row a CA"),
  crl_members: replaced("a row an entry of the revocation table"),
  crl_pieces: replaced("the newest list of each scope"),
  crl_reservations: replaced("a row a scope"),
  crl_stamps: replaced("a row a partition and address"),
  cross_signs: people("a cross certificate"),
  ct_inclusions: record("what a log has promised"),
  ct_log_heads: replaced("a row a log"),
  day_counts: replaced("a row a day, however many certificates"),
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

/** Where it is proven that a job takes rows away: a file, and the name of a test of it. */
const provenElsewhere: Readonly<Record<string, readonly [string, string]>> = {
  "access_log.prune": [
    "test/contracts/store-durable.suite.ts",
    "access log rows before an instant are deleted, however many, and no others",
  ],
  "retention.run": [
    "test/domain/retention/retention.test.ts",
    "RET-1: what is to be pruned leaves a tombstone, from the archive or from where it was",
  ],
  "ocsp.presign": [
    "test/contracts/store-presigned.suite.ts",
    "what nobody may be given any more is deleted, and the rest counted",
  ],
};

/** The others, run here over rows that are over. */
const runs: Readonly<Record<string, (deps: IdleDeps) => Promise<void>>> = {
  "acme.clean_up": (deps) => new CleanUp(deps).run(),
  "acme.idle_accounts": (deps) => new IdleAccounts(deps).run(),
};

const root = resolve(import.meta.dir, "../../..");
let server: SharedPostgres;
beforeAll(async () => {
  server = await sharePostgres();
}, 60_000);

/** By dialect: a database, its tables that are not the engine's, and those it has elsewhere. */
const dialects = {
  SQLite: {
    database: async () => sqliteDatabase(),
    tables: `select name from sqlite_schema where type = 'table' and name not like 'sqlite_%'
and name not glob 'certificate_search_*'`,
    // In a file of its own.
    elsewhere: ["access_log", "access_packs"],
  },
  PostgreSQL: {
    database: () => postgresDatabase(server),
    tables: "select tablename as name from pg_tables where schemaname = 'public'",
    // An index of the table itself, and what folding and a file of its own want on SQLite.
    elsewhere: ["certificate_search", "folds", "access_packs"],
  },
} as const;

describe.each(Object.entries(dialects))("on %s", (_name, { database, tables, elsewhere }) => {
  test("every table of the schema has its bound, and no bound lacks its table", async () => {
    const fresh = await database();
    await (await fresh.open()).close();
    // As the query names it.
    const rows = (await fresh.query(tables)) as readonly { name: string }[];
    const names = new Set([...rows.map(({ name }) => name), ...elsewhere]);
    expect([...names].sort()).toEqual(Object.keys(bounds).sort());
  });

  test("the job that is named leaves no row of what is over", async () => {
    const filled = await database();
    const store = await filled.open();
    await fill(store);
    const rows = async (table: string): Promise<number> => {
      const [row] = await filled.query(`select count(*) as n from ${table}`);
      return Number((row as { n: unknown }).n); // An aggregate always has one row.
    };
    const config = { acme: { idle_account_days: 365 } };
    const deps = { store, clock: { now: () => later(400 * 86_400) }, config: () => config };
    for (const [name, run] of Object.entries(runs)) {
      const bounded = tablesOf(name);
      for (const table of bounded) expect([table, (await rows(table)) > 0]).toEqual([table, true]);
      await run(deps);
      for (const table of bounded) expect([table, await rows(table)]).toEqual([table, 0]);
    }
    await store.close();
  });
});

/** Something in every table of ACME that a job empties; all of it is over a year later. */
async function fill(store: Store): Promise<void> {
  const owner = make.account({ idleSince: noon });
  const proof = make.authorization({ account: owner.id });
  const plan = make.replacement();
  await store.atomically(async (tx) => {
    await tx.acme.addAccount(owner);
    await tx.acme.changeKey(owner.id, { thumbprint: "next", jwk: "{}", spkiSha256: "next" });
    await tx.acme.addOrder(make.order([proof], { account: owner.id }), [proof]);
    await tx.acme.useNonce("used", later(1));
    await tx.replacements.addReplacement(plan);
    await tx.replacements.addItems([make.item(plan.id)]);
    await tx.replacements.endReplacement(plan.id, "canceled");
  });
}

const tablesOf = (name: string): readonly string[] =>
  Object.entries(bounds).flatMap(([table, bound]) =>
    bound.by === "job" && bound.job === name ? [table] : [],
  );

test("every job that is named is there, and is proven to take rows away", () => {
  const jobs = readFileSync(join(root, "src/jobs/jobs.ts"), "utf8");
  const named = new Set(
    Object.values(bounds).flatMap((bound) => (bound.by === "job" ? [bound.job] : [])),
  );
  expect([...named].sort()).toEqual([...Object.keys(runs), ...Object.keys(provenElsewhere)].sort());
  for (const name of named) expect(jobs).toContain(`name: "${name}"`);
  for (const [file, sentence] of Object.values(provenElsewhere)) {
    expect(readFileSync(join(root, file), "utf8")).toContain(`test("${sentence}"`);
  }
});
