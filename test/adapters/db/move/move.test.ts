/** A store goes from one kind of database to the other and back, and nothing is lost or doubled. */

import { beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync } from "node:fs";

import { type MoveRequest, moveDatabase } from "#adapters/db/move/databases.ts";
import type { StoreOptions } from "#adapters/db/open.ts";
import { systemRandom } from "#adapters/system.ts";
import type { Store } from "#domain/store.ts";
import { wholeChain, wholeLedger } from "#test/contracts/store-durable.suite.ts";
import { type SharedPostgres, sharePostgres } from "#test/support/servers/postgres.ts";
import { allRows, fullStore, home } from "#test/support/stores/full-store.ts";
import * as make from "#test/support/stores/records.ts";
import {
  type DatabaseUnderTest,
  emptyPostgresDatabase,
  postgresLimits,
  sqliteDatabase,
} from "#test/support/stores/stores.ts";

setDefaultTimeout(120_000);

let server: SharedPostgres;
beforeAll(async () => {
  server = await sharePostgres();
});

test("what was moved to PostgreSQL and back is what it was, row by row and link by link", async () => {
  const from = await fullStore();
  const before = await shown(from);
  const away = await emptyPostgresDatabase(server);
  const there = await moved(from, away);
  expect(there.heads?.eventSeq).toBe(before.events.length);
  expect(await shown(away)).toEqual(before);

  const back = sqliteDatabase();
  const again = await moved(away, back);
  expect(again.tables).toEqual(there.tables);
  expect(await shown(back)).toEqual(before);
  const rows = new Map(again.tables.map(({ table, rows: found }) => [table, found]));
  expect([...rows].filter(([, found]) => found === 0)).toEqual([]);
  // Every table of the first is in the last, octet for octet.
  expect(allRows(back)).toEqual(allRows(from));
});

test("what is issued after a move follows what was issued before it", async () => {
  const from = await fullStore();
  const away = await emptyPostgresDatabase(server);
  await moved(from, away);
  const store = await away.open();
  const row = make.certificate({ caId: home });
  await make.issue(store, row);
  const page = await store.read.certificates.page({ caId: home, now: make.noon }, 3);
  expect(page.items[0]?.id).toBe(row.id);
  await wholeChain(store);
  await wholeLedger(store);
  await store.close();
});

test("what was moved opens no more, and is moved once", async () => {
  const from = await fullStore();
  await moved(from, await emptyPostgresDatabase(server));
  expect(await refusal(from.open())).toContain("was moved at noon to postgres");
  const other = await emptyPostgresDatabase(server);
  expect(await refusal(moved(from, other))).toContain("its history goes on there");
  // A copy that was never in service can be lost; then it is made again, by name.
  await moved(from, other, { again: true });
  await (await other.open()).close();
});

test("a move that was cut short goes on where it was, also after the source was marked", async () => {
  const from = await fullStore();
  for (const to of [await emptyPostgresDatabase(server), sqliteDatabase()]) {
    await moved(from, to, { again: true, at: to.target });
    // As a run that was killed leaves it, but for the rows: the last of them were never written.
    await to.tamper("delete from revocation_changes");
    await to.tamper("delete from passkeys");
    await to.tamper(
      `insert into instance values ('unfinished_move', 'at ${to.target} from sqlite')`,
    );
    expect(await refusal(to.open())).toContain("`pkid db migrate --resume` goes on with it");
    expect(await refusal(from.open())).toContain("`pkid db migrate --resume` finishes it");
    expect(await refusal(moved(from, to))).toContain("Go on with it by `--resume`");
    const whole = await moved(from, to, { resume: true, batch: 2 });
    expect(whole.heads?.eventSeq).toBeGreaterThan(0);
    expect((await moved(from, to, { only: "compare" })).tables).toEqual(whole.tables);
    await (await to.open()).close();
    expect(await refusal(moved(from, to, { resume: true }))).toContain("is not empty");
  }
});

test("a copy that another move has begun does not become a second end of the history", async () => {
  const from = await fullStore();
  const [first, second] = [
    await emptyPostgresDatabase(server),
    await emptyPostgresDatabase(server),
  ];
  await from.tamper("update events set detail = 'x' where seq = 2");
  expect(await refusal(moved(from, first, { at: "one" }))).toContain("does not verify");
  await from.tamper("update events set detail = '' where seq = 2");
  await moved(from, second, { at: "two" });
  const resumed = moved(from, first, { at: "three", resume: true });
  expect(await refusal(resumed)).toContain("was moved at two to postgres");
  await (await second.open()).close();
});

test("a copy that holds what the source no longer does is not gone on with", async () => {
  const from = await fullStore();
  const to = await emptyPostgresDatabase(server);
  await from.tamper("update events set detail = 'x' where seq = 2");
  expect(await refusal(moved(from, to))).toContain("does not verify");
  await from.tamper("update events set detail = '' where seq = 2");
  expect(await refusal(moved(from, to, { resume: true }))).toContain("The copy of events is not");
  expect(await refusal(to.open())).toContain("an unfinished copy");
  await (await from.open()).close();
});

test("a copy that was cut short is finished although a command changed its source since then", async () => {
  const from = await fullStore();
  for (const to of [await emptyPostgresDatabase(server), sqliteDatabase()]) {
    await moved(from, to, { again: true, at: to.target });
    await to.tamper("delete from passkeys");
    await to.tamper(
      `insert into instance values ('unfinished_move', 'at ${to.target} from sqlite')`,
    );
    // The move was killed before it marked the source.
    await from.tamper("delete from instance where name = 'moved'");
    const store = await from.open();
    await store.atomically((tx) => tx.instance.setValue("crl_shards", to.target));
    await store.close();
    const whole = await moved(from, to, { resume: true, at: to.target });
    expect((await moved(from, to, { only: "compare" })).tables).toEqual(whole.tables);
    await (await to.open()).close();
    expect(await refusal(from.open())).toContain("was moved at");
  }
});

test("a copy that was in service is compared up to where it was made, and what differs is named", async () => {
  const from = await fullStore();
  const to = await emptyPostgresDatabase(server);
  await moved(from, to);
  const store = await to.open();
  await store.atomically((tx) => tx.audit.appendEvent(make.draft(), make.noon));
  await store.close();
  const { heads } = await moved(from, to, { only: "compare" });
  expect(heads?.eventSeq).toBeGreaterThan(0);
  await to.tamper("update tenants set name = 'other'");
  expect(await refusal(moved(from, to, { only: "compare" }))).toContain(
    "The copy of tenants is not",
  );
  await (await to.open()).close();
});

test("a database that holds anything is not written to", async () => {
  const from = await fullStore();
  for (const to of [sqliteDatabase(), await emptyPostgresDatabase(server)]) {
    await (await to.open()).close();
    expect(await refusal(moved(from, to))).toContain("is not empty; nothing is written over");
  }
  await (await from.open()).close();
});

test("a look at what would be moved changes nothing on either side", async () => {
  const from = await fullStore();
  const to = sqliteDatabase();
  const { tables, heads } = await moved(from, to, { only: "count" });
  expect(tables.find(({ table }) => table === "certificates")?.rows).toBe(5);
  expect([heads, existsSync(to.target)]).toEqual([undefined, false]);
  await (await from.open()).close();
});

test("a chain that is broken is not carried on, and what was begun is gone", async () => {
  const from = await fullStore();
  await from.tamper("update events set detail = 'x' where seq = 2");
  const to = sqliteDatabase();
  expect(await refusal(moved(from, to))).toContain("does not verify at event 2: hash");
  expect(existsSync(to.target)).toBe(false);
  // What could not be moved is served as before.
  await (await from.open()).close();
  const away = await emptyPostgresDatabase(server);
  expect(await refusal(moved(from, away))).toContain("does not verify at event 2");
  expect(await refusal(away.open())).toContain("an unfinished copy, begun at noon from sqlite");
});

test("a PostgreSQL database at which another process works is not moved", async () => {
  const from = await emptyPostgresDatabase(server);
  const store = await from.open();
  await make.issue(store, make.certificate());
  expect(await refusal(moved(from, sqliteDatabase()))).toContain("stop every replica first");
  await store.close();
  await moved(from, sqliteDatabase());
});

test("a database of another schema is not moved", async () => {
  const from = await fullStore();
  await from.tamper(
    "delete from schema_migrations where version = (select max(version) from schema_migrations)",
  );
  expect(await refusal(moved(from, sqliteDatabase()))).toContain("run `pkid migrate` first");
});

/** `rejects` would wait in a way in which a database far away is slow. */
const refusal = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => "nothing was refused",
    (error: Error) => error.message,
  );

const moved = (
  from: DatabaseUnderTest,
  to: DatabaseUnderTest,
  asked: Partial<MoveRequest> = {},
) => {
  const request = { at: "noon", random: systemRandom, ...asked };
  return moveDatabase({ from: optionsOf(from), to: optionsOf(to), ...request });
};

const optionsOf = ({ target }: DatabaseUnderTest): StoreOptions =>
  target.startsWith("postgres")
    ? { driver: "postgres", dsn: target, ...postgresLimits, migrate: true }
    : { driver: "sqlite", path: target, busy_timeout_ms: 5000 };

/** What a store tells of it. */
async function shown(database: DatabaseUnderTest) {
  const store = await database.open();
  const certificates = await store.read.certificates.page({ caId: home, now: make.noon }, 100);
  const events = await wholeChain(store);
  const ledger = await wholeLedger(store);
  const open = await openSerials(store);
  await store.close();
  return { certificates, events, ledger, open };
}

const openSerials = async (store: Store) =>
  (await store.read.audit.openLedgerIntents(10)).map(({ opId }) => opId);
