/**
 * The log of a database that is written all the time is folded into it while it is short, since a
 * fold keeps others waiting.
 */

import { statSync } from "node:fs";

import { expect, test } from "bun:test";

import { instant } from "#core/time.ts";
import { sqliteDatabase } from "#test/support/stores/stores.ts";

test("many small commits never leave more than some megabytes of log", async () => {
  const database = sqliteDatabase();
  const store = await database.open();
  const detail = { kind: "access_log", from: "f".repeat(900), to: undefined, rows: 1 };
  const event = { actor: "a", action: "audit.export", result: "success", detail } as const;
  let longest = 0;
  for (let round = 0; round < 400; round++) {
    await store.atomically(async (tx) => {
      for (let n = 0; n < 20; n++) await tx.audit.appendEvent(event, instant(1_800_000_000_000));
    });
    const { size } = statSync(`${database.target}-wal`);
    longest = Math.max(longest, size);
  }
  await store.close();
  expect(longest).toBeLessThan(10 * 1024 * 1024);
});
