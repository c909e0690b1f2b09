/** The store contract, kept by SQLite, and what only a file can suffer. */

import { Database } from "bun:sqlite";
import { expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";

import { embeddedMigrations } from "#adapters/db/engine/migrations.ts";
import { openStore } from "#adapters/db/open.ts";
import { openSqlite } from "#adapters/db/engine/sqlite.ts";
import { migrateSqlite } from "#adapters/db/engine/sqlite-migrate.ts";
import { systemClock, systemRandom } from "#adapters/system.ts";
import { certificate, issue } from "#test/support/stores/records.ts";
import { sqliteDatabase, startWriter } from "#test/support/stores/stores.ts";

import { until } from "#test/support/until.ts";
import { storeContract } from "./store.suite.ts";
import { durableStoreContract, wholeChain, wholeLedger } from "./store-durable.suite.ts";

setDefaultTimeout(120_000);
storeContract("SQLite", () => sqliteDatabase().open());
durableStoreContract("SQLite", sqliteDatabase);

test("the database files are their owner's alone", async () => {
  const database = sqliteDatabase();
  const store = await database.open();
  await issue(store, certificate());
  const folder = dirname(database.target);
  const files = readdirSync(folder);
  expect(files).toContain("pkid.db-wal");
  for (const file of files) expect(statSync(join(folder, file)).mode & 0o077).toBe(0);
  await store.close();
});

test("a store opened for reading sees what another commits, and changes nothing", async () => {
  const database = sqliteDatabase();
  const store = await database.open();
  const options = { path: database.target, busy_timeout_ms: 5000, readOnly: true } as const;
  const deps = { clock: systemClock, random: systemRandom };
  const reader = await openStore({ driver: "sqlite", ...options }, deps);
  const row = certificate();
  await issue(store, row);
  expect(await reader.read.certificates.bySerial(row.caId, row.serial)).toEqual(row);
  const write = reader.atomically((tx) => tx.instance.setValue("a", "b"));
  await expect(write).rejects.toMatchObject({ code: "storage_unavailable" });
  await reader.close();
  await store.close();
});

test("a view that has ended holds no snapshot: the log can be folded into the file at once", async () => {
  const database = sqliteDatabase();
  const store = await database.open();
  const row = certificate();
  await issue(store, row);
  for (const fails of [false, true]) {
    const looking = store.read.revocations.view(async (view) => {
      expect(await view.changed(row.caId, 10, 0)).toEqual([]);
      if (fails) throw new Error("looked enough");
    });
    await looking.catch(() => {});
  }
  const other = new Database(database.target);
  other.run("pragma busy_timeout = 0");
  expect(other.query("pragma wal_checkpoint(truncate)").get()).toMatchObject({ busy: 0 });
  other.close();
  await store.close();
});

test("V-28: before it migrates, SQLite keeps a sound copy that nobody else can read", async () => {
  const { database, migrate, copy } = await oldDatabase();
  await migrate("create table later (x integer)");
  expect(statSync(copy).mode & 0o777).toBe(0o600);
  const copied = new Database(copy, { readonly: true });
  expect(copied.query("select event_seq from heads").get()).toEqual({ event_seq: 1 });
  expect(copied.query("select name from sqlite_master where name = 'later'").get()).toBeNull();
  copied.close();
  await expect(database.open()).rejects.toMatchObject({ reason: "schema_newer" });
});

test("V-28: a binary that is too old names the copy it can begin from, and does", async () => {
  const { database, migrate, copy } = await oldDatabase();
  await migrate("create table later (x integer)");
  const refused = await database.open().catch((error: Error) => error.message);
  expect(refused).toContain(`put ${copy} in its place and lose what came after`);
  renameSync(copy, database.target);
  const store = await database.open();
  expect((await store.read.audit.eventHead()).seq).toBe(1);
  await store.close();
  await migrate("create table later (x integer)");
  rmSync(copy);
  const without = await database.open().catch((error: Error) => error.message);
  expect(without).toContain("Run the newer binary again, or restore what was saved before");
});

test("serials of bulk runs lie in the order in which they are worked off, without row ids", async () => {
  const database = sqliteDatabase();
  await (await database.open()).close();
  // What the table definition cannot say, a later migration must not lose.
  const [table] = await database.query("select sql from sqlite_master where name = 'bulk_serials'");
  expect(table).toMatchObject({ sql: expect.stringContaining("WITHOUT ROWID") });
});

test("a migration that fails changes nothing", async () => {
  const { database, migrate } = await oldDatabase();
  await expect(migrate("create table later (x integer)", "nonsense")).rejects.toThrow();
  const store = await database.open();
  expect(await wholeChain(store)).toHaveLength(1);
  await store.close();
});

test("a volume that fills up refuses units, keeps what it has, and recovers by itself", async () => {
  const database = sqliteDatabase();
  await (await database.open()).close();
  // The limit makes every write past 1.5 MB fail, as a full disk would; the signal that goes with
  // it is ignored.
  const limited = ["bash", "-c", "trap '' XFSZ; ulimit -S -f 1536; exec \"$@\"", "limited"];
  const writer = startWriter(database.target, 8, limited);
  const refusals = () =>
    writer.said.filter((line) => line === "refused storage_unavailable").length;
  await until(() => refusals() > 20);
  const lift = Bun.spawnSync(["prlimit", "--pid", String(writer.pid), "--fsize=unlimited"]);
  expect(lift.exitCode).toBe(0);
  const issuedSoFar = writer.said.filter((line) => line.startsWith("issued")).length;
  const issued = () => writer.said.filter((line) => line.startsWith("issued"));
  await until(() => issued().length > issuedSoFar + 20);
  await writer.kill();
  const store = await database.open();
  const serials = new Set((await wholeChain(store)).map(({ serial }) => serial));
  for (const line of issued()) expect(serials.has(line.replace("issued ", ""))).toBe(true);
  await wholeLedger(store);
  await store.close();
});

async function oldDatabase() {
  const database = sqliteDatabase();
  const store = await database.open();
  await issue(store, certificate());
  await store.close();
  const options = { driver: "sqlite", path: database.target, busy_timeout_ms: 5000 } as const;
  const known = embeddedMigrations("sqlite");
  const version = known.length + 1;
  const copy = `${database.target}.before-${version}`;
  expect(existsSync(copy)).toBe(false);
  const migrate = async (...statements: string[]) => {
    const engine = openSqlite(options);
    const steps = [...known, { version, hash: "later", statements }];
    await migrateSqlite(engine, options, async () => {}, steps).finally(() => engine.close());
  };
  return { database, migrate, copy };
}
