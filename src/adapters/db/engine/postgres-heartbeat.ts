/** Checks with each beat that the address leads to the shared server. */

import { hasTooManyConnections, UnusableServerError } from "./faults.ts";
import type { Link } from "./postgres-link.ts";
import type { SharedServer } from "./postgres-server.ts";

export interface HeartbeatDeps {
  /** Opens a connection without any check of its server. */
  readonly open: () => Promise<Link>;
  readonly server: SharedServer;
  readonly timeoutMs: number;
  /** Age at which the last new connection no longer shows where the address leads. */
  readonly unconfirmedMs: number;
}

/** Result of one beat. */
export interface Beat {
  /** Sequence number of the last committed event. */
  readonly eventSeq: number;
  /** Reason not to write, although reads are right. */
  readonly unsafe: UnusableServerError | undefined;
  /** Clock of the server minus clock of this host, in milliseconds. */
  readonly clockOffsetMs: number;
}

/**
 * The connection of the beats. Each beat opens a new one: an old connection cannot show that the
 * address leads to another server now.
 */
export class Heartbeat {
  readonly #deps: HeartbeatDeps;
  #link: Link | undefined;
  #confirmedAt = Number.NEGATIVE_INFINITY;
  #closed = false;

  constructor(deps: HeartbeatDeps) {
    this.#deps = deps;
  }

  /**
   * Checks the server over the connection of the last beat and over a new one. After a failure the
   * next beat uses only a new one.
   *
   * @throws {UnusableServerError} if the server is not the shared one or takes no writes
   */
  async beat(): Promise<Beat> {
    try {
      return await this.#check();
    } catch (error) {
      this.disconnect();
      throw error;
    }
  }

  async #check(): Promise<Beat> {
    const { server, timeoutMs } = this.#deps;
    const before = this.#link?.broken === false ? this.#link : undefined;
    if (before !== undefined) server.readmit(before.server, await before.readServer(timeoutMs));
    const link = await this.#openNext(before);
    if (link !== before) before?.giveUp();
    this.#link = link;
    if (this.#closed) link.giveUp();
    const rows: readonly (readonly unknown[])[] = await link.ask(
      (sql) => sql.unsafe("select event_seq from heads where id = 1").values(),
      timeoutMs,
    );
    const { unsafeSettings } = link.server;
    return {
      eventSeq: Number(rows[0]?.[0]),
      unsafe: unsafeSettings.length === 0 ? undefined : new UnusableServerError("unsafe_settings"),
      clockOffsetMs: link.clockOffsetMs,
    };
  }

  /** Closes the connection; the next beat opens another one. */
  disconnect(): void {
    this.#link?.giveUp();
    this.#link = undefined;
  }

  /** Closes the connection permanently. */
  close(): void {
    this.#closed = true;
    this.disconnect();
  }

  /** Returns the connection of the last beat if a server merely has too many connections. */
  async #openNext(before: Link | undefined): Promise<Link> {
    const { open, server, unconfirmedMs } = this.#deps;
    try {
      const link = await openToServer(open, server);
      this.#confirmedAt = performance.now();
      return link;
    } catch (error) {
      const age = performance.now() - this.#confirmedAt;
      const isTolerable = hasTooManyConnections(error) || age < unconfirmedMs;
      if (before === undefined || error instanceof UnusableServerError || !isTolerable) throw error;
      return before;
    }
  }
}

/**
 * Opens a connection to the shared server. Sessions that a pooler keeps to another server are ended
 * until it connects again.
 *
 * @throws {UnusableServerError} see `SharedServer.admit`
 */
export async function openToServer(open: () => Promise<Link>, server: SharedServer): Promise<Link> {
  const startedAt = performance.now();
  for (;;) {
    const link = await open();
    try {
      server.admit(link.server);
      return link;
    } catch (error) {
      const isEnded = await link.endPooledSession();
      link.giveUp();
      if (!isEnded || performance.now() - startedAt > purgeMsMax) throw error;
    }
  }
}

const purgeMsMax = 5000;
