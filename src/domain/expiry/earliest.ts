/** The so many of any number of certificates that end first, in the memory of twice as many. */

import type { Watched } from "./store.ts";

/** Collects them; what is added is taken by its end, and of one moment by its serial. */
export class Earliest<T extends Pick<Watched, "notAfter" | "serial">> {
  readonly #limit: number;
  #kept: T[] = [];
  /** The last end that still has a place, once as many are kept as may be. */
  #last = Number.POSITIVE_INFINITY;

  /** `limit` is at least 1. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Takes one; false when it, and so whatever ends later, has no place. */
  add(one: T): boolean {
    if (one.notAfter > this.#last) return false;
    this.#kept.push(one);
    if (this.#kept.length >= 2 * this.#limit) this.#compact();
    return true;
  }

  /** Those kept, the earliest first. */
  all(): readonly T[] {
    this.#compact();
    return this.#kept;
  }

  #compact(): void {
    this.#kept.sort((a, b) => a.notAfter - b.notAfter || bySerial(a, b));
    this.#kept.length = Math.min(this.#kept.length, this.#limit);
    const full = this.#kept.length === this.#limit;
    this.#last = (full ? this.#kept.at(-1)?.notAfter : undefined) ?? this.#last;
  }
}

const bySerial = (a: Pick<Watched, "serial">, b: Pick<Watched, "serial">): number =>
  a.serial === b.serial ? 0 : a.serial < b.serial ? -1 : 1;
