/**
 * Where access log rows go: a file of their own beside SQLite, a table of the database on
 * PostgreSQL.
 */

import type { TurnShare } from "#core/turns.ts";
import type { AccessLogRow } from "#domain/audit/store.ts";
import { bulkInserter, type Connection } from "#adapters/db/engine/connection.ts";
import { batchRows, type AccessLogTarget } from "./access-log.ts";
import { AccessLogFile } from "./access-log-file.ts";
import { packOf } from "./access-log-packs.ts";
import { packsAndRows } from "./access-log-pack-reads.ts";
import { accessLogReads, singleRows } from "./access-log-reads.ts";
import { AccessLogThread } from "./access-log-thread.ts";
import { RowLimit } from "./access-log-row-limit.ts";
import type { SpaceLimits } from "./access-log-space.ts";
import { whenUnlocked } from "#adapters/db/engine/lock-wait.ts";

/** The table beside all others; `run` makes a unit of what writes. */
export function tableTarget(
  { reader, writer }: { readonly reader: Connection; readonly writer: Connection },
  run: <T>(unit: () => Promise<T>) => Promise<T>,
): AccessLogTarget {
  const insert = bulkInserter(writer, writer.t.accessLog);
  const limit = new RowLimit(writer);
  return {
    reads: accessLogReads([singleRows(reader)], Number.MAX_SAFE_INTEGER),
    insert: (rows) =>
      run(async () => {
        await insert(rows);
        await limit.trim(rows);
      }),
    trimCount: () => limit.trimCount,
    prune: (before, most) =>
      run(async () => (await writer.run(pruneOldest, [before, most])) === most),
    rest: async () => {},
    close: async () => {},
  };
}

export interface FileTargetOptions {
  readonly path: string;
  readonly busyTimeoutMs: number;
  /** The main module, for a thread; without it every row is written by this one. */
  readonly workerUrl: string | undefined;
  /** True while the disk has no room for what can be lost. */
  readonly scarce: () => boolean;
  readonly space?: SpaceLimits;
  readonly share: TurnShare;
  readonly onFault: (sentence: string, error: unknown) => void;
}

/**
 * The file; much at once is written by a thread of its own, which also folds the log of the file
 * into it.
 */
export function fileTarget({
  path,
  busyTimeoutMs,
  workerUrl,
  scarce,
  space = {},
  share,
  onFault,
}: FileTargetOptions): AccessLogTarget {
  // Locks are waited for in the turns of this thread, and in the other one inside SQLite.
  const here = { path, busyTimeoutMs: 0, folds: workerUrl === undefined, space };
  const file = new AccessLogFile(here, onFault);
  const job = { accessLog: { path, busyTimeoutMs, space } };
  let trimCount = 0;
  const onTrim = (rows: number) => {
    trimCount += rows;
  };
  const thread =
    workerUrl === undefined ? undefined : new AccessLogThread(workerUrl, job, onFault, onTrim);
  let unfolded = 0;
  const byThread = async (rows: readonly AccessLogRow[]): Promise<boolean> => {
    if (thread === undefined || (rows.length < batchRows && unfolded < unfoldedMax)) return false;
    try {
      await thread.write(rows);
      unfolded = 0;
      return true;
    } catch (error) {
      onFault("the thread of the access log failed; its rows are written here", error);
      return false;
    }
  };
  return {
    reads: accessLogReads(packsAndRows(file.reader(share, busyTimeoutMs))),
    insert: async (rows) => {
      if (scarce()) throw new Error("the disk is nearly full");
      if (await byThread(rows)) return;
      const pack = packOf(rows);
      onTrim(await whenUnlocked(() => file.insert(pack), busyTimeoutMs));
      unfolded += rows.length;
    },
    trimCount: () => trimCount,
    prune: (before, most) => whenUnlocked(() => file.prune(before, most), busyTimeoutMs),
    rest: async () => thread?.close(),
    close: async () => {
      await thread?.close();
      file.close();
    },
  };
}

const pruneOldest =
  "delete from access_log where id in (select id from access_log where at < $1 order by at limit $2)";
/** Rows written by the serving thread, which never folds, until the other one has a turn. */
const unfoldedMax = 5000;
