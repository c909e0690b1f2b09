/**
 * SQLite answers at once, and yet no number of its answers in a row keeps others from being served.
 */

import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { sql } from "drizzle-orm";

import type { Connection } from "#adapters/db/engine/connection.ts";
import { TurnShare } from "#core/turns.ts";
import { connectionOn } from "#test/support/stores/stores.ts";

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
