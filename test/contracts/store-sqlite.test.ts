/** The store contract, kept by SQLite, and what only a file can suffer. */

import { Database } from "bun:sqlite";
import { expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, readdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";

import { fillEmpty } from "#adapters/db/heads.ts";
import { embeddedMigrations } from "#adapters/db/migrations.ts";
import { openStore } from "#adapters/db/open.ts";
import { openSqlite } from "#adapters/db/sqlite.ts";
import { migrateSqlite } from "#adapters/db/sqlite-migrate.ts";
import { systemClock, systemRandom } from "#adapters/system.ts";
import { certificate, issue } from "#test/support/records.ts";
import { sqliteDatabase, startWriter } from "#test/support/stores.ts";

import { storeContract, until } from "./store.suite.ts";
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
  const options = { path: database.target, busyTimeoutMs: 5000, readOnly: true } as const;
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

test("a bulk run that was open before its serials were put in order goes on with all of them", async () => {
  const database = sqliteDatabase();
  const options = { driver: "sqlite", path: database.target, busyTimeoutMs: 5000 } as const;
  const engine = openSqlite(options);
  const before = embeddedMigrations("sqlite").slice(0, 19);
  const deps = { clock: systemClock, random: systemRandom };
  await migrateSqlite(engine, options, () => fillEmpty(engine.writer, deps), before);
  for (const place of ["0212", "019", "03100"]) {
    await engine.writer.run("insert into bulk_serials (run, place) values (7, ?)", [place]);
  }
  await engine.close();
  await (await database.open()).close();
  const places = [{ place: "019" }, { place: "0212" }, { place: "03100" }];
  expect(await database.query("select place from bulk_serials where run = 7")).toEqual(places);
  // What the table definition cannot say, a later migration must not lose.
  const [table] = await database.query("select sql from sqlite_master where name = 'bulk_serials'");
  expect(table).toMatchObject({ sql: expect.stringContaining("WITHOUT ROWID") });
});

test("people stored as one text keep their parts, and none that was only written into a subject", async () => {
  const database = sqliteDatabase();
  const options = { driver: "sqlite", path: database.target, busyTimeoutMs: 5000 } as const;
  const engine = openSqlite(options);
  const before = embeddedMigrations("sqlite").filter(({ version }) => version <= 20);
  const deps = { clock: systemClock, random: systemRandom };
  await migrateSqlite(engine, options, () => fillEmpty(engine.writer, deps), before);
  for (const [by, person] of peopleAsText) {
    await engine.writer.run(
      `insert into api_tokens (id, name, description, prefix, token_hash, roles, scope, created_by, created_by_name, person,
        created_at, last_used_ip, revoked_by) values (?, '', '', '', ?, '[]', 'platform', ?, '', ?, 1, '', '')`,
      [by, by, by, person],
    );
    await engine.writer.run(
      `insert into approval_decisions (id, approval, approver, approver_name, person, decision, comment, created_at)
        values (?, 'apr_1', ?, '', ?, 'approve', '', 1)`,
      [by, by, person],
    );
  }
  await engine.close();
  await (await database.open()).close();
  const parts = "person_subject, person_voucher, person_address";
  const kept = peopleAsText.map(([, , person_subject, person_voucher, person_address]) => ({
    person_subject,
    person_voucher,
    person_address,
  }));
  for (const table of ["api_tokens", "approval_decisions"]) {
    expect(await database.query(`select ${parts} from ${table} order by rowid`)).toEqual(kept);
  }
});

/** By whom, the old text, and subject, voucher and address it becomes. */
const peopleAsText = [
  ["root", "root", "root", "pkid", ""],
  ["local:ops", "local", "local", "local", ""],
  ["alice", "alice <a@x.test>", "alice", "unknown", "a@x.test"],
  ["eve <boss@x.test>", "eve <boss@x.test>", "eve <boss@x.test>", "unknown", ""],
  ["token:1", "bob <b@x.test>", "bob", "unknown", "b@x.test"],
] as const;

test("rows of the access log that lay in the database are carried to their own file", async () => {
  const database = sqliteDatabase();
  const options = { driver: "sqlite", path: database.target, busyTimeoutMs: 5000 } as const;
  const engine = openSqlite(options);
  const all = embeddedMigrations("sqlite");
  const apart = all.findIndex(({ statements }) =>
    /drop table `access_log`/i.test(statements[0] ?? ""),
  );
  const deps = { clock: systemClock, random: systemRandom };
  await migrateSqlite(engine, options, () => fillEmpty(engine.writer, deps), all.slice(0, apart));
  const insert = `insert into access_log (at, request_id, subject, method, route, path, status, duration_ms,
    bytes_out, ip, user_agent) values (?, 'r', '', 'GET', '/', '/', 200, 1, 2, '192.0.2.1', '')`;
  for (let at = 1; at <= 300; at++) await engine.writer.run(insert, [at]);
  await engine.close();
  const store = await database.open();
  expect((await store.read.accessLog.page({}, 1)).total).toBe(300);
  await store.close();
  const [row] = await database.accessRows("select min(at) as least, max(id) as id from access_log");
  expect(row).toEqual({ least: 1, id: 300 });
  const tables = "select name from sqlite_schema where name like '%access_log%'";
  expect(await database.query(tables)).toEqual([]);
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
  const options = { driver: "sqlite", path: database.target, busyTimeoutMs: 5000 } as const;
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
