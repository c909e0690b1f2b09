/**
 * The access log under load: a thread writes it, between other units of work, and nothing is lost
 * when it dies.
 */

import { afterEach, expect, test } from "bun:test";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { openStore } from "#adapters/db/open.ts";
import { systemClock, systemRandom } from "#adapters/system.ts";
import { instant } from "#core/time.ts";
import { loggedRows } from "#test/support/stores/access-log-rows.ts";
import { until } from "#test/support/until.ts";
import type { AccessLogRow } from "#domain/audit/store.ts";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

const row = (n: number): AccessLogRow => ({
  at: instant(1_700_000_000_000 + n),
  requestId: `r${n}`,
  subject: n % 2 ? "root" : "",
  method: "GET",
  route: "/a/{id}",
  path: `/a/${n} é\0x`,
  status: 200,
  durationMs: n % 7,
  bytesOut: n,
  ip: "192.0.2.1",
  userAgent: n % 3 ? "" : "ägent",
});

async function opened(workerUrl: string) {
  const folder = mkdtempSync(join(tmpdir(), "pkid-access-log-"));
  folders.push(folder);
  const path = join(folder, "pkid.db");
  const faults: string[] = [];
  const store = await openStore(
    { driver: "sqlite", path, busy_timeout_ms: 5000 },
    {
      clock: systemClock,
      random: systemRandom,
      workerUrl,
      onFault: (sentence) => faults.push(sentence),
    },
  );
  return { store, path: join(folder, "access-log.db"), faults };
}

const main = new URL("../../../../src/main.ts", import.meta.url).href;

test("every row arrives once, in order and as it was, while other units are written too", async () => {
  const { store, path, faults } = await opened(main);
  const units: Promise<unknown>[] = [];
  for (let n = 0; n < 6200; n++) {
    store.logAccess(row(n));
    if (n % 100 === 0) {
      units.push(store.atomically((tx) => tx.instance.add("counter", 1)));
      await Bun.sleep(0);
    }
  }
  await Promise.all(units);
  await store.close();
  const rows = loggedRows(path);
  expect(rows).toHaveLength(6200);
  expect([faults, store.droppedAccessRows()]).toEqual([[], 0]);
  for (const n of [0, 1, 499, 500, 3333, 6199]) {
    expect(rows[n]).toMatchObject({
      at: 1_700_000_000_000 + n,
      requestId: `r${n}`,
      subject: n % 2 ? "root" : "",
      path: `/a/${n} éx`,
      status: 200,
      durationMs: n % 7,
      bytesOut: n,
      userAgent: n % 3 ? "" : "ägent",
    });
  }
}, 20_000);

test("rows that come after a rest are written by another thread, and none is lost", async () => {
  const { store, path, faults } = await opened(main);
  for (let round = 0; round < 3; round++) {
    for (let n = 0; n < 1200; n++) store.logAccess(row(round * 1200 + n));
    await until(async () => {
      const { total } = await store.read.accessLog.page({}, 1);
      return total >= round * 1200 + 1000;
    });
    store.rest();
  }
  await store.close();
  expect(loggedRows(path)).toHaveLength(3600);
  expect([faults, store.droppedAccessRows()]).toEqual([[], 0]);
}, 20_000);

test.each(["file:///nowhere/main.ts", "no address at all"])(
  "a thread that cannot run costs a word in the log, and no row: %s",
  async (url) => {
    const { store, path, faults } = await opened(url);
    for (let n = 0; n < 1700; n++) store.logAccess(row(n));
    await store.close();
    expect(loggedRows(path)).toHaveLength(1700);
    expect(new Set(faults).size).toBe(1);
    expect(store.droppedAccessRows()).toBe(0);
  },
  20_000,
);

test("damage that the thread finds is told, as any other", async () => {
  const { store, path, faults } = await opened(main);
  writeFileSync(path, Buffer.alloc(8192, "x"));
  for (let n = 0; n < 500; n++) store.logAccess(row(n));
  while (faults.length === 0) await Bun.sleep(5);
  await store.close();
  expect(faults).toEqual([expect.stringContaining("set aside")]);
  expect([existsSync(`${path}.damaged`), loggedRows(path).length]).toEqual([true, 500]);
});
