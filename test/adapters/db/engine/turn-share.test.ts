/**
 * SQLite answers at once, and yet no number of its answers in a row keeps others from being served.
 */

import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { sql } from "drizzle-orm";

import type { Connection } from "#adapters/db/engine/connection.ts";
import { openSqlite } from "#adapters/db/engine/sqlite.ts";
import { TurnShare } from "#core/turns.ts";
import { connectionOn, sqliteDatabase } from "#test/support/stores/stores.ts";

const ways: readonly [string, (connection: Connection) => unknown][] = [
  ["a query that was built", ({ db }) => db.values(sql`select 1`)],
  ["a row", ({ row }) => row("select 1", [])],
  ["rows", ({ rows }) => rows("select 1", [])],
  ["a change", ({ run }) => run("insert into things values (?)", [1])],
];

for (const [name, ask] of ways) {
  test(`a loop over ${name} is cut into turns of ten milliseconds`, async () => {
    const database = new Database(":memory:");
    database.run("create table things (n integer)");
    // Every look at this clock takes a millisecond, and there is one before every statement.
    let now = 0;
    const connection = connectionOn(database, new TurnShare(() => now++));
    let [turn, over] = [0, false];
    const count = () => {
      turn++;
      if (!over) setImmediate(count);
    };
    setImmediate(count);
    const inTurn = new Map<number, number>();
    for (let asked = 0; asked < 200; asked++) {
      await ask(connection);
      inTurn.set(turn, (inTurn.get(turn) ?? 0) + 1);
    }
    over = true;
    expect(Math.max(...inTurn.values())).toBeLessThanOrEqual(12);
  });
}

test("what is written waits for nobody who reads, and the other way round", async () => {
  const engine = openSqlite({
    driver: "sqlite",
    path: sqliteDatabase().target,
    busy_timeout_ms: 1000,
  });
  const { reader, writer, readShare } = engine;
  Object.defineProperty(readShare, "spent", { value: true });
  const held = Promise.withResolvers<void>();
  readShare.mine = () => held.promise;
  const read = Promise.resolve(reader.row("select 1", []));
  let answered = false;
  void read.then(() => {
    answered = true;
  });
  for (let statement = 0; statement < 100; statement++) await writer.row("select 2", []);
  expect(answered).toBe(false);
  held.resolve();
  expect(await read).toEqual([1]);
  await engine.close();
});
