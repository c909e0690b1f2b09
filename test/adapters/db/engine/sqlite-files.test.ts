/**
 * The files of a SQLite store as others on the same host see them: locked, left alone, and missed
 * when they are gone.
 */

import { Database } from "bun:sqlite";
import { afterEach, expect, test } from "bun:test";
import { copyFileSync, readFileSync, renameSync, rmSync, statSync, symlinkSync } from "node:fs";

import { diagnose } from "#adapters/db/engine/diagnosis.ts";
import { migrationState } from "#adapters/db/engine/migration-state.ts";
import { openStore } from "#adapters/db/open.ts";
import type { Administration } from "#adapters/db/stores/store.ts";
import { systemClock, systemRandom } from "#adapters/system.ts";
import type { Store } from "#domain/store.ts";
import { lookFromOutside } from "#test/support/instances/outside-look.ts";
import { certificate, issue } from "#test/support/stores/records.ts";
import { sqliteDatabase, startWriter } from "#test/support/stores/stores.ts";
import { until } from "#test/support/until.ts";
import { wholeChain } from "#test/contracts/store-durable.suite.ts";

const opened: Store[] = [];
afterEach(async () => {
  for (const store of opened.splice(0)) await store.close();
});

async function stored() {
  const database = sqliteDatabase();
  const faults: string[] = [];
  const store = await database.open({ onFault: (sentence) => void faults.push(sentence) });
  opened.push(store);
  const row = certificate();
  await issue(store, row);
  return { database, store, row, faults };
}

/**
 * What the kernel says this process has locked of a file: `READ` or `WRITE`, and the first byte.
 */
const locksOn = (path: string, pid = process.pid): readonly string[] =>
  readFileSync("/proc/locks", "utf8")
    .split("\n")
    .map((line) => line.split(/\s+/))
    .filter((words) => words[4] === String(pid) && words[1] === "POSIX")
    .filter((words) => words[5]?.endsWith(`:${statSync(path).ino}`))
    .map((words) => `${words[3]} ${words[6]}`);

/** Where SQLite's readers lock a database, and the connection its log's index. */
const sharedLock = "READ 1073741826";
const indexLock = "READ 128";

const everyLook: readonly [string, (target: string, store: Store & Administration) => unknown][] = [
  ["has been opened", () => {}],
  ["has shown a view", (_, store) => store.read.revocations.view(async () => {})],
  ["was looked at by another connection of the process", (target) => openAndClose(target)],
  ["was diagnosed", (path) => diagnose({ driver: "sqlite", path, busy_timeout_ms: 100 })],
  [
    "was asked for its schema",
    (path) => migrationState({ driver: "sqlite", path, busy_timeout_ms: 100 }),
  ],
];

function openAndClose(target: string): void {
  const database = new Database(target);
  database.query("select count(*) from certificates").get();
  database.close();
}

test.each(everyLook)("a store that %s holds its locks on database and log", async (_, act) => {
  const { database, store } = await stored();
  await act(database.target, store);
  expect(locksOn(database.target)).toContain(sharedLock);
  expect(locksOn(`${database.target}-shm`)).toContain(indexLock);
});

test("an outside look leaves the log where it is", async () => {
  const { database, store, row } = await stored();
  const before = statSync(`${database.target}-wal`).ino;
  lookFromOutside(database.target);
  expect(statSync(`${database.target}-wal`).ino).toBe(before);
  await store.ping();
  expect(await store.read.certificates.bySerial(row.caId, row.serial)).toEqual(row);
});

test("looks from outside during load and a kill lose nothing that was acknowledged", async () => {
  const database = sqliteDatabase();
  // Made by the writer: a lock of this process would keep the log, too.
  const writer = startWriter(database.target, 8);
  const issued = () => writer.said.filter((line) => line.startsWith("issued "));
  for (let looks = 1; looks <= 10; looks++) {
    await until(() => issued().length > 100 * looks);
    lookFromOutside(database.target);
  }
  const before = issued().length;
  await until(() => issued().length > before + 200);
  await writer.kill();
  const store = await database.open();
  opened.push(store);
  const serials = new Set((await wholeChain(store)).map(({ serial }) => serial));
  const lost = issued().filter((line) => !serials.has(line.replace("issued ", "")));
  expect(lost).toEqual([]);
}, 60_000);

test("a log that is taken away ends writing, is told once, and is folded in when the store closes", async () => {
  const { database, store, row, faults } = await stored();
  rmSync(`${database.target}-wal`);
  for (let n = 0; n < 2; n++) {
    await expect(issue(store, certificate())).rejects.toMatchObject({
      code: "storage_unavailable",
    });
    await expect(store.ping()).rejects.toThrow();
  }
  expect(faults.filter((sentence) => sentence.includes("taken away"))).toHaveLength(1);
  // A new snapshot would be one of another log.
  await expect(store.read.revocations.view(async () => {})).rejects.toMatchObject({
    code: "storage_unavailable",
  });
  // Who only asks is still told the truth.
  expect(await store.read.certificates.bySerial(row.caId, row.serial)).toEqual(row);
  await store.close();
  opened.length = 0;
  const again = await database.open();
  opened.push(again);
  expect(await again.read.certificates.bySerial(row.caId, row.serial)).toEqual(row);
  await issue(again, certificate());
});

test("a removed log is copied into the database file when that is noticed, so that a crash loses nothing", async () => {
  const { database, store, row, ...noticed } = await stored();
  rmSync(`${database.target}-wal`);
  await expect(store.ping()).rejects.toThrow();
  // The disk as a SIGKILL of this process would leave it.
  copyFileSync(database.target, `${database.target}.crashed`);
  const crashed = new Database(`${database.target}.crashed`, { readonly: true });
  const found = crashed.query("select serial from certificates").values();
  crashed.close();
  expect(found.flat()).toContain(row.serial);
  expect(noticed.faults.filter((message) => message.includes("copied into"))).toHaveLength(1);
});

test("a log that another program has begun anew is not written over", async () => {
  const { database, store } = await stored();
  const files = ["", "-wal", "-shm"].map((end) => `${database.target}${end}`);
  for (const file of files.slice(1)) rmSync(file);
  const other = Bun.spawn([process.execPath, "-e", intruder, database.target], {
    stdin: "pipe",
    stdout: "pipe",
    stderr: "inherit",
  });
  await other.stdout.getReader().read();
  const theirs = Bun.hash(readFileSync(`${database.target}-wal`));
  await expect(issue(store, certificate())).rejects.toMatchObject({ code: "storage_unavailable" });
  await store.close();
  opened.length = 0;
  expect(Bun.hash(readFileSync(`${database.target}-wal`))).toBe(theirs);
  other.kill("SIGKILL");
  await other.exited;
});

/** Writes, says so, and stays. */
const intruder = `const { Database } = await import("bun:sqlite");
  const database = new Database(process.argv[1]);
  database.run("create table theirs (x)");
  console.log("written");
  setInterval(() => {}, 1000);`;

test.each([
  ["removed", (path: string) => rmSync(path)],
  ["renamed", (path: string) => renameSync(path, `${path}.away`)],
  [
    "replaced by a copy",
    (path: string) => {
      copyFileSync(path, `${path}.copy`);
      renameSync(`${path}.copy`, path);
    },
  ],
  ["robbed of its log's index", (path: string) => rmSync(`${path}-shm`)],
])("a database that is %s ends writing", async (_, act) => {
  const { database, store } = await stored();
  act(database.target);
  await expect(issue(store, certificate())).rejects.toMatchObject({ code: "storage_unavailable" });
  await expect(store.ping()).rejects.toThrow();
});

test("nobody has to ask: a look once a second tells that the log is gone", async () => {
  const { database, faults } = await stored();
  rmSync(`${database.target}-wal`);
  await until(() => faults.length > 0);
  expect(faults[0]).toContain("taken away");
});

test("a database behind a symbolic link is watched where it lies", async () => {
  const database = sqliteDatabase();
  await (await database.open()).close();
  const link = `${database.target}-link`;
  symlinkSync(database.target, link);
  const options = { driver: "sqlite", path: link, busy_timeout_ms: 5000 } as const;
  const store = await openStore(options, { clock: systemClock, random: systemRandom });
  opened.push(store);
  await issue(store, certificate());
  rmSync(`${database.target}-wal`);
  await expect(store.ping()).rejects.toThrow();
});
