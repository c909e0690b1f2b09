/**
 * A SQLite database has one server, whatever name each knows it by; who comes second is told who
 * was first.
 */

import { afterEach, expect, test } from "bun:test";
import {
  closeSync,
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { dirname, join } from "node:path";

import { lockByte } from "#adapters/db/engine/byte-lock.ts";
import { openStore } from "#adapters/db/open.ts";
import { systemClock, systemRandom } from "#adapters/system.ts";
import { until } from "#test/support/until.ts";
import { certificate, issue, noon } from "#test/support/stores/records.ts";
import { sqliteDatabase, startWriter } from "#test/support/stores/stores.ts";

const writers: ReturnType<typeof startWriter>[] = [];
afterEach(async () => {
  for (const writer of writers.splice(0)) await writer.kill();
});

const open = (path: string) =>
  openStore(
    { driver: "sqlite", path, busy_timeout_ms: 1000 },
    { clock: systemClock, random: systemRandom },
  );

/** A process that issues without pause on a new database. */
async function served() {
  const { target } = sqliteDatabase();
  const writer = startWriter(target, 2);
  writers.push(writer);
  await until(() => writer.said.length > 10);
  return { target, writer };
}

const elsewhere = (target: string): string => {
  const folder = join(dirname(target), "elsewhere");
  mkdirSync(folder);
  return join(folder, "other.db");
};

// The note lies beside the name the first one used; without it the kernel knows who has the file
// open.
const names: readonly [string, (target: string) => string][] = [
  ["the same name", (target) => target],
  [
    "a symbolic link",
    (target) => {
      symlinkSync(target, `${target}-link`);
      return `${target}-link`;
    },
  ],
  [
    "a second name in another folder",
    (target) => {
      const other = elsewhere(target);
      linkSync(target, other);
      return other;
    },
  ],
  [
    "a new name",
    (target) => {
      const other = elsewhere(target);
      renameSync(target, other);
      return other;
    },
  ],
];

test.each(names)(
  "a database that is served is refused under %s, and the holder named",
  async (_, by) => {
    const { target, writer } = await served();
    const refusal = expect.stringContaining(`process ${writer.pid}`);
    await expect(open(by(target))).rejects.toMatchObject({ reason: "in_use", message: refusal });
  },
);

test("whoever was refused leaves the first one its locks and its log", async () => {
  const { target, writer } = await served();
  await expect(open(target)).rejects.toMatchObject({ reason: "in_use" });
  const before = writer.said.length;
  await until(() => writer.said.length > before + 20);
  await writer.kill();
  const store = await open(target);
  expect(
    (await store.read.certificates.page({ caId: certificate().caId, now: noon }, 1)).total,
  ).toBeGreaterThan(20);
  await store.close();
});

test("another database with the log of one that is served is refused, and the log is left alone", async () => {
  const { target, writer } = await served();
  copyFileSync(target, `${target}.restored`);
  renameSync(`${target}.restored`, target);
  await expect(open(target)).rejects.toMatchObject({
    reason: "in_use",
    message: expect.stringContaining(`${target}-wal`),
  });
  await until(() => writer.said.at(-1)?.startsWith("refused") === true);
});

test("within one process, too: the second store is refused, the first goes on", async () => {
  const { target } = sqliteDatabase();
  const first = await open(target);
  await expect(open(target)).rejects.toMatchObject({ reason: "in_use" });
  await issue(first, certificate());
  await first.close();
  await (await open(target)).close();
});

test("where the holder cannot be written down a database is served all the same", async () => {
  const { target } = sqliteDatabase();
  mkdirSync(`${target}-holder`);
  const store = await open(target);
  await issue(store, certificate());
  await expect(open(target)).rejects.toMatchObject({ reason: "in_use" });
  await store.close();
});

test("a process that was killed holds nothing", async () => {
  const { target, writer } = await served();
  await writer.kill();
  await (await open(target)).close();
  expect(existsSync(`${target}-holder`)).toBe(true);
  rmSync(`${target}-holder`);
});

test("the lock belongs to the open file: SQLite's locks and other descriptors neither meet nor drop it", async () => {
  const { target } = sqliteDatabase();
  const file = openSync(target, "w+");
  expect(lockByte(file)).toBe("taken");
  const second = openSync(target, "r+");
  expect(lockByte(second)).toBe("held");
  closeSync(second);
  const third = openSync(target, "r+");
  expect(lockByte(third)).toBe("held");
  closeSync(file);
  expect(lockByte(third)).toBe("taken");
  closeSync(third);
});
