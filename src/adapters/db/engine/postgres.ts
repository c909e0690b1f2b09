/**
 * PostgreSQL: one reserved connection that writes, a pool that reads, one that listens, a few that
 * hold leases.
 */

import { SQL } from "bun";

import { assert } from "#core/problems.ts";
import { shared } from "#core/shared.ts";
import { type LeaseTroubles, NothingWritten } from "#domain/store.ts";

import { Ahead } from "./ahead.ts";
import { type Engine, eventChannel } from "./engine.ts";
import { saysNotCommitted, StoreUnfit, unreachableDatabase } from "./faults.ts";
import type { Heads } from "./journal.ts";
import { presenceClass } from "./owners.ts";
import { LeaseWatch } from "./lease-watch.ts";
import { type Link, type Patience, usualPatience } from "./postgres-link.ts";
import { Links } from "./postgres-links.ts";
import { connectionOverPostgres } from "./postgres-connection.ts";
import { ServerGuard } from "./postgres-guard.ts";
import { NotificationListener } from "./postgres-listener.ts";
import {
  endPredecessor,
  lockHeads,
  parseHeads,
  type PostgresRows,
  readVersions,
  readViewServer,
  writerSettings,
} from "./postgres-statements.ts";
import { repeated } from "./repeated.ts";
import type { Connection } from "./connection.ts";

/** The members of `database` that PostgreSQL goes by. */
export interface PostgresLimits {
  readonly max_open_conns: number;
  readonly conn_max_lifetime_seconds: number;
  readonly conn_max_idle_time_seconds: number;
}

export interface PostgresOptions extends PostgresLimits {
  readonly driver: "postgres";
  /** `postgres://user:password@host:port/database?sslmode=…&sslrootcert=…`. */
  readonly dsn: string;
  /** True for `pkid migrate` only: pending migrations are applied instead of refused. */
  readonly migrate: boolean;
  /** How long silence is borne; the usual time without it. */
  readonly patience?: Patience;
  /** True for commands that only read, which may do so on a standby. */
  readonly acceptsReadOnly?: boolean;
  /** Called with every new connection before its use; an error closes the connection. */
  readonly inspect?: (connection: Connection) => Promise<void>;
}

/**
 * The engine on PostgreSQL 13 or later; `connect` refuses a server that could lose an acknowledged
 * commit (V-6).
 */
export class PostgresEngine implements Engine {
  readonly dialect = "postgres";
  /** A connection that failed is replaced; what the server acknowledged it has. */
  readonly stopped = false;
  readonly reader: Connection;
  readonly writer: Connection;
  readonly #patience: Patience;
  readonly #owner: number;
  readonly #onFault: (sentence: string, error: unknown) => void;
  readonly #reading: Links;
  /**
   * Apart from those that read: who holds a lease reads while it does, and must not wait for those
   * who want one.
   */
  readonly #leases: Links;
  readonly #leaseWatch = new LeaseWatch();
  readonly #guard: ServerGuard;
  readonly #listener: NotificationListener;
  #writing: Link | undefined;
  #wake: (seq?: number) => void = () => {};
  #closed = false;
  #begun: Readonly<Heads> | undefined;
  /** Of the batch under way. */
  #ahead = new Ahead();
  #watchdog: ReturnType<typeof setTimeout> | undefined;
  #writeMs: number | undefined;
  /** What a later question is answered is good for an earlier one too. */
  readonly #moving = shared(() => repeated(() => this.#readMoving(), silenceMilliseconds));
  readonly rowsVersion = async () => (await this.#moving()).rowsVersion;

  constructor(
    options: PostgresOptions,
    owner: number,
    onFault: (sentence: string, error: unknown) => void,
  ) {
    const patience = options.patience ?? usualPatience;
    const { dsn, acceptsReadOnly = false } = options;
    this.#patience = patience;
    this.#guard = new ServerGuard({
      dsn,
      timeouts: patience,
      acceptsReadOnly,
      inspect: (link) => options.inspect?.(connectionOverPostgres((send) => link.ask(send))),
      onLost: () => this.#lose(),
      onFound: () => void this.#hear(),
      onBeat: (eventSeq) => this.#maintain(eventSeq),
      onError: onFault,
    });
    this.#listener = new NotificationListener({
      dsn,
      channel: eventChannel,
      connectMs: patience.connectMs,
      timeoutMs: patience.statementMs,
      notify: async (payload) =>
        await this.reader.run("select pg_notify($1, $2)", [eventChannel, payload]),
      receive: (payload) => this.#receive(payload),
      onSubscribed: () => this.#wake(),
      onLost: (error) => this.#reportDeaf(error),
    });
    this.#owner = owner;
    this.#onFault = onFault;
    const links = {
      open: () => this.#guard.open(),
      lifetimeMs: options.conn_max_lifetime_seconds * 1000,
      idleMs: options.conn_max_idle_time_seconds * 1000,
    };
    this.#reading = new Links({
      ...links,
      max: options.max_open_conns,
      waitMs: patience.statementMs,
    });
    this.#leases = new Links({ ...links, max: leasesMax, waitMs: 2 * patience.leaseMs });
    this.reader = connectionOverPostgres((send) => this.#read((link) => link.ask(send)));
    this.writer = connectionOverPostgres((send) => this.#write(send));
  }

  /**
   * Makes the writing connection when there is none: sets its limits, checks V-6, marks this store
   * present.
   */
  async connect(): Promise<void> {
    if (this.#writing?.broken === false) return;
    this.#writing = undefined;
    const link = await this.#guard.open();
    try {
      await this.#guard.checkPooling(link);
      assertDurable(link);
      await link.ask((sql) => sql.unsafe(writerSettings));
      await link.ask((sql) => sql.unsafe(endPredecessor, [presenceClass, this.#owner]));
      // Shared, so that a connection the network lost does not keep its successor out.
      await link.ask((sql) =>
        sql.unsafe("select pg_advisory_lock_shared($1::int, $2::int)", [
          presenceClass,
          this.#owner,
        ]),
      );
    } catch (error) {
      link.giveUp();
      throw error;
    }
    this.#writing = link;
  }

  writerAfter(before: () => void | Promise<void>): Connection {
    return connectionOverPostgres(async (send) => {
      const wait = before();
      if (wait !== undefined) await wait;
      const ahead = this.#ahead;
      return await this.#write(send).catch((error) => ahead.rethrow(error));
    });
  }

  async view<T>(read: (connection: Connection) => Promise<T>): Promise<T> {
    return await this.#read(async (link) => {
      try {
        await link.ask((sql) => sql.unsafe("begin isolation level repeatable read read only"));
        await this.#checkView(link);
        return await read(connectionOverPostgres((send) => link.ask(send)));
      } finally {
        await endedOrGivenUp(link, "rollback");
      }
    });
  }

  async exclusively<T>(name: string, work: () => Promise<T>): Promise<T> {
    return await this.#leases.use(async (link) => {
      this.#guard.assertSharedServer(link);
      let began = false;
      try {
        began = await this.#leased(link, name);
        return await work();
      } finally {
        const kept = await endedOrGivenUp(
          link,
          "select pg_advisory_unlock_all(); reset lock_timeout; reset statement_timeout",
        );
        if (began && !kept) this.#leaseWatch.note("lost");
      }
    });
  }

  get clockOffsetMs(): number | undefined {
    return this.#guard.clockOffsetMs;
  }

  get leaseTroubles(): LeaseTroubles {
    return this.#leaseWatch.troubles;
  }

  /**
   * Waits for the lock of that name; false when another kept it for too long. A connection that
   * ends, however it ends, leaves it to the next in line.
   */
  async #leased(link: Link, name: string): Promise<boolean> {
    const { leaseMs, statementMs } = this.#patience;
    const limits = `set lock_timeout = ${leaseMs}; set statement_timeout = 0`;
    await link.ask((sql) => sql.unsafe(limits));
    const lock = "select pg_advisory_lock($1::int, hashtext($2))";
    try {
      await link.ask((sql) => sql.unsafe(lock, [leaseClass, name]), leaseMs + statementMs);
      return true;
    } catch (error) {
      if (!waitedTooLong(error)) throw error;
      this.#leaseWatch.note("shared");
      return false;
    }
  }

  /**
   * Lets statements of `work` take as long as they need, as migrations do; a database that goes
   * still ends them.
   */
  async unhurried<T>(work: () => Promise<T>): Promise<T> {
    this.#writeMs = unhurriedMilliseconds;
    try {
      return await work();
    } finally {
      this.#writeMs = undefined;
    }
  }

  async begin(foresee: () => Promise<void> = async () => {}): Promise<Readonly<Heads>> {
    this.#guard.assertSafe();
    await this.connect();
    // A server that vanishes without a word would hold the queue for as long as TCP hopes.
    this.#watchdog = setTimeout(() => this.#drop(), batchMilliseconds);
    this.#sendAhead((sql) => sql`begin isolation level read committed`);
    // Each statement sees what was committed before it began: those behind the lock, everything.
    const locked = this.#write((sql) => lockHeads(sql).values().execute());
    const [rows] = await Promise.all([locked, foresee()]);
    const heads = parseHeads(rows[0]);
    this.#begun = { ...heads, rowsVersion: this.#countVersion(heads.rowsVersion) };
    return this.#begun;
  }

  ahead(written: Promise<unknown>): void {
    this.#ahead.add(written);
  }

  savepoint(): void {
    this.#sendAhead((sql) => sql`savepoint unit`);
  }

  release(): void {
    this.#sendAhead((sql) => sql`release unit`);
  }

  async rollbackToSavepoint(): Promise<void> {
    await this.#write((sql) => sql`rollback to unit`.execute());
    // It succeeds only where nothing failed before the savepoint.
    this.#ahead.undone();
    this.release();
  }

  async commit(heads: Readonly<Heads>): Promise<void> {
    if (heads.eventSeq !== this.#begun?.eventSeq) {
      const values = [eventChannel, `${heads.eventSeq}`];
      this.ahead(this.#write((sql) => sql.unsafe("select pg_notify($1, $2)", values).execute()));
    }
    // What the driver could not send has said so after a turn; what comes later is the server's
    // answer, and the server does not commit what it has failed.
    await new Promise((resume) => setImmediate(resume));
    this.#assertSent(unwritten);
    const answer = this.#write((sql) => sql`commit`.execute()).catch((error) => {
      throw saysNotCommitted(error) || this.#ahead.failed ? unwritten(error) : error;
    });
    const [{ command }] = await Promise.all([answer, this.#ahead.answered()]);
    // A transaction in which a statement failed is rolled back by its commit, which is no error to
    // PostgreSQL.
    if (command !== "COMMIT") {
      throw unwritten(this.#ahead.failed?.cause ?? new Error(`a commit was answered ${command}`));
    }
    this.#assertSent((cause) => cause);
    this.#settle();
  }

  async rollback(): Promise<void> {
    try {
      if (this.#writing !== undefined) await this.#write((sql) => sql.unsafe("rollback"));
      this.#settle();
    } catch {
      // A connection that cannot roll back is closed, which rolls back; the next batch takes a new
      // one.
      this.#drop();
    }
  }

  async revocationSequence(): Promise<number> {
    return (await this.#moving()).revocationSequence;
  }

  async revocationStamp(): Promise<number> {
    return (await this.#moving()).revocationStamp;
  }

  /**
   * Also starts the watch, whose every question tells the last event, so that a lost notification
   * is made good.
   */
  async listen(wake: (seq?: number) => void): Promise<void> {
    this.#wake = wake;
    this.#guard.start();
    await this.#hear();
  }

  async ping(): Promise<void> {
    const { promise, reject } = Promise.withResolvers<never>();
    const late = () => reject(new StoreUnfit("unreachable", "The database does not answer."));
    const timer = setTimeout(late, pingMilliseconds);
    try {
      await Promise.race([this.#moving(), promise]);
    } finally {
      clearTimeout(timer);
    }
    this.#guard.assertSafe();
  }

  /** What it remembers is the server's. */
  rest(): void {}

  async close(): Promise<void> {
    this.#closed = true;
    this.#guard.stop();
    this.#drop();
    this.#listener.close();
    this.#reading.close();
    this.#leases.close();
  }

  /**
   * Reads the versions of cached rows and, in the same statement, whether the server takes writes:
   * only then are they the newest.
   */
  async #readMoving() {
    const row = await this.#read(async (link) => {
      const rows: PostgresRows = await link.ask((sql) => sql.unsafe(readVersions, [1]).values());
      const [, , readOnly, backend] = rows[0] ?? [];
      this.#guard.readmit(link, { isReadOnly: readOnly !== "off", backend: String(backend) });
      return rows[0];
    });
    assert(row !== undefined, "there is one head row");
    const [revocationSequence = 0, version = 0] = row.map(Number);
    return {
      revocationSequence,
      revocationStamp: this.#countVersion(revocationSequence),
      rowsVersion: this.#countVersion(version),
    };
  }

  /** A view is read-only on any server; its default is not. */
  async #checkView(link: Link): Promise<void> {
    const rows: PostgresRows = await link.ask((sql) => sql.unsafe(readViewServer).values());
    const [readOnly, standby] = rows[0] ?? [];
    this.#guard.readmit(link, { isReadOnly: readOnly !== "off", isStandby: standby !== "false" });
  }

  /** Adds the server to a version: two servers may count alike and differ in their rows. */
  #countVersion(version: number): number {
    return this.#guard.epoch * versionsPerServer + version;
  }

  #read<T>(work: (link: Link) => Promise<T>): Promise<T> {
    return this.#reading.use(async (link) => {
      this.#guard.assertSharedServer(link);
      return await work(link);
    });
  }

  #write<T>(send: (sql: SQL) => PromiseLike<T>): Promise<T> {
    // The watchdog gave it up between two statements: the database is at fault, so the whole batch
    // is.
    if (this.#writing === undefined) return Promise.reject(unreachableDatabase());
    return this.#writing.ask(send, this.#writeMs);
  }

  /**
   * The server answers in order, so the next statement need not wait for this one's round trip. It
   * is a template, because the driver prepares those: of a text that it sends as it is, it waits
   * for the answer before it sends anything else.
   */
  #sendAhead(statement: (sql: SQL) => SQL.Query<unknown>): void {
    this.#ahead.add(this.#write((sql) => statement(sql).execute()));
  }

  #assertSent(fault: (cause: unknown) => unknown): void {
    const { unsent } = this.#ahead;
    if (unsent !== undefined) throw fault(unsent.cause);
  }

  #settle(): void {
    clearTimeout(this.#watchdog);
    this.#ahead = new Ahead();
    this.#begun = undefined;
  }

  #drop(): void {
    const link = this.#writing;
    this.#writing = undefined;
    this.#settle();
    link?.giveUp();
  }

  #maintain(eventSeq: number): void {
    this.#wake(eventSeq);
    this.#reading.sweep();
    this.#leases.sweep();
    if (this.#listener.isDue) void this.#hear();
  }

  #lose(): void {
    this.#drop();
    this.#reading.giveUp();
    this.#leases.giveUp();
    this.#listener.close();
  }

  /** Has events told, or else only asked for; never throws. */
  async #hear(): Promise<void> {
    try {
      await this.#listener.open();
    } catch (error) {
      this.#reportDeaf(error);
    }
  }

  #reportDeaf(error: unknown): void {
    if (!this.#closed) this.#onFault("the database tells no events; they are asked for", error);
  }

  #receive(payload: string): void {
    // While this store's batch holds the head row no other appends: its own events are told when
    // the commit is answered, and need not be read.
    const own = this.#begun !== undefined && Number(payload) > this.#begun.eventSeq;
    if (!own) this.#wake(Number(payload));
  }
}

const unwritten = (cause: unknown) => new NothingWritten("nothing was committed", { cause });

/**
 * Ends what a connection that is lent again must not carry on; one that cannot is given up, which
 * ends it too.
 */
/** False for a connection that could not be asked any more. */
async function endedOrGivenUp(link: Link, text: string): Promise<boolean> {
  try {
    await link.ask((sql) => sql.unsafe(text));
    return true;
  } catch {
    link.giveUp(); // Whatever was open on it ends with it.
    return false;
  }
}

/** V-6: a commit that is acknowledged must survive a crash of the server. */
function assertDurable({ server }: Link): void {
  const [setting] = server.unsafeSettings;
  if (setting === undefined) return;
  throw new StoreUnfit("unsafe_settings", `PostgreSQL runs with ${setting} off.`);
}

const waitedTooLong = (error: unknown): boolean =>
  error instanceof SQL.PostgresError && error.errno === lockNotAvailable;

/**
 * First half of the advisory locks that are leases; the second is the hash of what they are for.
 */
const leaseClass = presenceClass + 1;
/** Work under a lease takes no other, so any number above zero lets it end. */
const leasesMax = 4;
/** SQLSTATE lock_not_available. */
const lockNotAvailable = "55P03";
const batchMilliseconds = 15_000;
/** What a migration of a large database may take. */
const unhurriedMilliseconds = 3_600_000;
const pingMilliseconds = 3000;
/** After which a question that everybody waits for is asked over another connection too. */
const silenceMilliseconds = 250;
/** First version that is counted for the next server. */
const versionsPerServer = 2 ** 32;
