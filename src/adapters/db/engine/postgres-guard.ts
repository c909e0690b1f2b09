/** Guards the connections of an engine: all lead to one server, which responds and takes writes. */

import { unreachableDatabase, UnusableServerError } from "./faults.ts";
import { Heartbeat, openToServer } from "./postgres-heartbeat.ts";
import { Link, type LinkOptions, type Patience } from "./postgres-link.ts";
import { type ServerState, SharedServer } from "./postgres-server.ts";
import { Watch } from "./postgres-watch.ts";

export interface ServerGuardDeps {
  readonly dsn: string;
  readonly timeouts: Patience;
  /** True for an engine that only reads, which may do so on a standby. */
  readonly acceptsReadOnly: boolean;
  /** Called with each new connection before its use; an error closes the connection. */
  readonly inspect: (link: Link) => Promise<void> | undefined;
  /** Closes every connection of the engine. */
  readonly onLost: () => void;
  /** Called when the newest state is available again. */
  readonly onFound: () => void;
  /** Called with the sequence number of the last event. */
  readonly onBeat: (eventSeq: number) => void;
  readonly onError: (message: string, error: unknown) => void;
}

/**
 * Opens and checks connections. If one leads to another server, or to one that takes no writes, all
 * are closed. None is opened until a beat has found one server again.
 */
export class ServerGuard {
  readonly #deps: ServerGuardDeps;
  readonly #options: LinkOptions;
  readonly #server: SharedServer;
  readonly #heartbeat: Heartbeat;
  readonly #watch: Watch;
  /** Reason why the database is not used, unless it does not respond. */
  #unusable: UnusableServerError | undefined;
  /** Reason not to write to a database that is read. */
  #unsafe: UnusableServerError | undefined;
  #clockOffsetMs: number | undefined;
  #losses = 0;
  #isPoolingChecked = false;

  constructor(deps: ServerGuardDeps) {
    const { dsn, timeouts, inspect } = deps;
    this.#deps = deps;
    const onReadOnly = () => this.#watch.fail(new UnusableServerError("read_only"));
    this.#options = { dsn, patience: timeouts, onReadOnly, inspect };
    this.#server = new SharedServer(deps.acceptsReadOnly);
    this.#heartbeat = new Heartbeat({
      open: () => Link.open(this.#options),
      server: this.#server,
      timeoutMs: timeouts.beatMs,
      unconfirmedMs: timeouts.unconfirmedMs,
    });
    this.#watch = new Watch({
      beat: () => this.#beat(),
      everyMs: timeouts.beatEveryMs,
      lost: (error) => this.#lose(error),
      found: () => {
        this.#unusable = undefined;
        deps.onFound();
      },
    });
  }

  /** Number of servers so far. Values cached under another number may be wrong. */
  get epoch(): number {
    return this.#server.epoch;
  }

  /** Clock of the server minus clock of this host, in milliseconds; undefined before a beat. */
  get clockOffsetMs(): number | undefined {
    return this.#clockOffsetMs;
  }

  /** Starts the beats. */
  start(): void {
    this.#watch.start();
  }

  /** Ends the beats and closes their connection. */
  stop(): void {
    this.#watch.stop();
    this.#heartbeat.close();
  }

  /**
   * Opens a connection to the shared server.
   *
   * @throws {UnusableServerError} if there is a server, but not one to use
   */
  async open(): Promise<Link> {
    if (this.#watch.away) throw this.#unusable ?? unreachableDatabase();
    try {
      const link = await openToServer(() => Link.open(this.#options), this.#server);
      this.#clockOffsetMs ??= link.clockOffsetMs;
      if (!this.#watch.away) return link;
      link.giveUp();
    } catch (error) {
      if (error instanceof UnusableServerError) this.#watch.fail(error);
      throw error;
    }
    throw unreachableDatabase();
  }

  /** Throws if the database is read, but must not be written (V-6). */
  assertSafe(): void {
    if (this.#unsafe !== undefined) throw this.#unsafe;
  }

  /** Throws if the connection was opened to another server than the current one. */
  assertSharedServer(link: Link): void {
    if (this.#server.includes(link.server)) return;
    link.giveUp();
    throw unreachableDatabase();
  }

  /** Checks the state of the server that a statement on the connection has returned. */
  readmit(link: Link, changes: Partial<ServerState>): void {
    try {
      this.#server.readmit(link.server, { ...link.server, ...changes });
    } catch (error) {
      this.#watch.fail(error);
      throw error;
    }
  }

  /**
   * Checks before the first write that a pooler, if there is one, serves each connection by one
   * session. Later each read of the versions checks its connection.
   *
   * @throws {UnusableServerError} if two connections share a session, or one changes its session
   */
  async checkPooling(link: Link): Promise<void> {
    if (this.#isPoolingChecked) return;
    const { connectMs } = this.#deps.timeouts;
    const other = await this.open();
    try {
      if (other.server.backend === link.server.backend) this.#refusePooling();
      // The transaction keeps its session, so that the pooler needs another one.
      await other.ask((sql) => sql.unsafe("begin"));
      for (const each of [other, link]) this.readmit(each, await each.readServer(connectMs));
      this.#isPoolingChecked = true;
    } finally {
      other.giveUp();
    }
  }

  #refusePooling(): never {
    const error = new UnusableServerError("transaction_pooling");
    this.#watch.fail(error);
    throw error;
  }

  async #beat(): Promise<void> {
    if (this.#watch.away) this.#server.reset();
    const losses = this.#losses;
    try {
      const { eventSeq, unsafe, clockOffsetMs } = await this.#heartbeat.beat();
      if (unsafe !== undefined && this.#unsafe === undefined) this.#reportUnusable(unsafe);
      this.#unsafe = unsafe;
      this.#clockOffsetMs = clockOffsetMs;
      this.#deps.onBeat(eventSeq);
    } catch (error) {
      const unusable = error instanceof UnusableServerError ? error : undefined;
      // A loss during the beat closes its connection, which hides the reason of the loss.
      if (unusable !== undefined || losses === this.#losses) this.#unusable = unusable;
      throw error;
    }
  }

  /** Closes all connections: work on a dead path would wait for as long as TCP retries. */
  #lose(error: unknown): void {
    this.#losses += 1;
    this.#heartbeat.disconnect();
    this.#server.reset();
    this.#deps.onLost();
    if (error instanceof UnusableServerError) {
      this.#unusable = error;
      this.#reportUnusable(error);
    } else {
      this.#deps.onError("the database does not answer", error);
    }
  }

  #reportUnusable(error: UnusableServerError): void {
    this.#deps.onError("the database server is unusable", error);
  }
}
