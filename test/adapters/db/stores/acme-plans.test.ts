/**
 * What ACME asks for each order finds its rows by an index, however many old ones there are, and
 * whether PostgreSQL knows yet how many.
 */

import { Database } from "bun:sqlite";
import { expect, setDefaultTimeout, test } from "bun:test";

import { caId } from "#core/ids.ts";
import { instant } from "#core/time.ts";
import type { Store } from "#domain/store.ts";
import * as make from "#test/support/stores/acme-records.ts";
import { certificate, issue, newSerial, noon } from "#test/support/stores/records.ts";
import { heardStatements } from "#test/support/stores/statements.ts";
import { postgresDatabase, sqliteDatabase } from "#test/support/stores/stores.ts";
import { sharePostgres } from "#test/support/servers/postgres.ts";

setDefaultTimeout(120_000);
const server = await sharePostgres();

test("on SQLite no order walks a table", async () => {
  const database = sqliteDatabase();
  const store = await database.open();
  const { sent, deaf } = heardStatements();
  await everything(store);
  deaf();
  const file = new Database(database.target, { readonly: true });
  const plans = [...new Set(sent)]
    .filter((text) => text.includes("acme_"))
    .map((text) => ({ text, steps: stepsOf(file, text) }));
  file.close();
  await store.close();
  expect(plans.length).toBeGreaterThan(20);
  const walking = plans.filter(({ steps }) => steps.some((step) => /^SCAN acme_\w+$/.test(step)));
  expect(walking.map(({ text }) => text)).toEqual([]);
});

// A plan made before the first `analyze` guesses how large each table is.
test.each([false, true])(
  "on PostgreSQL no order walks a table (analyzed: %p)",
  async (analyzed) => {
    const database = await postgresDatabase(server);
    await (await database.open()).close();
    await fill((text) => database.tamper(text));
    if (analyzed) await database.tamper("analyze");
    await database.tamper("select pg_stat_reset()");
    const store = await database.open();
    await everything(store);
    // Each connection adds what it has read when it ends, at the latest.
    await store.close();
    const read = await database.query(`select relname, seq_tup_read::int from pg_stat_user_tables
where relname like 'acme\\_%' and seq_tup_read >= ${oldRows}`);
    expect(read).toEqual([]);
  },
);

/** Two orders from their names to their ends, one of which fails, and a plan that replaces one. */
async function everything(store: Store): Promise<void> {
  const [proved, failed] = [await attempted(store), await attempted(store)];
  await store.atomically((tx) =>
    tx.acme.settleChallenge(proved.challenge, 1, {
      kind: "proved",
      at: noon,
      validUntil: make.later(86_400),
    }),
  );
  const { problem: error } = make;
  await store.atomically((tx) =>
    tx.acme.settleChallenge(failed.challenge, 1, { kind: "failed", error, at: noon }),
  );
  expect((await store.read.acme.order(proved.order))?.status).toBe("ready");
  expect((await store.read.acme.order(failed.order))?.status).toBe("invalid");
  await finalized(store, proved.order);
  const wanted = {
    identifier: { type: "dns", value: "www.example.com" },
    wildcard: false,
  } as const;
  expect(await store.read.acme.validFor(proved.account, [wanted], noon)).toHaveLength(1);
  await store.read.acme.openAuthorizations(proved.account, 10);
  await store.atomically((tx) => tx.acme.endAuthorization(proved.proof, "deactivated"));
  await store.atomically((tx) => tx.acme.endAccount(proved.account, "deactivated", noon));
  await store.atomically((tx) => tx.acme.prune(instant(0), 10));
  await replaced(store);
}

/** An order of one name, whose first challenge this store is working on. */
async function attempted(store: Store) {
  const account = make.account();
  const proof = make.authorization({ account: account.id });
  const order = make.order([proof]);
  const challenge = proof.challenges[0]?.id ?? "";
  await store.atomically(async (tx) => {
    await tx.acme.addAccount(account);
    await tx.acme.addOrder(order, [proof]);
    await tx.acme.beginChallenge(challenge, noon);
  });
  await store.read.acme.dueChallenges({ at: noon, exceptAccounts: [], exceptHosts: [] }, 1);
  const claim = { at: noon, leaseUntil: make.later(60) };
  await store.atomically((tx) => tx.acme.claimChallenges({ ...claim, ids: [challenge] }));
  await store.atomically((tx) => tx.acme.claimChallenges({ ...claim, ids: [challenge, "none"] }));
  return { account: account.id, proof: proof.id, order: order.id, challenge };
}

async function finalized(store: Store, order: string): Promise<void> {
  const row = certificate();
  await issue(store, row);
  expect(await store.atomically((tx) => tx.acme.claimOrder(order, noon))).toBe(true);
  await store.read.acme.processing(false, 10);
  const to = { status: "valid", certificate: row } as const;
  await store.atomically((tx) => tx.acme.settleOrder(order, to));
  expect((await store.read.acme.obtained(row))?.order).toBe(order);
  expect(await store.atomically((tx) => tx.acme.markReplaced(row, "another"))).toBe(true);
}

/** A plan of certificates enough that no planner takes each for all of them. */
async function replaced(store: Store): Promise<void> {
  const plan = make.replacement();
  const items = Array.from({ length: 300 }, () => make.item(plan.id, { serial: newSerial() }));
  await store.atomically(async (tx) => {
    await tx.replacements.addReplacement(plan);
    await tx.replacements.addItems(items);
  });
  const [first] = items;
  if (first === undefined) throw new Error("a plan has items");
  await store.atomically((tx) => tx.replacements.noteReplaced(first, noon));
  expect(await store.read.replacements.plannedFor(first)).toMatchObject({ replacedAt: noon });
  expect(await store.read.replacements.unrevoked(plan.id, false, 10)).toHaveLength(1);
  const absent = { caId: caId("other"), serial: first.serial };
  await store.atomically((tx) => tx.replacements.noteRevoked(plan.id, [...items, absent], noon));
  expect((await store.read.replacements.counts(plan.id)).revoked).toBe(items.length);
}

/** Puts old, finished orders into a database of PostgreSQL, with all that belongs to them. */
async function fill(run: (text: string) => Promise<void>): Promise<void> {
  const each = `from generate_series(1, ${oldRows}) g`;
  await run(`insert into acme_accounts (id, directory, tenant, status, thumbprint, jwk, spki_sha256,
contacts, created_at) select 'a' || g, 'default', 'default', 'valid', 't' || g, '{}', 's' || g, '[]',
g ${each}`);
  await run(`insert into acme_orders (id, account, directory, tenant, ca_id, status, identifiers,
authorizations, profile, created_at, expires_at, ends_at, certificate_ca, certificate_serial,
certificate_not_after) select 'o' || g, 'a', 'default', 'default', 'ca', 'valid', '[]',
'["z' || g || '"]', 'tls-server', g, g, ${noon} + g, 'ca', g::text, ${noon} + g ${each}`);
  await run(`insert into acme_authorizations (id, account, directory, identifier_type, identifier,
wildcard, status, created_at, expires_at, method, challenges, ordered) select 'z' || g, 'a', 'default',
'dns', 'h' || g, false, case when g % 2 = 0 then 'valid' else 'invalid' end, g, ${noon} + g, 'http-01',
'["c' || g || '"]', true ${each}`);
  await run(`insert into acme_challenges (id, authorization_id, account, type, token, status, attempts)
select 'c' || g, 'z' || g, 'a', 'http-01', 't', 'valid', 1 ${each}`);
  await run(`insert into acme_order_authorizations (authorization_id, order_id)
select 'z' || g, 'o' || g ${each}`);
  await run(`insert into acme_replacement_items (replacement, serial, ca_id, starts_at, ends_at)
select 'old', g::text, 'ca', g, g ${each}`);
}

function stepsOf(file: Database, text: string): readonly string[] {
  const steps = file.query<{ detail: string }, []>(`explain query plan ${text}`).all();
  return steps.map(({ detail }) => detail);
}

const oldRows = 20_000;
