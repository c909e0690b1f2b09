/**
 * SQLite: one file, one connection that writes, one that reads, every commit on disk before it is
 * acknowledged.
 */

import type { Database } from "bun:sqlite";
import { dirname, join } from "node:path";

import { NothingWritten } from "#domain/store.ts";
import { assert } from "#core/problems.ts";
import { TurnShare } from "#core/turns.ts";
import { storedHeads } from "#adapters/db/stores/audit.ts";

import { Checkpoints } from "./checkpoints.ts";
import { CheckpointThread } from "./checkpoint-thread.ts";
import type { Engine } from "./engine.ts";
import {
  isFull,
  isWriteFault,
  saysNotCommitted,
  StoreUnfit,
  storageUnavailable,
  transactionEnded,
} from "./faults.ts";
import { verifyHeads } from "./heads.ts";
import type { Heads } from "./journal.ts";
import { whenUnlocked } from "./lock-wait.ts";
import { Reserve } from "./reserve.ts";
import type { Connection } from "./connection.ts";
import { SqliteConnection, connectionOverSqlite } from "./sqlite-connection.ts";
import { fileIdentity, SqliteFiles } from "./sqlite-files.ts";

/** The members of `database` that SQLite goes by. */
export interface SqliteLimits {
  readonly busy_timeout_ms: number;
  /**
   * Megabytes that should stay free beside the database; some of them are set aside for
   * revocations. None unless given.
   */
  readonly min_free_mb?: number;
}

export interface SqliteOptions extends SqliteLimits {
  readonly driver: "sqlite";
  /** The database file; its folder exists. */
  readonly path: string;
  /** The file of the access log; `access-log.db` beside the database when none is given. */
  readonly access_log?: { readonly path: string | undefined };
  /** For looking at a file another process writes; nothing can be changed through such a store. */
  readonly readOnly?: boolean;
}

/** Where the access log of a database is. */
export const accessLogPath = ({ path, access_log }: SqliteOptions): string =>
  access_log?.path ?? join(dirname(path), accessLogName);

/** What it is called where no other path is given. */
export const accessLogName = "access-log.db";

/** Told of what no caller can be told. */
export type TellFault = (sentence: string, error: unknown) => void;

/**
 * Opens both connections. Refuses a file that cannot be had with WAL, `synchronous=FULL` and
 * foreign keys (V-6). `workerUrl` is the main module, for the thread that checkpoints; without it
 * there is none.
 */
export function openSqlite(
  options: SqliteOptions,
  onFault: TellFault = () => {},
  workerUrl?: string,
): SqliteEngine {
  return new SqliteEngine(options, onFault, workerUrl);
}

/** The engine, and the connection migrations and copies need. */
export class SqliteEngine implements Engine {
  readonly dialect = "sqlite";
  readonly rowsVersion = undefined;
  readonly clockOffsetMs = undefined;
  readonly reader: Connection;
  readonly writer: Connection;
  /** Of everything that is read on this thread, and of the access log. */
  readonly readShare = new TurnShare(() => performance.now());
  /** One apart: every write waits for the batch that runs, so it waits for nobody who reads. */
  readonly #writeShare = new TurnShare(() => performance.now());
  readonly #options: SqliteOptions;
  readonly #onFault: TellFault;
  /** Undefined for a file of another process. */
  readonly #files: SqliteFiles | undefined;
  /** Undefined from a failed write until the file has been opened again. */
  #write: SqliteConnection | undefined;
  #read: SqliteConnection;
  readonly #watch: ReturnType<typeof setInterval> | undefined;
  readonly #reserve: Reserve;
  readonly #checkpoints: Checkpoints;
  #displaced: string | undefined;
  /** True once the database file has all commits from before its log was removed. */
  #isRescued = false;
  /** When the files were last seen, by their names. */
  #lookedAt = Number.NEGATIVE_INFINITY;
  /** As committed last; what the file must hold. */
  #heads: Readonly<Heads> | undefined;
  /** The write that failed. */
  #fault: unknown;
  #triesAt = 0;
  #views = 0;
  /** True from the first batch on; migrations come before it, and use the writer as they like. */
  #begun = false;

  constructor(options: SqliteOptions, onFault: TellFault, workerUrl: string | undefined) {
    this.#options = options;
    this.#onFault = onFault;
    this.#reserve = new Reserve(options.path, (options.min_free_mb ?? 0) * 1_048_576);
    const foreign = options.readOnly === true;
    // A log and its index are made at every start.
    if (!foreign) this.#reserve.beforeWriting();
    this.#files = foreign ? undefined : SqliteFiles.taken(options.path);
    this.writer = connectionOverSqlite(() => this.#inTransaction(), this.#writeShare);
    this.reader = connectionOverSqlite(() => this.#read, this.readShare);
    const opened: SqliteConnection[] = [];
    try {
      if (!foreign) assertApart(options);
      opened.push(this.#connect({ forReading: foreign }), this.#connect({ forReading: true }));
      const [write, read] = opened;
      assert(write !== undefined && read !== undefined, "both connections are open");
      this.#write = write;
      this.#read = read;
      // The log is there from the first read on.
      read.compiled("select count(*) from sqlite_schema").values();
      this.#files?.watch();
    } catch (error) {
      for (const connection of opened) connection.close();
      this.#files?.release();
      throw error;
    }
    this.#checkpoints = new Checkpoints({
      thread: workerUrl === undefined ? undefined : (failed) => this.#threadOf(workerUrl, failed),
      onFault: (error) => this.#stop(error),
      onThreadFault: (error) =>
        onFault("the thread of checkpoints failed; the next one is made without it", error),
    });
    this.#watch = foreign ? undefined : setInterval(() => this.#tick(), watchMs).unref();
  }

  get database(): Database {
    return this.#writing().database;
  }

  get stopped(): boolean {
    return this.#fault !== undefined;
  }

  /** True while what can be lost must not be written. */
  get scarce(): boolean {
    return this.#reserve.scarce;
  }

  writerAfter(before: () => void | Promise<void>): Connection {
    return connectionOverSqlite(() => this.#inTransaction(), this.#writeShare, before);
  }

  ahead(written: Promise<void>): Promise<void> {
    return written;
  }

  /** Each view has a connection of its own, whose read transaction sees one committed state. */
  async view<T>(read: (connection: Connection) => Promise<T>): Promise<T> {
    // A new connection would take up another log than the one that is open.
    this.#assertInPlace();
    const connection = this.#connect({ forReading: true, cacheKib: viewCacheKib });
    this.#views += 1;
    try {
      connection.database.run("begin");
      return await read(connectionOverSqlite(() => connection, this.readShare));
    } finally {
      connection.close();
      this.#views -= 1;
    }
  }

  /** The lock on the file leaves no other process. */
  exclusively<T>(_name: string, work: () => Promise<T>): Promise<T> {
    return work();
  }

  readonly leaseTroubles = { shared: 0, lost: 0 };

  async begin(): Promise<Readonly<Heads>> {
    if (this.#files === undefined) throw storageUnavailable(new Error("opened for reading only"));
    this.#reserve.beforeWriting();
    const { behind } = this.#checkpoints;
    if (behind !== undefined) await behind;
    if (this.stopped) {
      // What is opened anew must be the same files.
      this.#assertInPlace();
      await this.#resume();
    }
    this.#serve();
    await whenUnlocked(() => {
      this.#assertLatelyInPlace();
      this.#writing().compiled("begin immediate").run();
    }, this.#options.busy_timeout_ms);
    // The lock on the file makes this process the only writer, so what it committed is what is
    // stored.
    this.#heads ??= await storedHeads(this.writer);
    return this.#heads;
  }

  savepoint(): void {
    this.#writing().compiled("savepoint unit").run();
  }

  release(): void {
    this.#writing().compiled("release unit").run();
  }

  rollbackToSavepoint(): void {
    this.#writing().compiled("rollback to unit").run();
    this.release();
  }

  async commit(committed: Readonly<Heads>): Promise<void> {
    // The thread that checkpoints may have told of a fault since the batch began.
    if (this.stopped) throw new NothingWritten("not committed", { cause: this.#fault });
    try {
      this.#inTransaction().compiled("commit").run();
    } catch (error) {
      // A log that could not be synced may be found whole after a crash.
      throw saysNotCommitted(error) ? new NothingWritten("not committed", { cause: error }) : error;
    }
    // A commit into a log that has been removed is on no disk when the process ends: it is not
    // acknowledged.
    this.#assertInPlace();
    const entries = entriesBetween(this.#heads, committed);
    this.#heads = { ...committed };
    this.#checkpoints.committed(entries, this.#writing());
  }

  async rollback(cause?: unknown): Promise<void> {
    const database = this.#write?.database;
    try {
      if (database?.inTransaction) database.run("rollback");
    } catch (error) {
      this.#stop(error);
    }
    if (isWriteFault(cause)) this.#stop(cause);
  }

  revocationSequence(): number | Promise<number> {
    if (this.#files !== undefined && this.#heads) return this.#heads.revocationSequence;
    return storedHeads(this.reader).then((stored) => stored.revocationSequence);
  }

  revocationStamp(): number | Promise<number> {
    return this.revocationSequence();
  }

  async listen(): Promise<void> {}

  async ping(): Promise<void> {
    this.#assertInPlace();
    this.#read.compiled("select 1").values();
  }

  rest(): void {
    void this.#checkpoints.rest();
    for (const connection of [this.#write, this.#read]) {
      attempt(() => connection?.compiled("pragma shrink_memory").values());
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#watch);
    await this.#checkpoints.rest();
    // Closing the last connection folds the log into the database: never into what is somebody
    // else's by now.
    if (this.#files !== undefined && !this.#files.foldable()) return;
    if (this.#files !== undefined && !this.stopped) attempt(() => this.database.run(fold));
    this.#read.close();
    this.#write?.close();
    // Releasing would take the locks from a view that has not ended yet; the end of the process
    // does it.
    if (this.#views === 0) this.#files?.release();
  }

  #writing(): SqliteConnection {
    if (this.#write === undefined) throw storageUnavailable(this.#fault);
    return this.#write;
  }

  /**
   * From the first batch on the thread is the one that serves: nothing on it waits for a lock
   * inside SQLite.
   */
  #serve(): void {
    if (this.#begun) return;
    this.#begun = true;
    for (const { database } of [this.#writing(), this.#read]) {
      database.run("pragma busy_timeout = 0");
    }
  }

  /**
   * Outside a transaction SQLite commits every statement for itself: what is left of a batch that
   * was ended, for one.
   */
  #inTransaction(): SqliteConnection {
    const connection = this.#writing();
    if (this.#begun && !connection.database.inTransaction) throw transactionEnded();
    return connection;
  }

  /**
   * After a failed write or sync nobody knows what the disk has: the kernel drops what it could not
   * write, and says so once. Nothing is acknowledged from here on until `#resume` has succeeded.
   */
  #stop(error: unknown): void {
    if (isFull(error)) this.#reserve.giveUp();
    if (this.stopped) return;
    this.#fault = error;
    void this.#checkpoints.rest();
    this.#onFault("a write of the database failed; nothing is written until it is verified", error);
  }

  /**
   * Refuses until the file, opened anew, is found to hold what was acknowledged; whoever asks soon
   * after a trial waits a moment.
   */
  async #resume(): Promise<void> {
    await Bun.sleep(Math.max(0, this.#triesAt - performance.now()));
    try {
      await this.#reopen();
    } catch (error) {
      this.#fault = error;
      this.#triesAt = performance.now() + betweenTriesMs;
      throw storageUnavailable(error);
    }
    this.#fault = undefined;
    this.#onFault("the database was opened again and holds what was acknowledged", undefined);
  }

  /**
   * What was acknowledged was synced with it, so the part of the log that SQLite goes by is whole.
   * It is written into the database once more, synced, and the log emptied: what the failed write
   * left behind it can then never be taken for a part of it. The connection that failed takes no
   * part in this, and new ones read what the file has.
   */
  async #reopen(): Promise<void> {
    this.#write?.close();
    this.#write = undefined;
    const write = this.#connect({ forReading: false });
    let read: SqliteConnection | undefined;
    try {
      const [busy] = write.compiled(fold).values()[0] ?? [];
      if (busy !== 0) throw new Error("somebody reads the log and keeps it from being emptied");
      read = this.#connect({ forReading: true });
      const [fresh, expected] = [read, this.#heads];
      const connection = connectionOverSqlite(() => fresh, this.readShare);
      if (expected !== undefined && !Bun.deepEquals(await storedHeads(connection), expected)) {
        throw new Error("the database does not hold what was acknowledged last");
      }
      await verifyHeads(connection);
    } catch (error) {
      read?.close();
      write.close();
      throw error;
    }
    this.#read.close();
    this.#read = read;
    this.#write = write;
  }

  #threadOf(workerUrl: string, failed: (error: Error) => void): CheckpointThread {
    const { path } = this.#options;
    const job = { checkpoints: { path, identity: fileIdentity(path) } };
    return new CheckpointThread(workerUrl, job, failed);
  }

  #connect({ forReading, cacheKib = usualCacheKib }: { forReading: boolean; cacheKib?: number }) {
    const { path } = this.#options;
    const busyTimeoutMs = this.#begun ? 0 : this.#options.busy_timeout_ms;
    const foreign = this.#files === undefined;
    const settings = { path, busyTimeoutMs, foreign, forReading, cacheKib };
    return new SqliteConnection({ ...settings, checkpointPages: 0 });
  }

  #tick(): void {
    if (this.#displacement() === undefined && !this.stopped) void this.#reserve.keep();
  }

  /**
   * As below, by what was seen just now. It only spares the work of a batch: what is acknowledged
   * is held against the files after its commit.
   */
  #assertLatelyInPlace(): void {
    const late = performance.now() - this.#lookedAt > justNowMs;
    if (late || this.#displaced !== undefined) this.#assertInPlace();
  }

  #assertInPlace(): void {
    this.#lookedAt = performance.now();
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
    this.#rescueLog();
    return fault;
  }

  /**
   * Copies the removed log into the database file while this process still has it open: a crash
   * would lose everything acknowledged since the last checkpoint. Repeated until it succeeds, since
   * a transaction or a view may prevent it.
   */
  #rescueLog(): void {
    const isReady = this.#write?.database.inTransaction === false && !this.stopped;
    if (this.#isRescued || !isReady || this.#files?.foldable() !== true) return;
    attempt(() => {
      const [, pages, copied] = this.#writing().compiled("pragma wal_checkpoint").values()[0] ?? [];
      this.#isRescued = pages === copied;
    });
    if (this.#isRescued) {
      this.#onFault("the removed log was copied into the database file; restart pkid", undefined);
    }
  }
}

/**
 * What may be lost, and waits for no disk, must not share a log with what may not; whatever name
 * each goes by.
 */
function assertApart(options: SqliteOptions): void {
  if (fileIdentity(accessLogPath(options)) !== fileIdentity(options.path)) return;
  const sentence = `The access log must be another file than the database ${options.path}.`;
  throw new StoreUnfit("unsafe_settings", sentence);
}

function attempt(act: () => void): void {
  try {
    act();
  } catch {
    // Best effort: a transaction is lost, the next open checkpoints, memory is kept.
  }
}

/** How many events and entries of the ledger a commit has added. */
const entriesBetween = (before: Readonly<Heads> | undefined, after: Readonly<Heads>): number =>
  before === undefined
    ? 0
    : after.eventSeq - before.eventSeq + (after.ledgerNumber - before.ledgerNumber);

const fold = "pragma wal_checkpoint(truncate)";
/** Between two looks at the files. */
const watchMs = 1000;
const betweenTriesMs = 200;
const justNowMs = 10;
/**
 * What is not in it is in the cache of the operating system, two microseconds away; more of it only
 * held memory.
 */
const usualCacheKib = 8192;
/** A view reads everything once. */
const viewCacheKib = 8192;
