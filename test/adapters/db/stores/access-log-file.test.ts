/**
 * The file of the access log: apart from the store, and nobody minds when it is removed, replaced
 * or damaged.
 */

import { Database } from "bun:sqlite";
import { afterEach, expect, test } from "bun:test";
import { existsSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";

import { openStore } from "#adapters/db/open.ts";
import { systemClock, systemRandom } from "#adapters/system.ts";
import { addSeconds } from "#core/time.ts";
import type { Store } from "#domain/store.ts";
import { until } from "#test/support/until.ts";
import { noon } from "#test/support/stores/records.ts";
import { sqliteDatabase } from "#test/support/stores/stores.ts";
import { plainRow } from "#test/support/stores/access-log-rows.ts";

const opened: Store[] = [];
afterEach(async () => {
  for (const store of opened.splice(0)) await store.close();
});

const row = plainRow(noon);

async function world() {
  const database = sqliteDatabase();
  const faults: string[] = [];
  const store = await database.open({ onFault: (sentence) => void faults.push(sentence) });
  opened.push(store);
  const file = join(dirname(database.target), "access-log.db");
  const logged = async (many: number) => {
    for (let n = 0; n < many; n++) store.logAccess(row);
    await until(async () => (await database.accessRows()).length >= many);
  };
  return { database, store, faults, file, logged };
}

test("no row touches the database or its log", async () => {
  const { database, store, logged } = await world();
  const before = ["", "-wal"].map((end) => statSync(`${database.target}${end}`));
  await logged(3000);
  await store.pruneAccessLog(addSeconds(noon, 1));
  const after = ["", "-wal"].map((end) => statSync(`${database.target}${end}`));
  expect(after.map(({ size, mtimeMs }) => [size, mtimeMs])).toEqual(
    before.map(({ size, mtimeMs }) => [size, mtimeMs]),
  );
});

test("a database whose disk is full does not keep the access log from being written", async () => {
  const { database, store, logged } = await world();
  await database.tamper(
    "create trigger refuse before insert on events begin select raise(abort, 'no'); end",
  );
  await logged(20);
  await store.ping();
});

test.each([
  [
    "removed",
    (file: string) => {
      for (const end of ["", "-wal", "-shm"]) rmSync(`${file}${end}`);
    },
  ],
  ["rotated", (file: string) => renameSync(file, `${file}.1`)],
])("a file that is %s is begun anew, and the store goes on", async (_, act) => {
  const { store, faults, file, logged } = await world();
  await logged(20);
  act(file);
  await logged(30);
  expect((await store.read.accessLog.page({}, 1)).total).toBe(30);
  expect([store.droppedAccessRows(), faults]).toEqual([0, []]);
  await store.ping();
});

test("a damaged file is set aside and told of, and no row after it is lost", async () => {
  const { store, faults, file, logged } = await world();
  await logged(2000);
  await store.close();
  opened.length = 0;
  writeFileSync(file, Buffer.alloc(statSync(file).size, "x"));
  const again = await worldOn(file);
  for (let n = 0; n < 40; n++) again.store.logAccess(row);
  await until(async () => (await again.store.read.accessLog.page({}, 1)).total === 40);
  expect(again.faults).toEqual([expect.stringContaining("set aside")]);
  expect(existsSync(`${file}.damaged`)).toBe(true);
  expect([store.droppedAccessRows(), again.store.droppedAccessRows(), faults]).toEqual([0, 0, []]);
});

test("a file that cannot be had costs rows, which are counted, and nothing else", async () => {
  const { database, store, faults, file } = await world();
  rmSync(file, { force: true });
  Bun.spawnSync(["mkdir", file]);
  store.logAccess(row);
  await until(() => faults.length > 0);
  await store.atomically((tx) => tx.instance.setValue("a", "b"));
  await store.close();
  opened.length = 0;
  expect(store.droppedAccessRows()).toBe(1);
  const [kept] = await database.query("select value from instance where name = 'a'");
  expect(kept).toEqual({ value: "b" });
});

async function worldOn(file: string) {
  const faults: string[] = [];
  const path = join(dirname(file), "pkid.db");
  const store = await openStore(
    { driver: "sqlite", path, busy_timeout_ms: 5000 },
    { clock: systemClock, random: systemRandom, onFault: (sentence) => void faults.push(sentence) },
  );
  opened.push(store);
  return { store, faults };
}

test.each([
  ["its own name", (target: string) => target],
  [
    "another spelling",
    (target: string) => join(dirname(target), "..", basename(dirname(target)), basename(target)),
  ],
  [
    "a link",
    (target: string) => {
      symlinkSync(target, `${target}-link`);
      return `${target}-link`;
    },
  ],
])("the database itself is refused as the place of the access log, under %s", async (_, named) => {
  const { target: path } = sqliteDatabase();
  const options = { driver: "sqlite", path, busy_timeout_ms: 1000 } as const;
  const deps = { clock: systemClock, random: systemRandom };
  await expect(
    openStore({ ...options, access_log: { path: named(path) } }, deps),
  ).rejects.toMatchObject({
    reason: "unsafe_settings",
    message: expect.stringContaining("access log"),
  });
  // Nothing holds it any more.
  await (await openStore(options, deps)).close();
});

test("the file is its owner's alone", async () => {
  const { file, logged } = await world();
  await logged(20);
  expect(statSync(file).mode & 0o077).toBe(0);
  new Database(file, { readonly: true }).close();
});

test("the file is read while another program writes to it, and waited for while that makes it", async () => {
  const { database, store, file, logged } = await world();
  await logged(20);
  await closed(store);
  const other = new Database(file);
  other.run("begin immediate");
  const beside = await database.open();
  opened.push(beside);
  expect(await beside.read.accessLog.page({}, 1)).toMatchObject({ total: 20 });
  await closed(beside);
  other.run("commit");
  // A file that lacks something must be written to before it can be read.
  other.run("drop index access_packs_oldest");
  other.run("begin immediate");
  const late = await database.open();
  opened.push(late);
  const page = late.read.accessLog.page({}, 1);
  await Bun.sleep(20);
  other.run("commit");
  expect(await page).toMatchObject({ total: 20 });
  other.close();
});

async function closed(store: Store): Promise<void> {
  opened.splice(opened.indexOf(store), 1);
  await store.close();
}
