/** Runs in the thread of the access log: takes packed rows, commits them, and answers. */

import { Database } from "bun:sqlite";
import { parentPort } from "node:worker_threads";

import { type AccessLogJob, endOfRows, rowColumns, separator } from "./access-log-thread.ts";

/**
 * Serves until it is told that there are no more rows. The main thread writes nothing while it waits for an answer, so
 * the two connections never wait for one another. Rows may be lost with the power, by contract, so no commit is synced.
 */
export function runAccessLogJob({ accessLog: { path, busyTimeoutMs } }: AccessLogJob): void {
  const database = new Database(path, { readwrite: true });
  database.run(`pragma busy_timeout = ${Math.trunc(busyTimeoutMs)}`);
  database.run("pragma synchronous = normal");
  database.run("pragma wal_autocheckpoint = 8000");
  // The columns of numbers make numbers of the texts that are bound to them.
  const marks = `(${rowColumns.map(() => "?").join(", ")})`;
  const inserting = (rows: number) => {
    const values = Array(rows).fill(marks).join(", ");
    const insert = database.prepare(
      `insert into access_log (${rowColumns.join(", ")}) values ${values}`,
    );
    return { insert, members: rows * rowColumns.length };
  };
  const sizes = [inserting(rowsAtOnce), inserting(1)];
  const insertAll = database.transaction((members: readonly string[]) => {
    let at = 0;
    for (const { insert, members: many } of sizes) {
      for (; at + many <= members.length; at += many) insert.run(...members.slice(at, at + many));
    }
  });
  parentPort?.on("message", (rows: string) => {
    if (rows === endOfRows) {
      database.close();
      parentPort?.close();
      return;
    }
    try {
      insertAll.immediate(rows.split(separator));
      parentPort?.postMessage("");
    } catch (error) {
      // The main thread counts the loss; the next rows are tried again.
      parentPort?.postMessage(error instanceof Error ? error.message : String(error));
    }
  });
}

/** Rows of one statement: starting one costs as much as a row does. */
const rowsAtOnce = 50;
