/** Tokens of which so many grow a second, and the lines of those who wait for the next one. */

import { type BucketLimits, type Filling, TokenBuckets } from "#core/token-bucket.ts";
import type { Later } from "#domain/ports.ts";

/** What somebody must have a token of. */
export interface Ration {
  readonly key: string;
  readonly filling: Filling;
}

export interface RationDeps<Waiter> {
  readonly elapsedMs: () => number;
  readonly later: Later;
  /** Told to whoever has waited when a token has been taken for him. */
  readonly taken: (waiter: Waiter) => void;
}

interface Line<Waiter> {
  readonly ration: Ration;
  /** In the order in which they came. */
  readonly waiters: Set<Waiter>;
  cancel: () => void;
}

/**
 * One line for each ration that is used up; whoever comes while somebody waits stands behind him.
 */
export class Rations<Waiter> {
  readonly #deps: RationDeps<Waiter>;
  readonly #buckets = new TokenBuckets();
  readonly #lines = new Map<string, Line<Waiter>>();

  constructor(deps: RationDeps<Waiter>) {
    this.#deps = deps;
  }

  /**
   * True when a token was taken; otherwise the waiter stands in line, at most once, and is told.
   */
  take(ration: Ration, waiter: Waiter): boolean {
    const line = this.#lines.get(ration.key);
    if (line !== undefined) {
      line.waiters.add(waiter);
      return false;
    }
    const seconds = this.#waitFor(ration);
    if (seconds === 0) return true;
    const begun = { ration, waiters: new Set([waiter]), cancel: () => {} };
    this.#lines.set(ration.key, begun);
    this.#arm(begun, seconds);
    return false;
  }

  /** Gives back a token that was taken for what did not come to count. */
  giveBack(ration: Ration): void {
    this.#buckets.giveBack(ration.key, ration.filling);
    const line = this.#lines.get(ration.key);
    // Not at once: whoever gives back is in the middle of something.
    if (line !== undefined) this.#arm(line, 0);
  }

  /** The waiter no longer stands in this line. */
  leave(ration: Ration, waiter: Waiter): void {
    const line = this.#lines.get(ration.key);
    if (line === undefined) return;
    line.waiters.delete(waiter);
    if (line.waiters.size === 0) this.#close(line);
  }

  #waitFor({ key, filling }: Ration): number {
    return this.#buckets.take(key, filling, this.#deps.elapsedMs(), remembered);
  }

  #arm(line: Line<Waiter>, seconds: number): void {
    line.cancel();
    line.cancel = this.#deps.later(Math.ceil(seconds * 1000), () => this.#serve(line));
  }

  #serve(line: Line<Waiter>): void {
    for (const first of line.waiters) {
      const seconds = this.#waitFor(line.ration);
      if (seconds > 0) {
        this.#arm(line, seconds);
        return;
      }
      line.waiters.delete(first);
      if (line.waiters.size === 0) this.#close(line);
      this.#deps.taken(first);
    }
  }

  #close(line: Line<Waiter>): void {
    line.cancel();
    if (this.#lines.get(line.ration.key) === line) this.#lines.delete(line.ration.key);
  }
}

/** How many are known for what they have used up, and for how long. */
const remembered: BucketLimits = { maxKeys: 100_000, idleMs: 600_000 };
