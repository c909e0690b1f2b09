/** The log of a busy database is copied into it by another thread, while commits go on. */

import { Database } from "bun:sqlite";
import { existsSync, renameSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

import { expect, test } from "bun:test";

import { instant } from "#core/time.ts";
import { Checkpoints } from "#adapters/db/engine/checkpoints.ts";
import { CheckpointThread } from "#adapters/db/engine/checkpoint-thread.ts";
import { isWriteFault } from "#adapters/db/engine/faults.ts";
import { fileIdentity } from "#adapters/db/engine/sqlite-files.ts";
import { nothingWritten, type Store } from "#domain/store.ts";
import { sqliteDatabase } from "#test/support/stores/stores.ts";

const workerUrl = new URL("../../../../src/main.ts", import.meta.url).href;
const detail = { kind: "access_log", from: "f".repeat(900), to: undefined, rows: 1 };
const event = { actor: "a", action: "audit.export", result: "success", detail } as const;

async function write(store: Store, units: number): Promise<void> {
  for (let unit = 0; unit < units; unit++) {
    await store.atomically(async (tx) => {
      for (let n = 0; n < 20; n++) await tx.audit.appendEvent(event, instant(1_800_000_000_000));
    });
  }
}

const rowsIn = (target: string) => {
  const database = new Database(target, { readonly: true });
  const [[events] = [], [verdict] = []] = [
    "select count(*) from events",
    "pragma integrity_check",
  ].flatMap((text) => database.query(text).values());
  database.close();
  return { events, verdict };
};

test("the log begins anew under load, nothing committed is missing, and closing leaves no log", async () => {
  const { target, open } = sqliteDatabase();
  const told: string[] = [];
  const store = await open({ workerUrl, onFault: (sentence) => void told.push(sentence) });
  let written = 0;
  // However slow the thread is: until the log was begun anew after it had been long.
  for (let longest = 0, at = 0; at >= longest || longest < 8_000_000; ) {
    await write(store, 10);
    written += 200;
    at = logPosition(target);
    longest = Math.max(longest, at);
  }
  await store.close();
  // Before anything else opens the database, and makes a log again.
  expect(statSync(`${target}-wal`, { throwIfNoEntry: false })).toBeUndefined();
  expect(told).toEqual([]);
  expect(rowsIn(target)).toEqual({ events: written, verdict: "ok" });
}, 60_000);

test("at rest the thread ends, and the next checkpoint has another", async () => {
  const { target } = database();
  const failed: Error[] = [];
  const job = { checkpoints: { path: target, identity: fileIdentity(target) } };
  const thread = new CheckpointThread(workerUrl, job, (error) => void failed.push(error));
  const holder = new Database(target);
  for (const round of [1, 2]) {
    holder.run("insert into t values (?)", [round]);
    void thread.begin();
    // Closing waits for the checkpoint that was asked for before.
    await thread.close();
    expect(uncopied(holder)).toBe(0);
  }
  await thread.close();
  holder.close();
  expect(failed).toEqual([]);
}, 30_000);

test("closing waits for every thread that has the database open, also one told to end before", async () => {
  const { target } = database();
  const slow = join(dirname(target), "slow.ts");
  const marker = join(dirname(target), "ended");
  await Bun.write(slow, slowThread(marker));
  const job = { checkpoints: { path: target, identity: fileIdentity(target) } };
  const thread = new CheckpointThread(Bun.pathToFileURL(slow).href, job, () => {});
  void thread.begin();
  void thread.close();
  expect(existsSync(marker)).toBe(false);
  await thread.close();
  expect(existsSync(marker)).toBe(true);
}, 30_000);

test("a fault that the thread tells of in the middle of a batch keeps it from being acknowledged", async () => {
  const { target, open } = sqliteDatabase();
  const broken = join(dirname(target), "broken.ts");
  const marker = join(dirname(target), "break");
  await Bun.write(broken, brokenThread(marker));
  const told = Promise.withResolvers<string>();
  const workerUrl = Bun.pathToFileURL(broken).href;
  const store = await open({ workerUrl, onFault: (sentence) => told.resolve(sentence) });
  while (logPosition(target) < 9_000_000) await write(store, 10);
  const during = store.atomically(async (tx) => {
    await tx.instance.setValue("name", "value");
    await Bun.write(marker, "");
    expect(await told.promise).toContain("a write of the database failed");
  });
  const error: unknown = await during.catch((caught: unknown) => caught);
  expect(error).toMatchObject({ code: "storage_unavailable" });
  expect(nothingWritten(error)).toBe(true);
  // The database is found to hold what was acknowledged, and goes on.
  await write(store, 1);
  expect(await store.read.instance.value("name")).toBeUndefined();
  await store.close();
}, 30_000);

/** A thread whose checkpoint SQLite refuses once the mark is there. */
const brokenThread = (marker: string) => `
  import { existsSync } from "node:fs";
  import { parentPort } from "node:worker_threads";
  parentPort.on("message", async (asked) => {
    if (asked !== "checkpoint") return parentPort.close();
    while (!existsSync(${JSON.stringify(marker)})) await Bun.sleep(1);
    parentPort.postMessage({ message: "disk I/O error", code: "SQLITE_IOERR" });
    parentPort.close();
  });`;

/** A thread that has something to finish when it is told to end, and leaves a mark then. */
const slowThread = (marker: string) => `
  import { parentPort } from "node:worker_threads";
  import { writeFileSync } from "node:fs";
  parentPort.on("message", async (asked) => {
    if (asked !== "end") return;
    await Bun.sleep(300);
    writeFileSync(${JSON.stringify(marker)}, "");
    parentPort.close();
  });`;

test("a file that has taken the place of the open one is not touched", async () => {
  const { target } = database();
  const holder = new Database(target);
  const identity = fileIdentity(target);
  renameSync(target, `${target}.moved`);
  writeFileSync(target, "something else");
  const failed = Promise.withResolvers<Error>();
  const job = { checkpoints: { path: target, identity } };
  void new CheckpointThread(workerUrl, job, failed.resolve).begin();
  expect((await failed.promise).message).toContain("is not the file that is open");
  expect(await Bun.file(target).text()).toBe("something else");
  holder.close();
}, 30_000);

test("a thread that cannot be had is told, and no fault of the database", async () => {
  const { target } = database();
  const job = { checkpoints: { path: target, identity: fileIdentity(target) } };
  const failed: Error[] = [];
  const thread = new CheckpointThread("no address", job, (error) => void failed.push(error));
  await thread.begin();
  await thread.close();
  expect(failed.map(({ message }) => message)).toEqual([
    "the thread of checkpoints does not start",
  ]);
  expect(failed.map(isWriteFault)).toEqual([false]);
});

/** A database with a log of one commit. */
function database() {
  const { target } = sqliteDatabase();
  const made = new Database(target, { create: true });
  made.run("pragma journal_mode = wal");
  made.run("create table t (n integer)");
  made.close();
  return { target };
}

const uncopied = (holder: Database): number => {
  const [[, pages, copied] = []] = holder.query("pragma wal_checkpoint(noop)").values();
  return Number(pages) - Number(copied);
};

/** Octets of the log that are in use. */
function logPosition(target: string): number {
  const reader = new Database(target, { readonly: true });
  try {
    reader.run("pragma busy_timeout = 5000");
    const [[, pages] = []] = reader.query("pragma wal_checkpoint(noop)").values();
    return Number(pages) * 4120;
  } finally {
    reader.close();
  }
}

/** A log of so many pages, of which so many are copied. */
function fakeLog(pages: number, copied: number) {
  const asked: string[] = [];
  const compiled = (text: string) => ({
    values: () => {
      asked.push(text);
      return [[0, pages, copied]];
    },
  });
  return { asked, connection: { compiled } as never }; // Nothing else of it is used.
}

const here = "pragma wal_checkpoint";
const look = "pragma wal_checkpoint(noop)";

/** With a thread of which only `begin` is known. */
function checkpoints() {
  const begun: string[] = [];
  const over = Promise.withResolvers<void>();
  const faults: unknown[] = [];
  let fail: (error: Error) => void = () => {};
  const all = new Checkpoints({
    thread: (failed) => {
      fail = failed;
      const thread: Pick<CheckpointThread, "begin" | "close"> = {
        begin: () => {
          begun.push("begun");
          return over.promise;
        },
        close: async () => {},
      };
      return thread as CheckpointThread; // Nothing else of it is used.
    },
    onFault: (error) => void faults.push(["database", error]),
    onThreadFault: (error) => void faults.push(["thread", error]),
  });
  return { all, begun, over, faults, fail: (error: Error) => fail(error) };
}

test("a small commit looks at the log only now and then, a large one at once", () => {
  const { all } = checkpoints();
  const { asked, connection } = fakeLog(100, 0);
  for (let n = 0; n < 20; n++) all.committed(2, connection);
  expect(asked).toEqual([]);
  all.committed(500, connection);
  expect(asked).toEqual([look]);
});

test.each([
  ["a short log stays as it is", 1999, 0, [look], 0],
  ["a long one is the thread's", 2000, 0, [look], 1],
  ["the little that came meanwhile is copied at once", 2600, 2400, [look, here], 0],
  ["a very long one is the thread's too", 90_000, 100, [look], 1],
])("%s", (_, pages, copied, asked, begun) => {
  const of = checkpoints();
  const log = fakeLog(pages, copied);
  of.all.committed(64, log.connection);
  expect([log.asked, of.begun.length]).toEqual([asked, begun]);
});

test("whoever is far ahead of the thread waits for it, and not for a view that keeps it from copying", async () => {
  const { all, over } = checkpoints();
  all.committed(64, fakeLog(7000, 100).connection);
  expect(all.behind).toBeUndefined();
  // Nothing was copied since.
  all.committed(64, fakeLog(9000, 100).connection);
  expect(all.behind).toBeUndefined();
  all.committed(64, fakeLog(12_000, 200).connection);
  const { behind } = all;
  expect(behind).toBeDefined();
  over.resolve();
  await behind;
  expect(all.behind).toBeUndefined();
});

test("a checkpoint that is under way is over when the thread has made it, or is told to end", async () => {
  const { target } = database();
  const job = { checkpoints: { path: target, identity: fileIdentity(target) } };
  const thread = new CheckpointThread(workerUrl, job, () => {});
  const holder = new Database(target);
  holder.run("insert into t values (1)");
  const first = thread.begin();
  expect(thread.begin()).toBe(first);
  await first;
  expect(uncopied(holder)).toBe(0);
  const second = thread.begin();
  void thread.close();
  await second;
  await thread.close();
  holder.close();
}, 30_000);

test("what SQLite refuses the thread is the database's fault, anything else the thread's, and the next is made here", () => {
  const of = checkpoints();
  const full = Object.assign(new Error("full"), { code: "SQLITE_FULL" });
  const gone = new Error("the thread ended");
  of.fail(full);
  of.fail(gone);
  expect(of.faults).toEqual([
    ["database", full],
    ["thread", gone],
  ]);
  const log = fakeLog(2000, 0);
  of.all.committed(64, log.connection);
  expect([log.asked, of.begun]).toEqual([[look, here], []]);
  of.all.committed(64, log.connection);
  expect(of.begun).toEqual(["begun"]);
});
