/** A limit of work in progress whose queue is fair and bounded. */

import { type Asker, FairQueue } from "./fair-queue.ts";
import { refuse } from "./problems.ts";

/** Limits of a `FairSlots`. */
export interface SlotLimits {
  /** Operations in progress at most. */
  readonly active: number;
  /** Operations that may wait. Beyond it, the caller with the most loses its newest one. */
  readonly waiting: number;
}

/** Runs operations for several callers, round robin, however many of another caller wait. */
export class FairSlots {
  readonly #limits: SlotLimits;
  readonly #queue = new FairQueue<Waiter>();
  #active = 0;

  constructor(limits: SlotLimits) {
    this.#limits = limits;
  }

  /**
   * Runs the work when a slot is free.
   *
   * @throws {Problem} `overloaded` if too much work waits
   */
  async run<T>(caller: Asker, work: () => Promise<T>): Promise<T> {
    if (this.#active >= this.#limits.active) await this.#wait(caller);
    else this.#active += 1;
    try {
      return await work();
    } finally {
      // The slot passes to the next operation, or becomes free.
      const next = this.#queue.next();
      if (next === undefined) this.#active -= 1;
      else next.resolve();
    }
  }

  #wait(caller: Asker): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#queue.add(caller, { resolve, reject });
    if (this.#queue.size > this.#limits.waiting) {
      this.#queue.giveWay()?.reject(refuse("overloaded", { retry_after: 2 }));
    }
    return promise;
  }
}

interface Waiter {
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}
