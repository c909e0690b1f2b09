/**
 * PostgreSQL: one reserved connection that writes, a pool that reads, one that listens, a few that
 * hold leases.
 */

import { SQL } from "bun";

import { assert } from "#core/problems.ts";
import { shared } from "#core/shared.ts";
import { type LeaseTroubles, NothingWritten } from "#domain/store.ts";

import { Ahead } from "./ahead.ts";
import type { Engine } from "./engine.ts";
import { saysNotCommitted, StoreUnfit, unreachableDatabase } from "./faults.ts";
import type { Heads } from "./journal.ts";
import { presenceClass } from "./owners.ts";
import { LeaseWatch } from "./lease-watch.ts";
import { Link, type LinkOptions, type Patience, usualPatience } from "./postgres-link.ts";
import { Links } from "./postgres-links.ts";
import { connectionOverPostgres } from "./postgres-connection.ts";
import { Watch } from "./postgres-watch.ts";
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
  readonly #options: LinkOptions;
  readonly #owner: number;
  readonly #onFault: (sentence: string, error: unknown) => void;
  readonly #reading: Links;
  /**
   * Apart from those that read: who holds a lease reads while it does, and must not wait for those
   * who want one.
   */
  readonly #leases: Links;
  readonly #leaseWatch = new LeaseWatch();
  readonly #watch: Watch;
  #writing: Link | undefined;
  #beating: Link | undefined;
  #listening: SQL | undefined;
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
    const inspect = (link: Link) =>
      options.inspect?.(connectionOverPostgres((send) => link.ask(send)));
    this.#options = { dsn: options.dsn, patience, inspect };
    this.#owner = owner;
    this.#onFault = onFault;
    const links = {
      open: () => this.#open(),
      lifetimeMs: options.conn_max_lifetime_seconds * 1000,
      idleMs: options.conn_max_idle_time_seconds * 1000,
    };
    this.#reading = new Links({
      ...links,
      max: options.max_open_conns,
      waitMs: patience.statementMs,
    });
    this.#leases = new Links({ ...links, max: leasesMax, waitMs: 2 * patience.leaseMs });
    this.#watch = new Watch({
      beat: () => this.#beat(),
      everyMs: patience.beatEveryMs,
      lost: (error) => this.#lost(error),
      found: () => this.#found(),
    });
    this.reader = connectionOverPostgres((send) => this.#reading.use((link) => link.ask(send)));
    this.writer = connectionOverPostgres((send) => this.#write(send));
  }

  /**
   * Makes the writing connection when there is none: sets its limits, checks V-6, marks this store
   * present.
   */
  async connect(): Promise<void> {
    if (this.#writing?.broken === false) return;
    this.#writing = undefined;
    const link = await this.#open();
    try {
      await link.ask((sql) => sql.unsafe(writerSettings));
      await assertDurable(link);
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
    return await this.#reading.use(async (link) => {
      try {
        await link.ask((sql) => sql.unsafe("begin isolation level repeatable read read only"));
        return await read(connectionOverPostgres((send) => link.ask(send)));
      } finally {
        await endedOrGivenUp(link, "rollback");
      }
    });
  }

  async exclusively<T>(name: string, work: () => Promise<T>): Promise<T> {
    return await this.#leases.use(async (link) => {
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

  get leaseTroubles(): LeaseTroubles {
    return this.#leaseWatch.troubles;
  }

  /**
   * Waits for the lock of that name; false when another kept it for too long. A connection that
   * ends, however it ends, leaves it to the next in line.
   */
  async #leased(link: Link, name: string): Promise<boolean> {
    const { leaseMs, statementMs } = this.#options.patience;
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
    await this.connect();
    // A server that vanishes without a word would hold the queue for as long as TCP hopes.
    this.#watchdog = setTimeout(() => this.#drop(), batchMilliseconds);
    this.#sendAhead((sql) => sql`begin isolation level read committed`);
    // Each statement sees what was committed before it began: those behind the lock, everything.
    const locked = this.#write((sql) => lockedHeads(sql).values().execute());
    const [rows] = await Promise.all([locked, foresee()]);
    this.#begun = headsOf(rows[0]);
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
      const values = [channel, `${heads.eventSeq}`];
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

  /**
   * Also starts the watch, whose every question tells the last event, so that a lost notification
   * is made good.
   */
  async listen(wake: (seq?: number) => void): Promise<void> {
    this.#wake = wake;
    this.#watch.start();
    await this.#hear();
  }

  async ping(): Promise<void> {
    const { promise, reject } = Promise.withResolvers<never>();
    const late = () => reject(new StoreUnfit("unreachable", "The database does not answer."));
    const timer = setTimeout(late, pingMilliseconds);
    try {
      await Promise.race([this.reader.row("select 1", []), promise]);
    } finally {
      clearTimeout(timer);
    }
  }

  /** What it remembers is the server's. */
  rest(): void {}

  async close(): Promise<void> {
    this.#closed = true;
    this.#watch.stop();
    this.#drop();
    this.#beating?.giveUp();
    this.#unsubscribe();
    this.#reading.close();
    this.#leases.close();
  }

  async #readMoving() {
    const row = await this.reader.row(movingParts, [1]);
    assert(row !== undefined, "there is one head row");
    return { revocationSequence: Number(row[0]), rowsVersion: Number(row[1]) };
  }

  /** A connection, unless it is known that there is none to be had. */
  #open(): Promise<Link> {
    return this.#watch.away ? Promise.reject(unreachableDatabase()) : Link.open(this.#options);
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

  async #beat(): Promise<void> {
    const beating =
      this.#beating?.broken === false ? this.#beating : await Link.open(this.#options);
    this.#beating = beating;
    if (this.#closed) beating.giveUp();
    const rows: readonly (readonly unknown[])[] = await beating.ask(
      (sql) => sql.unsafe("select event_seq from heads where id = 1").values(),
      this.#options.patience.beatMs,
    );
    this.#reading.sweep();
    this.#leases.sweep();
    this.#wake(Number(rows[0]?.[0]));
  }

  /** Whatever is under way over a path that is dead would wait for as long as TCP hopes. */
  #lost(error: unknown): void {
    this.#beating?.giveUp();
    this.#drop();
    this.#reading.giveUp();
    this.#leases.giveUp();
    this.#unsubscribe();
    this.#onFault("the database does not answer", error);
  }

  #found(): void {
    void this.#hear();
  }

  /** Has events told, or else only asked for; never throws. */
  async #hear(): Promise<void> {
    try {
      await this.#subscribe();
    } catch (error) {
      if (!this.#closed) this.#onFault("the database tells no events; they are asked for", error);
    }
  }

  async #subscribe(): Promise<void> {
    const { dsn, patience } = this.#options;
    const connectionTimeout = patience.connectMs / 1000;
    const listening = new SQL({ url: dsn, max: 1, connectionTimeout, idleTimeout: 0 });
    this.#listening = listening;
    const woken = (payload: string) => {
      // While this store's batch holds the head row no other appends: its own events are told
      // when the commit is answered, and need not be read.
      const own = this.#begun !== undefined && Number(payload) > this.#begun.eventSeq;
      if (!own) this.#wake(Number(payload));
    };
    const { promise: late, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => reject(unreachableDatabase()), patience.statementMs);
    try {
      await Promise.race([listening.listen(channel, woken, () => this.#wake()), late]);
    } catch (error) {
      if (this.#listening === listening) this.#unsubscribe();
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  #unsubscribe(): void {
    // Closing what is broken already may fail; it is gone either way.
    this.#listening?.close({ timeout: 0 }).catch(() => {});
    this.#listening = undefined;
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
async function assertDurable(link: Link): Promise<void> {
  for (const setting of ["fsync", "synchronous_commit"]) {
    const [row] = await link.ask((sql) => sql.unsafe(`show ${setting}`));
    if (row?.[setting] === "off") {
      throw new StoreUnfit("unsafe_settings", `PostgreSQL runs with ${setting} off.`);
    }
  }
}

function headsOf(row: unknown): Readonly<Heads> {
  assert(Array.isArray(row), "there is one head row");
  const [eventSeq, eventHash, ledgerNumber, ledgerHash, revocationSequence, rowsVersion] =
    row.map(String);
  return {
    eventSeq: Number(eventSeq),
    eventHash: eventHash ?? "",
    ledgerNumber: Number(ledgerNumber),
    ledgerHash: ledgerHash ?? "",
    revocationSequence: Number(revocationSequence),
    rowsVersion: Number(rowsVersion),
  };
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
const channel = "pkid_events";
const batchMilliseconds = 15_000;
/** What a migration of a large database may take. */
const unhurriedMilliseconds = 3_600_000;
const pingMilliseconds = 3000;
/** After which a question that everybody waits for is asked over another connection too. */
const silenceMilliseconds = 250;
const lockedHeads = (sql: SQL) =>
  sql`select event_seq, event_hash, ledger_number, ledger_hash, revocation_sequence, rows_version from heads where id = 1 for update`;
/** What answers from memory are held against, in one question for all of them. */
const movingParts = "select revocation_sequence, rows_version from heads where id = $1";
/**
 * A writing connection of this store that was given up may still hold the head row, or a commit
 * that is on its way; once it is ended neither happens any more.
 */
const endPredecessor = `select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and objsubid = 2
  and database = (select oid from pg_database where datname = current_database())
  and classid::bigint = $1 and objid::bigint = $2 and pid <> pg_backend_pid()`;
/**
 * A replica that stalls or is cut off must not keep the head row from all others. And what units
 * look up by a key is planned once, when the table may have been empty: not by reading all of it.
 * What can only be read whole seems endlessly dear then, and would be compiled first, for seconds.
 */
const writerSettings = `set lock_timeout = 10000; set idle_in_transaction_session_timeout = 5000;
  set enable_seqscan = off; set jit = off`;
