/** Runs in the thread of the access log: takes packs of rows, commits them, and answers. */

import { parentPort } from "node:worker_threads";

import { AccessLogFile } from "./access-log-file.ts";
import type { Pack } from "./access-log-packs.ts";
import { type AccessLogJob, type AccessLogNote, endOfRows } from "./access-log-thread-data.ts";

/** Serves until it is told that there are no more rows. */
export function runAccessLogJob({ accessLog }: AccessLogJob): void {
  const tell = (sentence: string, error: unknown) =>
    parentPort?.postMessage({ sentence, error: String(error) } satisfies AccessLogNote);
  const file = new AccessLogFile({ ...accessLog, folds: true }, tell);
  parentPort?.on("message", (rows: Pack | typeof endOfRows) => {
    if (rows === endOfRows) {
      file.close();
      parentPort?.close();
      return;
    }
    try {
      const trimCount = file.insert(rows);
      if (trimCount > 0) parentPort?.postMessage({ trimCount } satisfies AccessLogNote);
      parentPort?.postMessage("");
    } catch (error) {
      // The main thread counts the loss; the next rows are tried again.
      parentPort?.postMessage(error instanceof Error ? error.message : String(error));
    }
  });
}
