/**
 * What a caller may conclude from a unit that was refused: nothing was written for sure, or a
 * commit may have happened.
 */

import { expect, test } from "bun:test";

import type { Engine } from "#adapters/db/engine/engine.ts";
import { isStorageFault, saysNotCommitted } from "#adapters/db/engine/faults.ts";
import type { Journal } from "#adapters/db/engine/journal.ts";
import { GroupCommit } from "#adapters/db/engine/queue.ts";
import { RollbackGuard } from "#adapters/db/history/rollback-guard.ts";
import { NothingWritten, nothingWritten } from "#domain/store.ts";

const heads = {
  eventSeq: 0,
  eventHash: "",
  ledgerNumber: 0,
  ledgerHash: "",
  revocationSequence: 0,
};

/** A queue over an engine that fails where it is told to. */
async function refusalOf(fails: Partial<Pick<Engine, "begin" | "commit" | "savepoint">>) {
  const nothing = async () => {};
  const engine = {
    begin: async () => heads,
    savepoint: () => {},
    release: () => {},
    rollbackToSavepoint: nothing,
    ahead: nothing,
    commit: nothing,
    rollback: nothing,
    ...fails,
  } as unknown as Engine; // All that the queue asks of it.
  const journal = {
    rows: { begin: () => {} },
    begin: () => {},
    mark: () => ({}),
    restore: () => {},
    flush: nothing,
    begun: heads,
    heads,
    events: [],
  } as unknown as Journal; // As above.
  const guard = new RollbackGuard({ storage: undefined, reportError: () => {} });
  const callbacks = { committed: () => {}, onFault: () => {} };
  const queue = new GroupCommit({ engine, journal, guard, ...callbacks });
  const refused = await queue.run(nothing).then(
    () => undefined,
    (error) => error,
  );
  expect(refused).toMatchObject({ code: "storage_unavailable" });
  return nothingWritten(refused);
}

const lost = () =>
  Object.assign(new Error("Connection closed"), { code: "ERR_POSTGRES_CONNECTION_CLOSED" });

test("a database that is lost before the commit has written nothing", async () => {
  expect(await refusalOf({ begin: () => Promise.reject(lost()) })).toBe(true);
});

test("a commit whose answer was lost may have happened", async () => {
  expect(await refusalOf({ commit: () => Promise.reject(lost()) })).toBe(false);
});

test("a commit the database refused has written nothing", async () => {
  const refused = new NothingWritten("not committed", { cause: lost() });
  expect(await refusalOf({ commit: () => Promise.reject(refused) })).toBe(true);
});

// Columns: code of the driver, SQLSTATE, whether it is certain that nothing was committed.
for (const [code, errno, certain] of [
  ["ERR_POSTGRES_SERVER_ERROR", "23505", true],
  ["ERR_POSTGRES_SERVER_ERROR", "40001", true],
  ["ERR_POSTGRES_SERVER_ERROR", "40003", false],
  ["ERR_POSTGRES_SERVER_ERROR", "53100", true],
  ["ERR_POSTGRES_SERVER_ERROR", "57P01", false],
  ["ERR_POSTGRES_SERVER_ERROR", "58030", false],
  ["ERR_POSTGRES_CONNECTION_CLOSED", "", false],
  ["ETIMEDOUT", "", false],
  ["SQLITE_FULL", "", true],
  ["SQLITE_ABORT_ROLLBACK", "", true],
  ["SQLITE_BUSY", "", true],
  ["SQLITE_IOERR_FSYNC", "", false],
] as const) {
  test(`${code} ${errno} at a commit ${certain ? "says that it has not happened" : "leaves it open"}`, () => {
    expect(saysNotCommitted(Object.assign(new Error("fault"), { code, errno }))).toBe(certain);
  });
}

// Columns: SQLSTATE, what it says, whether the database is at fault and not what it was asked.
for (const [errno, what, fault] of [
  ["08006", "a connection that broke", true],
  ["25P03", "a transaction that waited too long", true],
  ["28P01", "a password that is not taken any more", true],
  ["3D000", "a database that is not there", true],
  ["40001", "a transaction that lost a race", true],
  ["57014", "a statement that took too long", true],
  ["22012", "a division by zero", false],
  ["23505", "a row that is there", false],
  ["25P02", "a statement after one that failed", false],
  ["42601", "what is no SQL", false],
] as const) {
  test(`${what} (${errno}) is ${fault ? "the database's fault" : "a bug of ours"}`, () => {
    const code = "ERR_POSTGRES_SERVER_ERROR";
    expect(isStorageFault(Object.assign(new Error("fault"), { code, errno }))).toBe(fault);
  });
}
