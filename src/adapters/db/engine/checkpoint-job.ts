/** Runs in the thread that checkpoints: copies what the log holds into the database. */

import { parentPort } from "node:worker_threads";

import {
  type CheckpointAnswer,
  type CheckpointJob,
  checkpointNow,
  noMoreCheckpoints,
} from "./checkpoint-thread-data.ts";
import { SqliteConnection } from "./sqlite-connection.ts";
import { fileIdentity } from "./sqlite-files.ts";

/** Serves until it is told to end, or SQLite refuses: the connection that failed goes with it. */
export function runCheckpointJob({ checkpoints: { path, identity } }: CheckpointJob): void {
  const say = (answer: CheckpointAnswer) => parentPort?.postMessage(answer);
  let connection: SqliteConnection | undefined;
  const end = () => {
    connection?.close();
    parentPort?.close();
  };
  parentPort?.on("message", (asked: string) => {
    if (asked === noMoreCheckpoints) end();
    if (asked !== checkpointNow) return;
    try {
      connection ??= opened(path, identity);
      connection.compiled("pragma wal_checkpoint").values();
      say("");
    } catch (error) {
      const { code = "" } = error as { code?: string }; // Of SQLite's errors.
      say({ message: error instanceof Error ? error.message : String(error), code });
      end();
    }
  });
}

/** Refuses another file than the one the server has open. */
function opened(path: string, identity: string): SqliteConnection {
  if (fileIdentity(path) !== identity) throw new Error(`${path} is not the file that is open`);
  return new SqliteConnection({
    path,
    busyTimeoutMs: 0,
    foreign: false,
    forReading: false,
    cacheKib: 64,
    checkpointPages: 0,
  });
}
