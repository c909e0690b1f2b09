/**
 * A fault may end SQLite's transaction by itself: what is left of the batch is then not written,
 * each statement for itself.
 */

import { Database } from "bun:sqlite";
import { afterEach, expect, test } from "bun:test";

import { fillEmpty } from "#adapters/db/engine/heads.ts";
import { Journal } from "#adapters/db/engine/journal.ts";
import { openSqlite, type SqliteEngine } from "#adapters/db/engine/sqlite.ts";
import { migrateSqlite } from "#adapters/db/engine/sqlite-migrate.ts";
import { systemClock, systemRandom } from "#adapters/system.ts";
import { NothingWritten } from "#domain/store.ts";
import { sqliteDatabase } from "#test/support/stores/stores.ts";

const opened: SqliteEngine[] = [];
afterEach(async () => {
  for (const engine of opened.splice(0)) await engine.close();
});

/**
 * An engine whose transaction ends when an event is written, as a disk that cannot be read would
 * end it.
 */
async function engineThatLosesEvents() {
  const { target } = sqliteDatabase();
  const options = { driver: "sqlite", path: target, busy_timeout_ms: 1000 } as const;
  const engine = openSqlite(options);
  opened.push(engine);
  const deps = { clock: systemClock, random: systemRandom };
  await migrateSqlite(engine, options, () => fillEmpty(engine.writer, deps));
  engine.database.run(
    "create trigger fault before insert on events begin select raise(rollback, 'fault'); end",
  );
  return { engine, target };
}

const stored = (target: string, sql: string): readonly unknown[] => {
  const database = new Database(target, { readonly: true });
  try {
    return database.query(sql).values();
  } finally {
    database.close();
  }
};

test("heads and ledger stay where they were when the events could not be written", async () => {
  const { engine, target } = await engineThatLosesEvents();
  const journal = new Journal({ connection: engine.writer, owner: 1, uuid: systemRandom.uuid });
  journal.begin(await engine.begin());
  await journal.appendEvent(
    { action: "config.load", result: "success", actor: "x" },
    systemClock.now(),
  );
  await journal.appendLedger({ kind: "genesis", timestamp: "2026-01-01T00:00:00.000Z" });
  await expect(journal.flush()).rejects.toThrow("fault");
  await Bun.sleep(10);
  expect(stored(target, "select event_seq, ledger_number from heads")).toEqual([[0, 0]]);
  expect(stored(target, "select count(*) from ledger")).toEqual([[0]]);
  await engine.rollback();
});

test("a unit that goes on after such a fault changes nothing, and the batch fails", async () => {
  const { engine, target } = await engineThatLosesEvents();
  const heads = await engine.begin();
  engine.database.run("rollback");
  const act = () => engine.writer.run("insert into instance (name, value) values ('a', '1')", []);
  expect(act).toThrow("transaction");
  await expect(engine.commit(heads)).rejects.toBeInstanceOf(NothingWritten);
  await engine.rollback();
  expect(stored(target, "select count(*) from instance where name = 'a'")).toEqual([[0]]);
});

test("a statement that comes late, after its batch was rolled back, is refused", async () => {
  const { engine, target } = await engineThatLosesEvents();
  await engine.begin();
  await engine.rollback();
  const late = () => engine.writer.run("insert into instance (name, value) values ('a', '1')", []);
  expect(late).toThrow("transaction");
  expect(stored(target, "select count(*) from instance where name = 'a'")).toEqual([[0]]);
});
