/**
 * After a failed write SQLite's engine acknowledges nothing until the file, opened anew, holds what
 * memory says.
 */

import { Database } from "bun:sqlite";
import { afterEach, expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";

import type { Heads } from "#adapters/db/engine/journal.ts";
import { fillEmpty } from "#adapters/db/engine/heads.ts";
import { openSqlite, type SqliteEngine } from "#adapters/db/engine/sqlite.ts";
import { migrateSqlite } from "#adapters/db/engine/sqlite-migrate.ts";
import { systemClock, systemRandom } from "#adapters/system.ts";
import { sqliteDatabase } from "#test/support/stores/stores.ts";

const opened: SqliteEngine[] = [];
afterEach(async () => {
  for (const engine of opened.splice(0)) await engine.close();
});

async function engineThatFailed() {
  const { target } = sqliteDatabase();
  const told: string[] = [];
  const options = { driver: "sqlite", path: target, busy_timeout_ms: 1000 } as const;
  const engine = openSqlite(options, (sentence) => void told.push(sentence));
  opened.push(engine);
  const deps = { clock: systemClock, random: systemRandom };
  await migrateSqlite(engine, options, () => fillEmpty(engine.writer, deps));
  const heads: Heads = { ...(await engine.begin()) };
  await engine.writer.run("insert into instance (name, value) values ('a', '1')", []);
  await engine.commit(heads);
  await engine.begin();
  await engine.writer.run("insert into instance (name, value) values ('b', '2')", []);
  const failed = Object.assign(new Error("disk I/O error"), { code: "SQLITE_IOERR_FSYNC" });
  await engine.rollback(failed);
  return { engine, target, told };
}

/** Tries until it works; gives how often it was refused. */
async function begun(engine: SqliteEngine): Promise<number> {
  for (let refused = 0; ; refused++) {
    try {
      await engine.begin();
      return refused;
    } catch {
      await Bun.sleep(50);
    }
  }
}

const alter = (target: string, sql: string) => {
  const database = new Database(target);
  database.run(sql);
  database.close();
};

test("it stops at the fault, opens the file again, and goes on with what was committed and nothing else", async () => {
  const { engine, told } = await engineThatFailed();
  expect(engine.stopped).toBe(true);
  expect(await begun(engine)).toBe(0);
  expect(engine.stopped).toBe(false);
  const rows = await engine.writer.rows("select name from instance where name in ('a', 'b')", []);
  expect(rows).toEqual([["a"]]);
  await engine.rollback();
  expect(told).toEqual([
    expect.stringContaining("a write of the database failed"),
    expect.stringContaining("holds what was acknowledged"),
  ]);
});

test("the log is empty afterwards: what the failed write left in it cannot come back", async () => {
  const { engine, target } = await engineThatFailed();
  await begun(engine);
  await engine.rollback();
  expect(Bun.file(`${target}-wal`).size).toBe(0);
});

test.each([
  ["a revocation sequence that is behind", "update heads set revocation_sequence = -1", 0],
  ["an event that memory does not know", "update heads set event_seq = 7", 0],
])("%s keeps it stopped until the file is right again", async (_, wrong) => {
  const { engine, target } = await engineThatFailed();
  alter(target, "create table kept as select * from heads");
  alter(target, wrong);
  for (let n = 0; n < 3; n++) {
    await expect(engine.begin()).rejects.toMatchObject({ code: "storage_unavailable" });
    await Bun.sleep(210);
  }
  expect(engine.stopped).toBe(true);
  alter(target, "delete from heads");
  alter(target, "insert into heads select * from kept");
  await begun(engine);
  await engine.rollback();
});

test("a reader that holds the log is waited for, without holding up the thread", async () => {
  const { engine } = await engineThatFailed();
  const gate = Promise.withResolvers<void>();
  const view = engine.view(async (connection) => {
    await connection.rows("select * from instance", []);
    await gate.promise;
  });
  const began = performance.now();
  await expect(engine.begin()).rejects.toMatchObject({ code: "storage_unavailable" });
  expect(performance.now() - began).toBeLessThan(500);
  gate.resolve();
  await view;
  await begun(engine);
  await engine.rollback();
});

test("a full disk on which nothing can be removed either stops it like any other, and its callers are answered", async () => {
  const { engine, target } = await engineThatFailed();
  await begun(engine);
  mkdirSync(join(`${target}-reserve`, "kept"), { recursive: true });
  await engine.rollback(Object.assign(new Error("full"), { code: "SQLITE_FULL" }));
  expect(engine.stopped).toBe(true);
});

test("a lock of somebody else is no fault of the disk", async () => {
  const { engine } = await engineThatFailed();
  await begun(engine);
  await engine.rollback(Object.assign(new Error("locked"), { code: "SQLITE_BUSY" }));
  expect(engine.stopped).toBe(false);
});
