/**
 * The access log on SQLite: a database file of its own, which may be lost, removed or replaced
 * without any harm.
 */

import { existsSync, renameSync, rmSync } from "node:fs";

import type { Instant } from "#core/time.ts";
import type { TurnShare } from "#core/turns.ts";
import type { AccessLogRow } from "#domain/audit/store.ts";
import { isDamage } from "#adapters/db/engine/faults.ts";
import type { Connection } from "#adapters/db/engine/connection.ts";
import { SqliteConnection, connectionOverSqlite } from "#adapters/db/engine/sqlite-connection.ts";
import { fileIdentity, makePrivate } from "#adapters/db/engine/sqlite-files.ts";

export interface AccessLogFileOptions {
  readonly path: string;
  readonly busyTimeoutMs: number;
  /** Folds the log of the file into it now and then; only where that holds nobody up. */
  readonly folds: boolean;
}

/**
 * Opened when it is first needed, anew when somebody has removed or replaced the file, and begun
 * anew when it is damaged: the damaged one is kept beside it as `<file>.damaged`. No commit waits
 * for the disk.
 */
export class AccessLogFile {
  readonly #options: AccessLogFileOptions;
  readonly #onFault: (sentence: string, error: unknown) => void;
  #open: { readonly connection: SqliteConnection; readonly identity: string } | undefined;

  constructor(
    options: AccessLogFileOptions,
    onFault: (sentence: string, error: unknown) => void = () => {},
  ) {
    this.#options = options;
    this.#onFault = onFault;
  }

  /** For reading, over whichever connection is open. */
  reader(share: TurnShare): Connection {
    return connectionOverSqlite(() => this.#connection(), share);
  }

  /** Commits rows whose members `packed` has put one behind the other. */
  insert(members: readonly string[]): void {
    this.#mending(({ database, compiled }) => {
      database.transaction(() => {
        let at = 0;
        for (const rows of [rowsAtOnce, 1]) {
          const many = rows * rowColumns.length;
          const statement = compiled(insertOf(rows));
          for (; at + many <= members.length; at += many) {
            statement.run(...members.slice(at, at + many));
          }
        }
      })();
    });
  }

  /** Deletes the oldest rows before `before`, at most `most`; gives how many. */
  prune(before: Instant, most: number): number {
    let deleted = 0;
    this.#mending(({ compiled }) => {
      deleted = compiled(pruneOldest).run(before, most).changes;
    });
    return deleted;
  }

  close(): void {
    this.#open?.connection.close();
    this.#open = undefined;
  }

  /** Does it, and once more in a new file when this one is damaged. */
  #mending(work: (at: Pick<SqliteConnection, "database" | "compiled">) => void): void {
    const once = () => {
      const connection = this.#connection();
      const { database } = connection;
      work({ database, compiled: (text) => connection.compiled(text) });
    };
    try {
      once();
    } catch (error) {
      if (!isDamage(error)) throw error;
      this.#setAside(error);
      once();
    }
  }

  #connection(): SqliteConnection {
    const { path } = this.#options;
    if (this.#open?.identity === fileIdentity(path)) return this.#open.connection;
    this.close();
    try {
      return this.#opened();
    } catch (error) {
      if (!isDamage(error)) throw error;
      this.#setAside(error);
      return this.#opened();
    }
  }

  #opened(): SqliteConnection {
    const { path, busyTimeoutMs, folds } = this.#options;
    makePrivate(path);
    const connection = new SqliteConnection({
      path,
      busyTimeoutMs,
      cacheKib,
      foreign: false,
      forReading: false,
      synced: false,
      checkpointPages: folds ? foldedPages : 0,
    });
    try {
      for (const statement of definition) connection.database.run(statement);
    } catch (error) {
      connection.close();
      throw error;
    }
    this.#open = { connection, identity: fileIdentity(path) };
    return connection;
  }

  #setAside(error: unknown): void {
    const { path } = this.#options;
    this.close();
    for (const end of ["-wal", "-shm"]) rmSync(`${path}${end}`, { force: true });
    if (existsSync(path)) renameSync(path, `${path}.damaged`);
    this.#onFault("the access log is damaged; it was set aside and begun anew", error);
  }
}

/**
 * One row as text: copying one long text to a thread costs less than copying its thousands of
 * members.
 */
export function packed(row: AccessLogRow): string {
  const { at, requestId, subject, method, route, path, status, durationMs, bytesOut } = row;
  const head = `${at}${separator}${requestId}${separator}${subject}${separator}${method}${separator}${route}`;
  const rest = `${path}${separator}${status}${separator}${durationMs}${separator}${bytesOut}`;
  return `${head}${separator}${rest}${separator}${row.ip}${separator}${row.userAgent}`;
}

/** No text of a row holds a NUL: the log takes it out of what strangers send. */
export const separator = "\0";

/** Members of a row, in the order they are packed. */
const rowColumns = [
  "at",
  "request_id",
  "subject",
  "method",
  "route",
  "path",
  "status",
  "duration_ms",
  "bytes_out",
  "ip",
  "user_agent",
] as const;

/** The columns of numbers make numbers of the texts that are bound to them. */
const insertOf = (rows: number): string => {
  const marks = `(${rowColumns.map(() => "?").join(", ")})`;
  return `insert into access_log (${rowColumns.join(", ")}) values ${Array(rows).fill(marks).join(", ")}`;
};
const pruneOldest =
  "delete from access_log where id in (select id from access_log where at < ? order by at limit ?)";

/** As the table of `schema.ts`, which PostgreSQL keeps beside its others. */
const definition = [
  `create table if not exists access_log (id integer primary key autoincrement not null, at integer not null,
    request_id text not null, subject text not null, method text not null, route text not null, path text not null,
    status integer not null, duration_ms integer not null, bytes_out integer not null, ip text not null,
    user_agent text not null)`,
  "create index if not exists access_log_time on access_log (at)",
];

/** Rows of one statement: starting one costs as much as a row does. */
const rowsAtOnce = 50;
const foldedPages = 8000;
const cacheKib = 8192;
