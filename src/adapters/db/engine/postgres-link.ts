/**
 * One PostgreSQL connection whose every statement has a deadline on this side; past it the
 * connection is given up.
 */

import { type ReservedSQL, SQL } from "bun";

import { assert } from "#core/problems.ts";

import { isReadOnlyServer, isUnsupported, unreachableDatabase } from "./faults.ts";
import {
  parseServerState,
  serverColumns,
  basicServerColumns,
  type ServerState,
} from "./postgres-server.ts";

/**
 * How long this side waits, in milliseconds, before it takes a connection or the whole database for
 * lost.
 */
export interface Patience {
  /** For a connection to be made. */
  readonly connectMs: number;
  /**
   * For the answer to one statement; longer than the server's own limit, so that only silence
   * reaches it.
   */
  readonly statementMs: number;
  /** Between two questions whether the database is there. */
  readonly beatEveryMs: number;
  /** For the answer to that question. */
  readonly beatMs: number;
  /** For new connections to fail while an open one works; the address may lead to nothing. */
  readonly unconfirmedMs: number;
  /** For a lease that another has; then the work is done beside it. */
  readonly leaseMs: number;
}

/** What a link is opened with. */
export interface LinkOptions {
  readonly dsn: string;
  readonly patience: Patience;
  /** Called if the server refuses a write because it is read-only. */
  readonly onReadOnly: () => void;
  /** Called before the link is returned; an error closes the link. */
  readonly inspect?: (link: Link) => Promise<void> | undefined;
}

/** An open connection, used by one caller at a time. A transaction on it never outlives it. */
export class Link {
  readonly #pool: SQL;
  readonly #connection: ReservedSQL;
  readonly #patience: Patience;
  readonly #onReadOnly: () => void;
  readonly #state: { broken: boolean };
  #columns = serverColumns;
  #server: ServerState | undefined;
  /** Clock of the server minus clock of this host when the connection was opened. */
  clockOffsetMs = 0;
  readonly openedAt = performance.now();
  /** When it was last given back. */
  idleSince = this.openedAt;

  /** Connects; throws the driver's error when there is no answer within `connectMs`. */
  static async open({ dsn, patience, onReadOnly, inspect }: LinkOptions): Promise<Link> {
    const state = { broken: false };
    const pool = new SQL({
      url: dsn,
      max: 1,
      connectionTimeout: patience.connectMs / 1000,
      idleTimeout: 0,
      maxLifetime: 0,
      onclose: () => {
        state.broken = true;
      },
    });
    try {
      // Reserved, because the driver would go on over a new connection in the middle of a
      // transaction.
      const link = new Link(pool, await pool.reserve(), { patience, onReadOnly }, state);
      await link.#start();
      await inspect?.(link);
      return link;
    } catch (error) {
      endAtOnce(pool);
      throw error;
    }
  }

  private constructor(
    pool: SQL,
    connection: ReservedSQL,
    { patience, onReadOnly }: Omit<LinkOptions, "dsn">,
    state: { broken: boolean },
  ) {
    this.#pool = pool;
    this.#connection = connection;
    this.#patience = patience;
    this.#onReadOnly = onReadOnly;
    this.#state = state;
  }

  /** State of the server when the connection was opened. */
  get server(): ServerState {
    assert(this.#server !== undefined, "a connection is lent after it has started");
    return this.#server;
  }

  /** Returns the present state of the server, outside a transaction. */
  async readServer(timeoutMs: number): Promise<ServerState> {
    const [row] = await this.#query(`select ${this.#columns}`, timeoutMs);
    return parseServerState(row);
  }

  /**
   * Ends the server process of the connection if a pooler had kept it from an earlier client, so
   * that the pooler connects again. Returns true if it was ended.
   */
  async endPooledSession(): Promise<boolean> {
    try {
      await this.#query(endPooled, this.#patience.connectMs);
      return false;
    } catch (error) {
      return isEndedByAdministrator(error);
    }
  }

  /** True once nothing more can be asked over it. */
  get broken(): boolean {
    return this.#state.broken;
  }

  /**
   * Sends one statement; after `deadlineMs` without its answer the link is given up and the promise
   * rejects.
   */
  ask<T>(
    send: (connection: SQL) => PromiseLike<T>,
    deadlineMs: number = this.#patience.statementMs,
  ): Promise<T> {
    if (this.#state.broken) return Promise.reject(unreachableDatabase());
    let sent: PromiseLike<T>;
    try {
      sent = send(this.#connection);
    } catch (error) {
      return Promise.reject(error); // Nothing was sent, so nothing is waited for.
    }
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const late = () => {
      this.giveUp();
      reject(unreachableDatabase());
    };
    // What has come while this thread was busy is read before the silence is believed.
    let timer = setTimeout(() => {
      timer = setTimeout(late, secondLookMs);
    }, deadlineMs);
    sent.then(
      (answer) => {
        clearTimeout(timer);
        resolve(answer);
      },
      (error) => {
        clearTimeout(timer);
        if (isReadOnlyServer(error)) this.#onReadOnly();
        reject(error);
      },
    );
    return promise;
  }

  /**
   * Applies the limits of the server and reads its state. The limits are not startup parameters,
   * because PgBouncer refuses parameters that it does not track.
   */
  async #start(): Promise<void> {
    const settings = Object.entries(serverSettings).map(
      ([name, value]) => `set_config('${name}', '${value}', false)`,
    );
    const query = (): Promise<Rows> =>
      this.#query(`select ${settings.join(", ")}, ${this.#columns}`, this.#patience.connectMs);
    const [row, sentAt] = await timeQuery(query).catch((error) => {
      if (!isUnsupported(error)) throw error;
      this.#columns = basicServerColumns;
      return timeQuery(query);
    });
    this.#server = parseServerState(row);
    this.clockOffsetMs = this.#server.clockMs - sentAt;
  }

  #query(text: string, timeoutMs: number): Promise<Rows> {
    return this.ask((sql) => sql.unsafe(text).values(), timeoutMs);
  }

  /** Ends the connection without a word to the server; what is under way rejects at once. */
  giveUp(): void {
    this.#state.broken = true;
    endAtOnce(this.#pool);
  }
}

type Rows = readonly (readonly unknown[])[];

/** Returns the first row, and the time of this host at half of the round trip. */
async function timeQuery(
  query: () => Promise<Rows>,
): Promise<readonly [readonly unknown[] | undefined, number]> {
  const sentAt = Date.now();
  const [row] = await query();
  return [row, (sentAt + Date.now()) / 2];
}

/** SQLSTATE admin_shutdown. */
const isEndedByAdministrator = (error: unknown): boolean =>
  error instanceof SQL.PostgresError && error.errno === "57P01";

function endAtOnce(pool: SQL): void {
  // Closing what is broken already may fail; it is gone either way.
  pool.close({ timeout: 0 }).catch(() => {});
}

/**
 * The server ends what takes longer, and what a lost client left behind, before a client here loses
 * its patience.
 */
const serverSettings = {
  statement_timeout: 10_000,
  tcp_keepalives_idle: 15,
  tcp_keepalives_interval: 5,
  tcp_keepalives_count: 3,
};
const secondLookMs = 50;
const endPooled = `select pg_terminate_backend(pid) from pg_stat_activity
  where pid = pg_backend_pid() and backend_start < statement_timestamp() - interval '2 seconds'`;

/** Refused well within 15 s whatever hangs, and back within 5 s of the path. */
export const usualPatience: Patience = {
  connectMs: 3000,
  statementMs: 12_000,
  beatEveryMs: 1000,
  beatMs: 5000,
  unconfirmedMs: 5000,
  leaseMs: 60_000,
};
