/**
 * One PostgreSQL connection whose every statement has a deadline on this side; past it the
 * connection is given up.
 */

import { type ReservedSQL, SQL } from "bun";

import { unreachableDatabase } from "./faults.ts";

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
  /** For a lease that another has; then the work is done beside it. */
  readonly leaseMs: number;
}

/** What a link is opened with. */
export interface LinkOptions {
  readonly dsn: string;
  readonly patience: Patience;
  /** Called before the link is returned; an error closes the link. */
  readonly inspect?: (link: Link) => Promise<void> | undefined;
}

/** An open connection, used by one caller at a time. A transaction on it never outlives it. */
export class Link {
  readonly #pool: SQL;
  readonly #connection: ReservedSQL;
  readonly #patience: Patience;
  readonly #state: { broken: boolean };
  readonly openedAt = performance.now();
  /** When it was last given back. */
  idleSince = this.openedAt;

  /** Connects; throws the driver's error when there is no answer within `connectMs`. */
  static async open({ dsn, patience, inspect }: LinkOptions): Promise<Link> {
    const state = { broken: false };
    const pool = new SQL({
      url: dsn,
      max: 1,
      connectionTimeout: patience.connectMs / 1000,
      idleTimeout: 0,
      maxLifetime: 0,
      connection: serverSettings,
      onclose: () => {
        state.broken = true;
      },
    });
    try {
      // Reserved, because the driver would go on over a new connection in the middle of a
      // transaction.
      const link = new Link(pool, await pool.reserve(), patience, state);
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
    patience: Patience,
    state: { broken: boolean },
  ) {
    this.#pool = pool;
    this.#connection = connection;
    this.#patience = patience;
    this.#state = state;
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
        reject(error);
      },
    );
    return promise;
  }

  /** Ends the connection without a word to the server; what is under way rejects at once. */
  giveUp(): void {
    this.#state.broken = true;
    endAtOnce(this.#pool);
  }
}

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

/** Refused well within 15 s whatever hangs, and back within 5 s of the path. */
export const usualPatience: Patience = {
  connectMs: 3000,
  statementMs: 12_000,
  beatEveryMs: 2000,
  beatMs: 5000,
  leaseMs: 60_000,
};
