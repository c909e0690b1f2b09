/**
 * The access log read in slices says what it says read as a whole, whatever is asked and wherever
 * slices end.
 */

import { Database } from "bun:sqlite";
import { afterAll, beforeAll, expect, test } from "bun:test";
import { dirname, join } from "node:path";
import fc from "fast-check";

import { accessLogReads } from "#adapters/db/stores/access-log-reads.ts";
import { instant } from "#core/time.ts";
import type { AccessLogFilter, AccessLogRow, LoggedRequest } from "#domain/audit/store.ts";
import type { PageKey } from "#domain/page.ts";
import { openMemoryStore } from "#test/support/memory/store.ts";
import { sqliteDatabase, connectionOn } from "#test/support/stores/stores.ts";

const database = sqliteDatabase();
const model = openMemoryStore();
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
  for (const row of rows) {
    store.logAccess(row);
    model.logAccess(row);
  }
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
        const sliced = accessLogReads(connectionOn(connection), of);
        expect(await walk((after) => sliced.page(filter, limit, after))).toEqual(
          await walk((after) => model.read.accessLog.page(filter, limit, after)),
        );
      },
    ),
    { numRuns: 60 },
  );
});
