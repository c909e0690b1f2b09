/**
 * The access log on SQLite: a database file of its own, which may be lost, removed or replaced
 * without any harm.
 */

import { existsSync, renameSync, rmSync } from "node:fs";
import type { Database } from "bun:sqlite";

import type { Instant } from "#core/time.ts";
import type { TurnShare } from "#core/turns.ts";
import { isDamage } from "#adapters/db/engine/faults.ts";
import type { Connection } from "#adapters/db/engine/connection.ts";
import { SqliteConnection, connectionOverSqlite } from "#adapters/db/engine/sqlite-connection.ts";
import { fileIdentity, makePrivate } from "#adapters/db/engine/sqlite-files.ts";
import { whenUnlocked } from "#adapters/db/engine/lock-wait.ts";

import { type Pack, pressed } from "./access-log-packs.ts";
import { enableVacuum, type SpaceLimits, trimAccessLog } from "./access-log-space.ts";

export interface AccessLogFileOptions {
  readonly path: string;
  readonly busyTimeoutMs: number;
  /** Folds the log of the file into it now and then; only where that holds nobody up. */
  readonly folds: boolean;
  readonly space?: SpaceLimits | undefined;
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

  /**
   * For reading, over whichever connection is open; one is waited for up to `waitMs` milliseconds
   * where another thread has the lock that making the file takes.
   */
  reader(share: TurnShare, waitMs: number): Connection {
    const open = () => {
      if (this.#isOpen()) return undefined;
      return whenUnlocked(() => void this.#connection(), waitMs);
    };
    return connectionOverSqlite(() => this.#connection(), share, open);
  }

  /**
   * Deletes some of the oldest rows if the file is too large, and commits a pack under the numbers
   * that come next.
   *
   * @returns number of deleted rows
   */
  insert({ rows, oldest, newest, text }: Pack): number {
    const octets = pressed(text);
    const { path, space = {} } = this.#options;
    let trimCount = 0;
    this.#mending((open) => {
      const { database, compiled } = open;
      trimCount += trimAccessLog(open, path, { ...space, checkpoints: this.#options.folds });
      database.transaction(() => {
        compiled(insertPack).run(rows, oldest, newest, octets);
        compiled(takeNumbers).run(rows);
      })();
    });
    return trimCount;
  }

  /**
   * Deletes some of the oldest packs whose rows are all before `before`, and at most `most` of the
   * rows kept apart; true while there may be more.
   */
  prune(before: Instant, most: number): boolean {
    let more = false;
    this.#mending(({ compiled }) => {
      const packs = compiled(prunePacks).run(before, packsAtOnce).changes;
      more = compiled(pruneOldest).run(before, most).changes === most || packs === packsAtOnce;
    });
    return more;
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

  #isOpen(): boolean {
    return this.#open !== undefined && this.#open.identity === fileIdentity(this.#options.path);
  }

  #connection(): SqliteConnection {
    if (this.#open !== undefined && this.#isOpen()) return this.#open.connection;
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
      define(connection.database);
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

/** A file that has everything is not written to: another thread may be writing to it. */
function define(database: Database): void {
  const made = database.query<[number], []>(
    "select count(*) from sqlite_schema where name glob 'access_*'",
  );
  const count = made.values()[0]?.[0];
  if (count === madeCount) return;
  if (count === 0) enableVacuum({ database });
  database
    .transaction(() => {
      for (const statement of definition) database.run(statement);
    })
    .immediate();
}

/** Under the numbers after the last: those of rows and packs are one row of numbers. */
const insertPack = `insert into access_packs (first, rows, oldest, newest, packed)
  values ((select seq + 1 from sqlite_sequence where name = 'access_log'), ?, ?, ?, ?)`;
const takeNumbers = "update sqlite_sequence set seq = seq + ? where name = 'access_log'";
const prunePacks = `delete from access_packs where first in
  (select first from access_packs where newest < ? order by newest limit ?)`;
const pruneOldest =
  "delete from access_log where id in (select id from access_log where at < ? order by at limit ?)";

/**
 * Rows are kept in packs. The table of single rows, as that of `schema.ts`, holds those of files
 * from before there were packs, until they are pruned; its sequence numbers both.
 */
const definition = [
  `create table if not exists access_log (id integer primary key autoincrement not null, at integer not null,
    request_id text not null, subject text not null, method text not null, route text not null, path text not null,
    status integer not null, duration_ms integer not null, bytes_out integer not null, ip text not null,
    user_agent text not null)`,
  "create index if not exists access_log_time on access_log (at)",
  `create table if not exists access_packs (first integer primary key not null, rows integer not null,
    oldest integer not null, newest integer not null, packed blob not null)`,
  "create index if not exists access_packs_oldest on access_packs (oldest)",
  "create index if not exists access_packs_newest on access_packs (newest)",
  `insert into sqlite_sequence (name, seq) select 'access_log', 0
    where not exists (select 1 from sqlite_sequence where name = 'access_log')`,
];

/** Two tables and three indexes; the row of numbers comes with them. */
const madeCount = 5;
/** Packs deleted by one statement. */
const packsAtOnce = 100;
const foldedPages = 8000;
const cacheKib = 8192;
