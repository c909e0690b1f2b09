/**
 * Another program's write lock is waited for in the turns of the event loop, never inside SQLite.
 */

import { expect, test } from "bun:test";
import { dirname, join } from "node:path";

import { openStore } from "#adapters/db/open.ts";
import { whenUnlocked } from "#adapters/db/engine/lock-wait.ts";
import { systemClock, systemRandom } from "#adapters/system.ts";
import { Problem } from "#core/problems.ts";
import type { Store } from "#domain/store.ts";
import { holdWriteLock } from "#test/support/stores/lock-holder.ts";
import { loggedRows } from "#test/support/stores/access-log-rows.ts";
import { sqliteDatabase } from "#test/support/stores/stores.ts";
import { plainRow } from "#test/support/stores/access-log-rows.ts";

const open = (path: string, busyTimeoutMs: number): Promise<Store> =>
  openStore(
    { driver: "sqlite", path, busy_timeout_ms: busyTimeoutMs },
    { clock: systemClock, random: systemRandom },
  );

const write = (store: Store, value: string) =>
  store.atomically((tx) => tx.instance.setValue("seen", value));

/** Turns of the event loop while `work` goes on. */
async function turnsWhile(work: Promise<unknown>): Promise<number> {
  let [turns, done] = [0, false];
  const end = () => {
    done = true;
  };
  work.then(end, end);
  while (!done) {
    await Bun.sleep(5);
    turns += 1;
  }
  return turns;
}

test("a writer that meets a foreign lock lets everything else go on, and is acknowledged after it", async () => {
  const path = sqliteDatabase().target;
  const store = await open(path, 60_000);
  await write(store, "before");
  const holder = await holdWriteLock(path);
  const written = write(store, "after");
  // With the thread asleep inside SQLite neither the timer nor the reads would come to their turn.
  for (let n = 0; n < 100; n++) {
    await Bun.sleep(10);
    expect(await store.read.instance.value("seen")).toBe("before");
  }
  await holder.letGo();
  await written;
  expect(await store.read.instance.value("seen")).toBe("after");
  await write(store, "more");
  await store.close();
}, 60_000);

test("who holds the lock for longer than the configured time has writes refused, and reads go on", async () => {
  const path = sqliteDatabase().target;
  const store = await open(path, 300);
  await write(store, "before");
  const holder = await holdWriteLock(path);
  const refused = write(store, "lost").catch((error: unknown) => error);
  expect(await turnsWhile(refused)).toBeGreaterThan(5);
  const problem = await refused;
  expect(problem).toBeInstanceOf(Problem);
  expect(Reflect.get(Object(problem), "code")).toBe("storage_unavailable");
  expect(await store.read.instance.value("seen")).toBe("before");
  await holder.letGo();
  await write(store, "after");
  expect(await store.read.instance.value("seen")).toBe("after");
  await store.close();
}, 60_000);

test("the access log waits the same way, and its rows are written after the lock", async () => {
  const path = sqliteDatabase().target;
  const file = join(dirname(path), "access-log.db");
  const store = await open(path, 60_000);
  const row = plainRow(systemClock.now());
  await store.pruneAccessLog(row.at);
  const holder = await holdWriteLock(file);
  store.logAccess(row);
  const pruned = store.pruneAccessLog(row.at);
  let done = false;
  void pruned.then(() => {
    done = true;
  });
  for (let n = 0; n < 100; n++) await Bun.sleep(10);
  expect([done, await store.read.instance.value("seen")]).toEqual([false, undefined]);
  await holder.letGo();
  await pruned;
  await store.close();
  expect(loggedRows(file)).toHaveLength(1);
}, 60_000);

test("what is no lock is thrown at once, and a lock after the time", async () => {
  let tries = 0;
  const failing = (code: string) => () => {
    tries += 1;
    throw Object.assign(new Error(code), { code });
  };
  await expect(whenUnlocked(failing("SQLITE_FULL"), 10_000)).rejects.toThrow("SQLITE_FULL");
  expect(tries).toBe(1);
  await expect(whenUnlocked(failing("SQLITE_BUSY"), 20)).rejects.toThrow("SQLITE_BUSY");
  expect(tries).toBeGreaterThan(2);
});
