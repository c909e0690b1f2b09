/** SQLite: one file, one connection that writes, one that reads, every commit on disk before it is acknowledged. */

import type { Database } from "bun:sqlite";
import { dirname, join } from "node:path";

import { NothingWritten } from "#domain/store.ts";
import { storedHeads } from "./audit.ts";
import type { Engine } from "./engine.ts";
import { saysNotCommitted, storageUnavailable } from "./faults.ts";
import type { Heads } from "./journal.ts";
import type { Session } from "./session.ts";
import { SqliteConnection, sqliteSession } from "./sqlite-connection.ts";
import { SqliteFiles } from "./sqlite-files.ts";

export interface SqliteOptions {
  readonly driver: "sqlite";
  /** The database file; its folder exists. */
  readonly path: string;
  readonly busyTimeoutMs: number;
  /** The file of the access log; `access-log.db` beside the database when not given. */
  readonly accessLogPath?: string;
  /** For looking at a file another process writes; nothing can be changed through such a store. */
  readonly readOnly?: boolean;
}

/** Where the access log of a database is. */
export const accessLogPath = ({ path, accessLogPath: given }: SqliteOptions): string =>
  given ?? join(dirname(path), "access-log.db");

/** Told of what no caller can be told. */
export type TellFault = (sentence: string, error: unknown) => void;

/** Opens both connections. Refuses a file that cannot be had with WAL, `synchronous=FULL` and foreign keys (V-6). */
export function openSqlite(options: SqliteOptions, onFault: TellFault = () => {}): SqliteEngine {
  return new SqliteEngine(options, onFault);
}

/** The engine, and the connection migrations and copies need. */
export class SqliteEngine implements Engine {
  readonly dialect = "sqlite";
  readonly reader: Session;
  readonly writer: Session;
  readonly #options: SqliteOptions;
  readonly #onFault: TellFault;
  /** Undefined for a file of another process. */
  readonly #files: SqliteFiles | undefined;
  readonly #write: SqliteConnection;
  readonly #read: SqliteConnection;
  readonly #watch: ReturnType<typeof setInterval> | undefined;
  #displaced: string | undefined;
  #heads: Readonly<Heads> | undefined;

  constructor(options: SqliteOptions, onFault: TellFault) {
    this.#options = options;
    this.#onFault = onFault;
    const foreign = options.readOnly === true;
    this.#files = foreign ? undefined : SqliteFiles.prepared(options.path);
    this.#write = this.#connect({ forReading: foreign });
    this.#read = this.#connect({ forReading: true });
    this.writer = sqliteSession(() => this.#write);
    this.reader = sqliteSession(() => this.#read);
    // The log is there from the first read on.
    this.#read.compiled("select count(*) from sqlite_schema").values();
    this.#files?.watch();
    this.#watch = foreign
      ? undefined
      : setInterval(() => void this.#displacement(), watchMs).unref();
  }

  get database(): Database {
    return this.#write.database;
  }

  /** Each view has a connection of its own, whose read transaction is the snapshot. */
  async view<T>(read: (session: Session) => Promise<T>): Promise<T> {
    const connection = this.#connect({ forReading: true, cacheKib: viewCacheKib });
    try {
      connection.database.run("begin");
      return await read(sqliteSession(() => connection));
    } finally {
      connection.close();
    }
  }

  /** The data-directory lock leaves no other process. */
  exclusively<T>(_name: string, work: () => Promise<T>): Promise<T> {
    return work();
  }

  async begin(): Promise<Readonly<Heads>> {
    if (this.#files === undefined) throw storageUnavailable(new Error("opened for reading only"));
    this.#assertInPlace();
    this.#write.compiled("begin immediate").run();
    // The data-directory lock makes this process the only writer, so what it committed is what is stored.
    this.#heads ??= await storedHeads(this.writer);
    return this.#heads;
  }

  savepoint(): void {
    this.#write.compiled("savepoint unit").run();
  }

  release(): void {
    this.#write.compiled("release unit").run();
  }

  rollbackToSavepoint(): void {
    this.#write.compiled("rollback to unit").run();
    this.release();
  }

  async commit(committed: Readonly<Heads>): Promise<void> {
    try {
      this.#write.compiled("commit").run();
    } catch (error) {
      // A log that could not be synced may be found whole after a crash.
      throw saysNotCommitted(error) ? new NothingWritten("not committed", { cause: error }) : error;
    }
    // A commit into a log that has been removed is on no disk when the process ends: it is not acknowledged.
    this.#assertInPlace();
    this.#heads = { ...committed };
  }

  async rollback(): Promise<void> {
    const { database } = this.#write;
    if (database.inTransaction) attempt(() => database.run("rollback"));
  }

  revocationSequence(): number | Promise<number> {
    if (this.#files !== undefined && this.#heads) return this.#heads.revocationSequence;
    return storedHeads(this.reader).then((stored) => stored.revocationSequence);
  }

  async listen(): Promise<void> {}

  async ping(): Promise<void> {
    this.#assertInPlace();
    this.#read.compiled("select 1").values();
  }

  async close(): Promise<void> {
    clearInterval(this.#watch);
    // Closing the last connection folds the log into the database: never into what is somebody else's by now.
    if (this.#files !== undefined && !this.#files.foldable()) return;
    if (this.#files !== undefined) attempt(() => this.database.run(fold));
    this.#read.close();
    this.#write.close();
  }

  #connect({ forReading, cacheKib = usualCacheKib }: { forReading: boolean; cacheKib?: number }) {
    const { path, busyTimeoutMs } = this.#options;
    const foreign = this.#files === undefined;
    const settings = { path, busyTimeoutMs, foreign, forReading, cacheKib };
    return new SqliteConnection({ ...settings, checkpointPages });
  }

  #assertInPlace(): void {
    const fault = this.#displacement();
    if (fault !== undefined) throw storageUnavailable(fault);
  }

  /** Why nothing may be written any more; told once. There is no way back but a start. */
  #displacement(): Error | undefined {
    const gone = this.#displaced ?? this.#files?.displaced();
    if (gone === undefined) return undefined;
    const fault = new Error(`${gone} is not the file that is open: it was removed or replaced`);
    if (this.#displaced === undefined) {
      this.#displaced = gone;
      this.#onFault("the database was taken away beneath the server; nothing is written", fault);
    }
    return fault;
  }
}

function attempt(act: () => void): void {
  try {
    act();
  } catch {
    // Best effort on the way out: the transaction is lost, or the next open checkpoints.
  }
}

const fold = "pragma wal_checkpoint(truncate)";
/** Between two looks at the files. */
const watchMs = 1000;
/** 32 MB of log between checkpoints: pages written many times reach the file once. */
const checkpointPages = 8000;
const usualCacheKib = 65_536;
/** A view reads everything once. */
const viewCacheKib = 8192;
