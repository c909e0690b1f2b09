/** Long work in short turns: between two of them whoever else waits for this thread is served. */

import { refuse } from "./problems.ts";

/** Resolves when the event loop has come round once. */
export const nextTurn = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve);
  });

/**
 * One turn after the other for several that work at the same time: however many they are, one goes
 * on in each.
 */
export class Turns {
  #last: Promise<void> = Promise.resolve();

  /** Resolves in a turn of its own. */
  next(): Promise<void> {
    this.#last = this.#last.then(nextTurn);
    return this.#last;
  }
}

/** Runs a bounded number of generators, one step of one of them in each tick of the event loop. */
export class StepQueue {
  readonly #ticks = new Turns();
  readonly #most: number;
  #running = 0;

  /** Allows any number at a time if `most` is absent. */
  constructor(most = Number.POSITIVE_INFINITY) {
    this.#most = most;
  }

  /**
   * Runs all steps and returns the result of the last one.
   *
   * @throws {Problem} `overloaded` if too many are in progress
   */
  async run<T>(steps: Generator<void, T>): Promise<T> {
    if (this.#running >= this.#most) throw refuse("overloaded", { retry_after: 2 });
    this.#running += 1;
    try {
      for (;;) {
        await this.#ticks.next();
        const step = steps.next();
        if (step.done === true) return step.value;
      }
    } finally {
      this.#running -= 1;
    }
  }
}

/** Lets one of all who ask in a turn of the event loop have its way. */
export class OnceATurn {
  #taken = false;

  /** True for the first who asks in a turn. */
  take(): boolean {
    if (this.#taken) return false;
    this.#taken = true;
    setImmediate(() => {
      this.#taken = false;
    });
    return true;
  }
}

/**
 * Keeps many short steps from being one long one: awaiting what is there already does not end a
 * turn, so whoever works through a thousand rows that way holds everybody up. Steps that are told
 * of their turns share one allowance in each.
 */
export class TurnShare {
  readonly #elapsedMs: () => number;
  readonly #shareMs: number;
  /** When the first step of this turn began. */
  #begun: number | undefined;
  /** In the order of asking. */
  readonly #waiting: (() => void)[] = [];

  /**
   * `elapsedMs` is a clock that only moves forward; steps may begin until `shareMs` after the first
   * one of a turn.
   */
  constructor(elapsedMs: () => number, shareMs = usualShareMs) {
    this.#elapsedMs = elapsedMs;
    this.#shareMs = shareMs;
  }

  /** Asked before every step: true when it must wait for `mine` first. */
  get spent(): boolean {
    const now = this.#elapsedMs();
    if (this.#begun !== undefined) return now - this.#begun > this.#shareMs;
    // A fresh turn begins with those who wait; otherwise whoever is late is overtaken for good.
    if (this.#waiting.length > 0) return true;
    this.#begin(now);
    return false;
  }

  /** Resolves when the turn is this step's; first come, first served. */
  mine(): Promise<void> {
    if (this.#begun === undefined) this.#begin(this.#elapsedMs());
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.#look();
    });
  }

  #begin(now: number): void {
    this.#begun = now;
    setImmediate(() => {
      this.#begun = undefined;
    });
  }

  /**
   * Lets the first who waits go on as soon as a turn has room. There is a look for each who waits:
   * between two of them the step, and all that follows from it without waiting, takes its time.
   */
  #look(): void {
    setImmediate(() => {
      const now = this.#elapsedMs();
      // What ends the turn was asked for by its first step, so it ran before this.
      if (this.#begun === undefined) this.#begin(now);
      else if (now - this.#begun > this.#shareMs) return this.#look();
      this.#waiting.shift()?.();
    });
  }
}

/** The texts in ascending order of their UTF-16 code units, as `toSorted` gives them. */
export async function sortedInTurns(texts: readonly string[]): Promise<readonly string[]> {
  let runs: (readonly string[])[] = [];
  for (let at = 0; at < texts.length; at += sortedPerTurn) {
    runs.push(texts.slice(at, at + sortedPerTurn).sort());
    await nextTurn();
  }
  while (runs.length > 1) {
    const merged: (readonly string[])[] = [];
    for (let at = 0; at < runs.length; at += 2) {
      merged.push(await mergedInTurns(runs[at] ?? [], runs[at + 1] ?? []));
    }
    runs = merged;
  }
  return runs[0] ?? [];
}

async function mergedInTurns(a: readonly string[], b: readonly string[]): Promise<string[]> {
  const out: string[] = [];
  let [left, right] = [0, 0];
  while (left < a.length && right < b.length) {
    const [first = "", second = ""] = [a[left], b[right]];
    const fromLeft = first <= second;
    if (fromLeft) left++;
    else right++;
    out.push(fromLeft ? first : second);
    if (out.length % sortedPerTurn === 0) await nextTurn();
  }
  // One of the two is at its end.
  for (const rest of [a.slice(left), b.slice(right)]) for (const text of rest) out.push(text);
  return out;
}

const sortedPerTurn = 10_000;
/**
 * A fifth of what nobody may hold the thread for: the last step of a turn, and what is no step,
 * come on top.
 */
const usualShareMs = 10;

/** The results of `work` for every item, in their order; a turn for every `size` items. */
export async function mapInTurns<T, R>(
  items: readonly T[],
  size: number,
  work: (item: T, index: number) => R,
): Promise<readonly R[]> {
  const results: R[] = [];
  for (const [index, item] of items.entries()) {
    if (index > 0 && index % size === 0) await nextTurn();
    results.push(work(item, index));
  }
  return results;
}
