/** Folds what repeats: the first of its kind is told at once, those of the next minute together. */

import { addSeconds, type Instant } from "#core/time.ts";
import type { Clock } from "#domain/ports.ts";

/** How two are told apart. */
export interface Kind {
  /** What is counted together when there are too many kinds. */
  readonly coarse: readonly string[];
  /** What tells apart those of one coarse kind. */
  readonly fine: readonly string[];
}

export interface FoldingDeps<T> {
  readonly clock: Clock;
  /** How many kinds are told apart. */
  readonly windowsMax: number;
  readonly kindOf: (one: T) => Kind;
  /** Tells of `count` of a kind, of which `last` is the last. */
  readonly tell: (last: T, count: number, now: Instant) => Promise<void>;
}

/** Repeats of one kind since the last time they were told of. */
interface Window<T> {
  readonly last: T;
  readonly ends: Instant;
  readonly repeats: number;
}

/** One trace for each of a kind, and no flood of them. */
export class Folding<T> {
  readonly #deps: FoldingDeps<T>;
  readonly #windows = new Map<string, Window<T>>();

  constructor(deps: FoldingDeps<T>) {
    this.#deps = deps;
  }

  /**
   * Tells of the first of its kind; within a minute, counts the next ones. What could not be told
   * stays counted.
   */
  async record(one: T): Promise<void> {
    const now = this.#deps.clock.now();
    const key = this.#keyOf(one);
    const window = this.#windows.get(key);
    if (window !== undefined && now < window.ends) {
      this.#windows.set(key, { ...window, last: one, repeats: window.repeats + 1 });
      return;
    }
    // A window that is over and not yet told is told with this one.
    await this.#tell(key, { last: one, repeats: (window?.repeats ?? 0) + 1 }, now);
  }

  /**
   * Tells what was counted in windows that are over; `all` tells also of those that are not, before
   * the end. Throws the first failure, when all have been tried.
   */
  async fold(all = false): Promise<void> {
    const now = this.#deps.clock.now();
    const failures: unknown[] = [];
    for (const key of [...this.#windows.keys()]) {
      // Looked up in its turn: others are counted while one is told.
      const window = this.#windows.get(key);
      if (window === undefined || (now < window.ends && !all)) continue;
      if (window.repeats === 0) this.#windows.delete(key);
      else await this.#tell(key, window, now).catch((error) => failures.push(error));
    }
    if (failures.length > 0) throw failures[0];
  }

  /**
   * Begins the next window and tells; what could not be told is counted in that window, with what
   * came meanwhile.
   */
  async #tell(
    key: string,
    { last, repeats }: Pick<Window<T>, "last" | "repeats">,
    now: Instant,
  ): Promise<void> {
    const begun = { last, ends: addSeconds(now, windowSeconds), repeats: 0 };
    this.#windows.set(key, begun);
    try {
      await this.#deps.tell(last, repeats, now);
    } catch (error) {
      const meanwhile = this.#windows.get(key) ?? begun;
      this.#windows.set(key, { ...meanwhile, repeats: meanwhile.repeats + repeats });
      throw error;
    }
  }

  /** One bucket for each coarse kind beyond those that can be told apart. */
  #keyOf(one: T): string {
    const { coarse, fine } = this.#deps.kindOf(one);
    const key = JSON.stringify([coarse, fine]);
    const known = this.#windows.has(key) || this.#windows.size < this.#deps.windowsMax;
    return known ? key : JSON.stringify([coarse]);
  }
}

const windowSeconds = 60;
