/**
 * What PostgreSQL answers without failing, or fails with of its own accord, is taken for what it
 * is.
 */

import { afterEach, beforeAll, expect, setDefaultTimeout, test } from "bun:test";

import { openStore } from "#adapters/db/open.ts";
import { PostgresEngine } from "#adapters/db/engine/postgres.ts";
import { systemClock, systemRandom } from "#adapters/system.ts";
import { NothingWritten, nothingWritten, type Store } from "#domain/store.ts";
import { type SharedPostgres, sharePostgres } from "#test/support/servers/postgres.ts";
import { certificate, intend, intentFor } from "#test/support/stores/records.ts";
import { postgresLimits } from "#test/support/stores/stores.ts";

setDefaultTimeout(60_000);

let server: SharedPostgres;
const opened: { close(): Promise<void> }[] = [];

beforeAll(async () => {
  server = await sharePostgres();
});

afterEach(async () => {
  for (const one of opened.splice(0)) await one.close();
});

const storeAt = async (dsn: string, limits: object = {}): Promise<Store> => {
  const options = { driver: "postgres", dsn, ...postgresLimits, migrate: true, ...limits } as const;
  const store = await openStore(options, { clock: systemClock, random: systemRandom });
  opened.push(store);
  return store;
};

test("a commit that PostgreSQL answers with a rollback has not happened", async () => {
  const dsn = await server.createDatabase();
  await storeAt(dsn);
  const options = { driver: "postgres", dsn, ...postgresLimits, migrate: false } as const;
  const engine = new PostgresEngine(options, 7, () => {});
  opened.push(engine);
  const heads = await engine.begin();
  await engine.writer.run("insert into instance (name, value) values ('a', '1')", []);
  await Promise.resolve(engine.writer.run("select 1 / 0", [])).catch(() => {
    // As a unit would that means to go on without this statement.
  });
  await expect(engine.commit(heads)).rejects.toBeInstanceOf(NothingWritten);
  await engine.rollback();
  expect(await server.query(dsn, "select 1 from instance where name = 'a'")).toHaveLength(0);
});

test("a store whose login is taken away is unavailable, and serves when it is given back", async () => {
  const dsn = await server.createDatabase();
  await server.query(dsn, "create role guest superuser login");
  const theirs = new URL(dsn);
  theirs.username = "guest";
  // Connections that were made before would last; here each is made anew.
  const store = await storeAt(theirs.href, { conn_max_lifetime_seconds: 0 });
  await server.query(dsn, "alter role guest nologin");
  await expect(store.read.instance.value("name")).rejects.toMatchObject({
    code: "storage_unavailable",
  });
  await expect(store.exclusively("lease", async () => {})).rejects.toMatchObject({
    code: "storage_unavailable",
  });
  await server.query(dsn, "alter role guest login");
  expect(await store.read.instance.value("name")).toBeUndefined();
});

test("a unit behind rows that found no room is refused as unavailable, and not for what the server says of it", async () => {
  const dsn = await server.createDatabase();
  const store = await storeAt(dsn);
  const noRoom =
    "create function no_room() returns trigger language plpgsql as $$ begin raise exception 'no room' using errcode = '53100'; end $$";
  await server.query(dsn, noRoom);
  await server.query(
    dsn,
    "create trigger full_disk before insert on open_intents for each row execute function no_room()",
  );
  const unit = store.atomically(async (tx) => {
    await intend(tx, intentFor(certificate()));
    // Sent behind the row of the intent, whose failure is not answered yet.
    await tx.instance.setValue("name", "value");
  });
  const error: unknown = await unit.catch((caught: unknown) => caught);
  expect(error).toMatchObject({ code: "storage_unavailable" });
  expect(nothingWritten(error)).toBe(true);
});

test("what fails late of a batch that is over fails no other", async () => {
  const dsn = await server.createDatabase();
  await storeAt(dsn);
  const options = { driver: "postgres", dsn, ...postgresLimits, migrate: false } as const;
  const engine = new PostgresEngine(options, 7, () => {});
  opened.push(engine);
  await engine.begin();
  const late = Promise.withResolvers<void>();
  engine.ahead(late.promise);
  await engine.rollback();
  const heads = await engine.begin();
  late.reject(new Error("the connection of the first batch is closed"));
  await engine.writer.run("insert into instance (name, value) values ('a', '1')", []);
  await engine.commit(heads);
  expect(await server.query(dsn, "select 1 from instance where name = 'a'")).toHaveLength(1);
});
