/**
 * Keeps what was fetched for a while: asked for once at a time, not again at once after a failure,
 * and never kept for ever.
 */

import { addSeconds, type Instant } from "#core/time.ts";
import type { Clock } from "./ports.ts";

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
  #attempted: { readonly at: Instant; readonly outcome: Promise<T> } | undefined;
  #underWay: Promise<T> | undefined;

  constructor(clock: Clock, times: KeepTimes, fetch: () => Promise<T>) {
    this.#clock = clock;
    this.#times = times;
    this.#fetch = fetch;
  }

  /**
   * The value, fetched when it is too old; rejects as the fetch did when there is none that counts.
   */
  async value(): Promise<T> {
    const fresh = this.#young(this.#times.fresh);
    if (fresh !== undefined) return fresh.of;
    try {
      return await this.newer();
    } catch (fault) {
      const stale = this.#young(this.#times.stale);
      if (stale === undefined) throw fault;
      return stale.of;
    }
  }

  /**
   * A newer value, or how the last attempt ended when that was just now; what is old never stands
   * in for it.
   */
  async newer(): Promise<T> {
    if (this.#underWay !== undefined) return this.#underWay;
    const last = this.#attempted;
    if (last !== undefined && this.#clock.now() < addSeconds(last.at, this.#times.pause)) {
      return last.outcome;
    }
    const outcome = this.#fetched();
    this.#underWay = outcome;
    this.#attempted = { at: this.#clock.now(), outcome };
    try {
      return await outcome;
    } finally {
      this.#underWay = undefined;
    }
  }

  async #fetched(): Promise<T> {
    const of = await this.#fetch();
    this.#value = { of, at: this.#clock.now() };
    return of;
  }

  #young(seconds: number) {
    const kept = this.#value;
    return kept && this.#clock.now() < addSeconds(kept.at, seconds) ? kept : undefined;
  }
}
