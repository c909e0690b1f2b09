/** Receives notifications of other processes over a connection that leads to the shared server. */

import { SQL } from "bun";

import { unreachableDatabase } from "./faults.ts";

export interface ListenerDeps {
  readonly dsn: string;
  readonly channel: string;
  readonly connectMs: number;
  /** Time for a subscription, its probe included. */
  readonly timeoutMs: number;
  /** Sends a notification over a connection to the shared server. */
  readonly notify: (payload: string) => Promise<unknown>;
  readonly receive: (payload: string) => void;
  /** Called after each subscription: earlier notifications may have been missed. */
  readonly onSubscribed: () => void;
  /** Called if a subscription that the driver renewed is not one to the shared server. */
  readonly onLost: (error: unknown) => void;
}

/**
 * One subscription at a time. The driver has no query on its connection, so a probe shows the
 * server: only a notification sent on the same one arrives.
 */
export class NotificationListener {
  readonly #deps: ListenerDeps;
  #connection: SQL | undefined;
  #probe: { readonly payload: string; readonly resolve: () => void } | undefined;
  #attemptedAt = Number.NEGATIVE_INFINITY;

  constructor(deps: ListenerDeps) {
    this.#deps = deps;
  }

  /** True if there is no subscription, and the last attempt was not just now. */
  get isDue(): boolean {
    return this.#connection === undefined && performance.now() - this.#attemptedAt > retryMs;
  }

  /** Subscribes; throws if no notification arrives within `timeoutMs`. */
  async open(): Promise<void> {
    this.close();
    this.#attemptedAt = performance.now();
    const { dsn, channel, connectMs } = this.#deps;
    const connectionTimeout = connectMs / 1000;
    const connection = new SQL({ url: dsn, max: 1, connectionTimeout, idleTimeout: 0 });
    this.#connection = connection;
    const receive = (payload: string) => this.#receive(payload);
    let isFirst = true;
    const onListening = () => {
      this.#deps.onSubscribed();
      if (!isFirst) void this.#verifyAgain(connection);
      isFirst = false;
    };
    await this.#closeOnError(connection, async () => {
      await connection.listen(channel, receive, onListening);
      await this.#verify();
    });
  }

  /** Ends the subscription. */
  close(): void {
    // A connection that is broken may fail to close; it is unusable either way.
    this.#connection?.close({ timeout: 0 }).catch(() => {});
    this.#connection = undefined;
  }

  #receive(payload: string): void {
    if (payload === this.#probe?.payload) this.#probe.resolve();
    else if (!payload.startsWith(probePrefix)) this.#deps.receive(payload);
  }

  async #verifyAgain(connection: SQL): Promise<void> {
    try {
      await this.#closeOnError(connection, () => this.#verify());
    } catch (error) {
      this.#deps.onLost(error);
    }
  }

  async #verify(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const payload = `${probePrefix}${crypto.randomUUID()}`;
    this.#probe = { payload, resolve };
    await this.#deps.notify(payload);
    await promise;
  }

  async #closeOnError(connection: SQL, work: () => Promise<void>): Promise<void> {
    const { promise: late, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => reject(unreachableDatabase()), this.#deps.timeoutMs);
    try {
      await Promise.race([work(), late]);
    } catch (error) {
      if (this.#connection === connection) this.close();
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }
}

const probePrefix = "probe ";
const retryMs = 30_000;
