/** PostgreSQL: one reserved connection that writes, a pool that reads, one that listens, a few that hold leases. */

import { type ReservedSQL, SQL } from "bun";
import { drizzle } from "drizzle-orm/bun-sql";

import { assert } from "#core/problems.ts";
import { storedHeads } from "./audit.ts";
import type { Engine } from "./engine.ts";
import { StoreUnfit } from "./faults.ts";
import type { Heads } from "./journal.ts";
import { postgresKit } from "./kit.ts";
import { presenceClass } from "./owners.ts";
import { defineTables } from "./schema.ts";
import type { Db, Session, Value } from "./session.ts";

export interface PostgresOptions {
  readonly driver: "postgres";
  /** `postgres://user:password@host:port/database?sslmode=…&sslrootcert=…`. */
  readonly dsn: string;
  readonly maxOpenConns: number;
  readonly connMaxLifetimeSeconds: number;
  readonly connMaxIdleTimeSeconds: number;
  /** True for `pkid migrate` only: pending migrations are applied instead of refused. */
  readonly migrate: boolean;
}

/** The engine on PostgreSQL 13 or later; `connect` refuses a server that could lose an acknowledged commit (V-6). */
export class PostgresEngine implements Engine {
  readonly dialect = "postgres";
  /** A connection that failed is replaced; what the server acknowledged it has. */
  readonly stopped = false;
  readonly reader: Session;
  readonly writer: Session;
  readonly #owner: number;
  readonly #pool: SQL;
  readonly #writing: SQL;
  /** Apart from the pool: who holds a lease reads while it does, and must not wait for those who want one. */
  readonly #leases: SQL;
  #connection: ReservedSQL | undefined;
  #begun: Readonly<Heads> | undefined;
  /** Statements sent ahead of their answers; all must have succeeded before the commit. */
  #ahead: Promise<unknown>[] = [];
  #watchdog: ReturnType<typeof setTimeout> | undefined;
  readonly #sequence = joined(async () => (await storedHeads(this.reader)).revocationSequence);

  constructor(options: PostgresOptions, owner: number) {
    const url = options.dsn;
    const connectionTimeout = 5;
    this.#owner = owner;
    this.#pool = new SQL({
      ...{ url, connectionTimeout, max: options.maxOpenConns },
      ...{ idleTimeout: options.connMaxIdleTimeSeconds },
      maxLifetime: options.connMaxLifetimeSeconds,
    });
    this.#writing = new SQL({ url, connectionTimeout, max: 1, idleTimeout: 0, maxLifetime: 0 });
    this.#leases = new SQL({ url, connectionTimeout, max: leasesMax, idleTimeout: 60 });
    this.reader = postgresSession(() => this.#pool);
    this.writer = postgresSession(() => this.#connected());
  }

  /** Reserves the writing connection when there is none: sets its limits, checks V-6, marks this store present. */
  async connect(): Promise<void> {
    if (this.#connection) return;
    const connection = await this.#writing.reserve();
    try {
      await connection.unsafe(writerSettings);
      await assertDurable(connection);
      // Shared, so that a session the network lost does not keep its successor out.
      await connection.unsafe("select pg_advisory_lock_shared($1::int, $2::int)", [
        presenceClass,
        this.#owner,
      ]);
    } catch (error) {
      await connection.close();
      throw error;
    }
    this.#connection = connection;
  }

  async view<T>(read: (session: Session) => Promise<T>): Promise<T> {
    const connection = await this.#pool.reserve();
    try {
      await connection.unsafe("begin isolation level repeatable read read only");
      return await read(postgresSession(() => connection));
    } finally {
      // A connection that cannot end its transaction is not given back.
      await connection.unsafe("rollback").then(
        () => connection.release(),
        () => connection.close(),
      );
    }
  }

  async exclusively<T>(name: string, work: () => Promise<T>): Promise<T> {
    const connection = await this.#leases.reserve();
    try {
      await connection.unsafe(`set lock_timeout = ${leaseMilliseconds}`);
      // A session that ends, however it ends, leaves the lock to the next in line.
      await connection
        .unsafe("select pg_advisory_lock($1::int, hashtext($2))", [leaseClass, name])
        .catch(unlessWaitedTooLong);
      return await work();
    } finally {
      await connection.unsafe("select pg_advisory_unlock_all(); reset lock_timeout").then(
        () => connection.release(),
        () => connection.close(),
      );
    }
  }

  async begin(): Promise<Readonly<Heads>> {
    await this.connect();
    // A server that vanishes without a word would hold the queue for as long as TCP hopes.
    this.#watchdog = setTimeout(() => this.#drop(), batchMilliseconds);
    this.#sendAhead("begin isolation level read committed");
    const rows = await this.#connected().unsafe(lockHeads).values();
    this.#begun = headsOf(rows[0]);
    return this.#begun;
  }

  savepoint(): void {
    this.#sendAhead("savepoint unit");
  }

  release(): void {
    this.#sendAhead("release unit");
  }

  async rollbackToSavepoint(): Promise<void> {
    await this.#connected().unsafe("rollback to unit");
    this.release();
  }

  async commit(heads: Readonly<Heads>): Promise<void> {
    if (heads.eventSeq !== this.#begun?.eventSeq) {
      this.#sendAhead(`select pg_notify('${channel}', '${heads.eventSeq}')`);
    }
    await Promise.all(this.#ahead);
    await this.#connected().unsafe("commit");
    this.#settle();
  }

  async rollback(): Promise<void> {
    try {
      await this.#connection?.unsafe("rollback");
      this.#settle();
    } catch {
      // A connection that cannot roll back is closed, which rolls back; the next batch takes a new one.
      this.#drop();
    }
  }

  revocationSequence(): Promise<number> {
    return this.#sequence();
  }

  async listen(wake: (seq?: number) => void): Promise<void> {
    const woken = (payload: string) => wake(Number(payload));
    await this.#pool.listen(channel, woken, () => wake());
  }

  async ping(): Promise<void> {
    const { promise, reject } = Promise.withResolvers<never>();
    const late = () => reject(new StoreUnfit("unreachable", "The database does not answer."));
    const timer = setTimeout(late, pingMilliseconds);
    try {
      await Promise.race([this.#pool.unsafe("select 1"), promise]);
    } finally {
      clearTimeout(timer);
    }
  }

  async close(): Promise<void> {
    this.#drop();
    const pools = [this.#pool, this.#leases, this.#writing];
    await Promise.all(pools.map((pool) => pool.close({ timeout: 1 })));
  }

  #connected(): ReservedSQL {
    // The watchdog gave it up between two statements: the database is at fault, so the whole batch is.
    if (this.#connection === undefined)
      throw Object.assign(new Error(givenUp), { code: "ETIMEDOUT" });
    return this.#connection;
  }

  /** The server answers in order, so the next statement need not wait for this one's round trip. */
  #sendAhead(text: string): void {
    const sent = this.#connected().unsafe(text).execute();
    // Awaited before the commit; until then a rejection must not count as unhandled.
    sent.catch(() => {});
    this.#ahead.push(sent);
  }

  #settle(): void {
    clearTimeout(this.#watchdog);
    this.#ahead = [];
    this.#begun = undefined;
  }

  #drop(): void {
    const connection = this.#connection;
    this.#connection = undefined;
    this.#settle();
    // Closing an already broken connection may fail; it is gone either way.
    connection?.close().catch(() => {});
  }
}

function postgresSession(client: () => SQL): Session {
  // All that the query builder asks of its client is `unsafe`.
  const shim = { unsafe: (text: string, values?: unknown[]) => client().unsafe(text, values) };
  // Both casts: `kit.ts` says why SQLite's types hold for what the repositories use.
  const db = drizzle({ client: shim as unknown as SQL }) as unknown as Db;
  return {
    ...{ dialect: "postgres", t: tables, db },
    run: async (text: string, values: readonly Value[]) => {
      const given = values.length === 0 ? undefined : [...values];
      const result: { readonly count: number } = await client().unsafe(text, given);
      return result.count;
    },
    row: async (text: string, values: readonly Value[]) => {
      const rows: readonly (readonly unknown[])[] = await client()
        .unsafe(text, [...values])
        .values();
      return rows[0];
    },
    rows: async (text: string, values: readonly Value[]) =>
      await client()
        .unsafe(text, [...values])
        .values(),
  };
}

/** V-6: a commit that is acknowledged must survive a crash of the server. */
async function assertDurable(connection: ReservedSQL): Promise<void> {
  for (const setting of ["fsync", "synchronous_commit"]) {
    const [row] = await connection.unsafe(`show ${setting}`);
    if (row?.[setting] === "off") {
      throw new StoreUnfit("unsafe_settings", `PostgreSQL runs with ${setting} off.`);
    }
  }
}

function headsOf(row: unknown): Readonly<Heads> {
  assert(Array.isArray(row), "there is one head row");
  const [eventSeq, eventHash, ledgerNumber, ledgerHash, revocationSequence] = row.map(String);
  return {
    ...{ eventSeq: Number(eventSeq), eventHash: eventHash ?? "" },
    ...{ ledgerNumber: Number(ledgerNumber), ledgerHash: ledgerHash ?? "" },
    revocationSequence: Number(revocationSequence),
  };
}

/**
 * Lets callers share one read: who asks while a read is under way waits for the next one,
 * so that the answer is never older than the question.
 */
function joined<T>(read: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined;
  let next: Promise<T> | undefined;
  const start = (): Promise<T> => {
    next = undefined;
    const started = read().finally(() => {
      running = undefined;
    });
    running = started;
    return started;
  };
  return () => {
    if (running === undefined) return start();
    next ??= running.then(start, start);
    return next;
  };
}

function unlessWaitedTooLong(error: unknown): void {
  if (!(error instanceof SQL.PostgresError) || error.errno !== lockNotAvailable) throw error;
}

const tables = defineTables(postgresKit);
/** First half of the advisory locks that are leases; the second is the hash of what they are for. */
const leaseClass = presenceClass + 1;
const leaseMilliseconds = 60_000;
/** Work under a lease takes no other, so any number above zero lets it end. */
const leasesMax = 4;
/** SQLSTATE lock_not_available. */
const lockNotAvailable = "55P03";
const channel = "pkid_events";
const batchMilliseconds = 15_000;
const givenUp = "the writing connection was given up while a batch ran";
const pingMilliseconds = 3000;
const lockHeads =
  "select event_seq, event_hash, ledger_number, ledger_hash, revocation_sequence from heads where id = 1 for update";
// A replica that stalls or is cut off must not keep the head row from all others.
const writerSettings = [
  ...["set statement_timeout = 10000", "set lock_timeout = 10000"],
  "set idle_in_transaction_session_timeout = 10000",
  ...["set tcp_keepalives_idle = 15", "set tcp_keepalives_interval = 5"],
  "set tcp_keepalives_count = 3",
].join("; ");
