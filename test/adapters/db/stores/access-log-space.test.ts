/** Bounds of the access log: its size, and the free space of its volume. */

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { Database } from "bun:sqlite";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { AccessLogFile } from "#adapters/db/stores/access-log-file.ts";
import { packOf } from "#adapters/db/stores/access-log-packs.ts";
import { RowLimit } from "#adapters/db/stores/access-log-row-limit.ts";
import type { SpaceLimits } from "#adapters/db/stores/access-log-space.ts";
import { addSeconds } from "#core/time.ts";
import { plainRow } from "#test/support/stores/access-log-rows.ts";
import { noon } from "#test/support/stores/records.ts";
import { postgresDatabase } from "#test/support/stores/stores.ts";
import { sharePostgres } from "#test/support/servers/postgres.ts";
import { until } from "#test/support/until.ts";

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "access-log-"));
  path = join(folder, "access-log.db");
});
afterEach(() => rmSync(folder, { recursive: true }));

const mebibyte = 1024 ** 2;

/** Opens the file and returns a function that writes packs of 500 rows with random paths. */
function open(space: SpaceLimits) {
  const options = { path, busyTimeoutMs: 1000, folds: true, space };
  const file = new AccessLogFile(options);
  let at = 0;
  const write = (packs: number): number => {
    let trimCount = 0;
    for (let n = 0; n < packs; n++) {
      const rows = Array.from({ length: 500 }, () => ({
        ...plainRow(addSeconds(noon, at++)),
        path: `/${Buffer.from(crypto.getRandomValues(new Uint8Array(700))).toString("base64url")}`,
      }));
      trimCount += file.insert(packOf(rows));
    }
    return trimCount;
  };
  return { file, write };
}

/** Returns rows, and the times of the oldest and the newest, as the file has them. */
function readRows() {
  const database = new Database(path, { readonly: true });
  const text = "select sum(rows) as rows, min(oldest) as oldest, max(newest) as newest from ";
  const row = database.query(`${text}access_packs`).get();
  database.close();
  return row as { readonly rows: number; readonly oldest: number; readonly newest: number };
}

describe("the file of the access log", () => {
  test("the file stays within its bound, however many rows are written, and the oldest go first", () => {
    const { file, write } = open({ bytesMax: 4 * mebibyte });
    const trimmed = write(60);
    const { rows, oldest, newest } = readRows();
    expect(rows + trimmed).toBe(30_000);
    expect(trimmed).toBeGreaterThan(0);
    expect([oldest, newest]).toEqual([addSeconds(noon, trimmed), addSeconds(noon, 29_999)]);
    file.close();
    expect(statSync(path).size).toBeLessThan(6 * mebibyte);
  });

  test("the file loses no row while there is space", () => {
    const { file, write } = open({});
    expect(write(5)).toBe(0);
    expect(readRows().rows).toBe(2500);
    file.close();
  });

  test("the file shrinks, and returns its space, when too little is free on the volume", () => {
    const large = open({});
    large.write(120);
    large.file.close();
    const before = statSync(path).size;
    // More than any volume has.
    const { file, write } = open({ bytesFree: 2 ** 60 });
    expect(write(20)).toBe(60_000 + 19 * 500);
    expect(readRows().rows).toBe(500);
    file.close();
    expect(statSync(path).size).toBeLessThan(before / 2);
  });

  test("a file of an earlier version loses its single rows first", () => {
    const { file, write } = open({});
    write(1);
    file.close();
    const database = new Database(path);
    for (let n = 0; n < 10; n++) {
      database.run(
        `insert into access_log (at, request_id, subject, method, route, path, status, duration_ms,
          bytes_out, ip, user_agent) values (?, '', '', 'GET', '/', '/', 200, 1, 1, '', '')`,
        [n],
      );
    }
    database.close();
    const tight = open({ bytesMax: 1 });
    expect(tight.write(1)).toBe(10);
    expect(tight.write(1)).toBe(1000);
    tight.file.close();
  });
});

test("the table of the access log has as many rows as its bytes allow", async () => {
  const queries: (readonly unknown[])[] = [];
  const writer = {
    run: async (_: string, values: readonly unknown[]) => {
      queries.push(values);
      return queries.length === 1 ? 2000 : 0;
    },
  };
  const limit = new RowLimit(writer, { rows: 5_000_000, bytes: 1_000_000_000 });
  const rows = Array.from({ length: 500 }, () => ({ ...plainRow(noon), path: "x".repeat(800) }));
  for (let n = 0; n < 9; n++) await limit.trim(rows);
  expect(queries).toHaveLength(0);
  await limit.trim(rows);
  expect(queries).toHaveLength(1);
  // As long as rows are beyond the bound, every insertion deletes some.
  await limit.trim(rows);
  expect(limit.trimCount).toBe(2000);
  for (let n = 0; n < 200; n++) await limit.trim(rows);
  const [most] = queries.at(-1) ?? [];
  expect(Number(most)).toBeGreaterThan(900_000);
  expect(Number(most)).toBeLessThan(1_100_000);
});

test("the table of the access log loses its oldest rows beyond the bound on PostgreSQL", async () => {
  const database = await postgresDatabase(await sharePostgres());
  const store = await database.open();
  for (let n = 0; n < 1000; n++) store.logAccess(plainRow(addSeconds(noon, n)));
  await until(async () => (await database.accessRows()).length === 1000);
  await store.close();
  const run = async (text: string, [most, limit]: readonly unknown[]) => {
    const statement = text.replace("$1", String(most)).replace("$2", String(limit));
    return (await database.query(`${statement} returning id`)).length;
  };
  const limit = new RowLimit({ run }, { rows: 300, bytes: 1e9 });
  await limit.trim(Array.from({ length: 5000 }, () => plainRow(noon)));
  const left = await database.accessRows();
  expect([limit.trimCount, left.length, left[0]?.at]).toEqual([700, 300, addSeconds(noon, 700)]);
}, 60_000);
