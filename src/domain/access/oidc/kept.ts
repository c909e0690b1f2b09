/** Keeps what was fetched for a while: asked for once at a time, not again at once after a failure, and never kept for ever. */

import { addSeconds, type Instant } from "#core/time.ts";
import type { Clock } from "#domain/ports.ts";

/** How long a value is good, in seconds. */
export interface KeepTimes {
  /** Until it is asked for anew. */
  readonly fresh: number;
  /** Until it counts no more, though nothing newer could be had. */
  readonly stale: number;
  /** Between two attempts, whoever wants a newer one. */
  readonly pause: number;
}

/** One value from elsewhere. */
export class Kept<T> {
  readonly #clock: Clock;
  readonly #times: KeepTimes;
  readonly #fetch: () => Promise<T>;
  #value: { readonly of: T; readonly at: Instant } | undefined;
  #attempted: { readonly at: Instant; readonly fault?: unknown } | undefined;
  #running: Promise<T> | undefined;

  constructor(clock: Clock, times: KeepTimes, fetch: () => Promise<T>) {
    this.#clock = clock;
    this.#times = times;
    this.#fetch = fetch;
  }

  /** The value, fetched when it is too old; rejects as the fetch did when there is none that counts. */
  async value(): Promise<T> {
    const kept = this.#young(this.#times.fresh);
    return kept === undefined ? this.newer() : kept.of;
  }

  /** A newer value, unless one was asked for just now: then what is kept. */
  async newer(): Promise<T> {
    if (this.#running !== undefined) return this.#running;
    const { at, fault } = this.#attempted ?? {};
    if (at !== undefined && this.#clock.now() < addSeconds(at, this.#times.pause)) {
      return this.#orStale(fault);
    }
    this.#running = this.#attempt();
    try {
      return await this.#running;
    } finally {
      this.#running = undefined;
    }
  }

  async #attempt(): Promise<T> {
    const at = this.#clock.now();
    try {
      const of = await this.#fetch();
      this.#value = { of, at: this.#clock.now() };
      this.#attempted = { at };
      return of;
    } catch (fault) {
      this.#attempted = { at, fault };
      return this.#orStale(fault);
    }
  }

  #orStale(fault: unknown): T {
    const kept = this.#young(this.#times.stale);
    if (kept === undefined) throw fault;
    return kept.of;
  }

  #young(seconds: number) {
    const kept = this.#value;
    return kept && this.#clock.now() < addSeconds(kept.at, seconds) ? kept : undefined;
  }
}
