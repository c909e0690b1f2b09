/**
 * The access log read in slices says what it says read as a whole, whatever is asked and wherever
 * slices end.
 */

import { Database } from "bun:sqlite";
import { afterAll, beforeAll, expect, test } from "bun:test";
import { dirname, join } from "node:path";
import fc from "fast-check";

import { packsAndRows } from "#adapters/db/stores/access-log-pack-reads.ts";
import { accessLogReads } from "#adapters/db/stores/access-log-reads.ts";
import { instant } from "#core/time.ts";
import type { AccessLogFilter, AccessLogRow, LoggedRequest } from "#domain/audit/store.ts";
import type { PageKey } from "#domain/page.ts";
import { selectPage } from "#test/support/stores/row-model.ts";
import { sqliteDatabase, connectionOn } from "#test/support/stores/stores.ts";
import { until } from "#test/support/until.ts";

const database = sqliteDatabase();
const rows: AccessLogRow[] = Array.from({ length: 80 }, (_, n) => ({
  at: instant(1000 * ((n * 7) % 80)),
  requestId: `r${n}`,
  method: "GET",
  route: "/",
  subject: ["", "root", "token:1"][n % 3] ?? "",
  status: [200, 404, 500][n % 5] ?? 201,
  path: `/${["api", "API", "ocsp"][n % 4] ?? "%"}/${n}`,
  durationMs: n,
  bytesOut: n,
  ip: "192.0.2.1",
  userAgent: "",
}));
let connection: Database;

beforeAll(async () => {
  const store = await database.open();
  for (const row of rows) store.logAccess(row);
  await store.close();
  connection = new Database(join(dirname(database.target), "access-log.db"));
});
afterAll(() => connection.close());

const second = fc.integer({ min: -1, max: 81 }).map((n) => instant(1000 * n));
const filters = fc.record<AccessLogFilter>(
  {
    subject: fc.constantFrom("", "root", "token:1", "nobody"),
    status: fc.constantFrom(200, 201, 404, 500, 100),
    pathPrefix: fc.constantFrom("/api", "/API", "/%", "/o", "/zzz", "/api/1"),
    from: second,
    to: second,
  },
  { requiredKeys: [] },
);

/** Returns the page that the filter selects when it reads every row. */
async function modelPage(filter: AccessLogFilter, limit: number, after: PageKey | undefined) {
  const { subject, status, pathPrefix = "", from = 0, to = Number.POSITIVE_INFINITY } = filter;
  const selected = rows
    .map((row, at) => ({ ...row, id: at + 1 }))
    .filter((row) => row.subject === (subject ?? row.subject))
    .filter((row) => row.status === (status ?? row.status))
    .filter((row) => row.path.startsWith(pathPrefix) && row.at >= from && row.at < to);
  return selectPage(selected, ({ id }) => ({ at: id, id: "" }), limit, after);
}

test("every page of every walk is the model's", async () => {
  const walk = async (
    page: (after: PageKey | undefined) => Promise<{
      items: readonly LoggedRequest[];
      next: PageKey | undefined;
      total: number;
    }>,
  ) => {
    const seen: unknown[] = [];
    for (let after: PageKey | undefined; ; ) {
      const { items, next, total } = await page(after);
      seen.push([items, total]);
      if (next === undefined) return seen;
      after = next;
    }
  };
  const slices = fc.integer({ min: 7, max: 100 });
  await fc.assert(
    fc.asyncProperty(
      filters,
      slices,
      fc.integer({ min: 9, max: 40 }),
      async (filter, of, limit) => {
        const sliced = accessLogReads(packsAndRows(connectionOn(connection)), of);
        expect(await walk((after) => sliced.page(filter, limit, after))).toEqual(
          await walk((after) => modelPage(filter, limit, after)),
        );
      },
    ),
    { numRuns: 60 },
  );
});

test("rows of a file from before there were packs are read with what came since, and pruned", async () => {
  const older = sqliteDatabase();
  const file = join(dirname(older.target), "access-log.db");
  const first = await older.open();
  first.logAccess(rowAt(1));
  await first.close();
  const tampering = new Database(file);
  tampering.run("delete from access_packs");
  tampering.run("update sqlite_sequence set seq = 0 where name = 'access_log'");
  const insert = `insert into access_log (at, request_id, subject, method, route, path, status,
    duration_ms, bytes_out, ip, user_agent) values (?, ?, '', 'GET', '/', '/', 200, 0, 0, '', '')`;
  for (let n = 0; n < 30; n++) tampering.run(insert, [1000 * n, `old${n}`]);
  tampering.close();

  const store = await older.open();
  for (let n = 30; n < 60; n++) store.logAccess(rowAt(n));
  await until(async () => (await store.read.accessLog.page({}, 1)).total === 60);
  const numbers = (items: readonly LoggedRequest[]) => items.map(({ id }) => id);
  const newest = await store.read.accessLog.page({}, 40);
  expect(numbers(newest.items)).toEqual(Array.from({ length: 40 }, (_, n) => 60 - n));
  const rest = await store.read.accessLog.page({}, 40, newest.next);
  expect(numbers(rest.items)).toEqual(Array.from({ length: 20 }, (_, n) => 20 - n));
  expect(rest.items[0]).toMatchObject({ at: 19_000, requestId: "old19" });
  await store.pruneAccessLog(instant(20_000));
  expect((await store.read.accessLog.page({}, 1)).total).toBe(40);
  await store.pruneAccessLog(instant(60_000));
  expect((await store.read.accessLog.page({}, 1)).total).toBe(0);
  store.logAccess(rowAt(60));
  await until(async () => (await store.read.accessLog.page({}, 1)).items[0]?.id === 61);
  await store.close();
});

test("rows written together stay until the last of them is due", async () => {
  const { store } = await writtenAtOnce([10, 30, 20]);
  await store.pruneAccessLog(instant(30_000));
  expect((await store.read.accessLog.page({}, 1)).total).toBe(3);
  expect((await store.read.accessLog.page({ to: instant(30_000) }, 1)).total).toBe(2);
  await store.pruneAccessLog(instant(30_001));
  expect((await store.read.accessLog.page({}, 1)).total).toBe(0);
  await store.close();
});

async function writtenAtOnce(seconds: readonly number[]) {
  const store = await sqliteDatabase().open();
  for (const n of seconds) store.logAccess(rowAt(n));
  await until(async () => (await store.read.accessLog.page({}, 1)).total === seconds.length);
  return { store };
}

const rowAt = (n: number): AccessLogRow => ({
  at: instant(1000 * n),
  requestId: `r${n}`,
  method: "GET",
  route: "/",
  subject: "",
  status: 200,
  path: "/",
  durationMs: 0,
  bytesOut: 0,
  ip: "",
  userAgent: "",
});
