/**
 * Stands in for a set that another thread is still filling: what may come is taken to be there, and
 * looked for when it has come.
 */

import type { KeySet, Mark } from "./key-set.ts";

/** One walk's view of the set. */
export class AwaitedSet {
  readonly #early: KeySet;
  readonly #mayCome: (text: string) => boolean;
  #taken = new BigUint64Array(1024);
  #length = 0;

  /** `early` is what is there of the set; `mayCome` says which other texts may be in it. */
  constructor(early: KeySet, mayCome: (text: string) => boolean) {
    this.#early = early;
    this.#mayCome = mayCome;
  }

  /** As `KeySet` does, if everything is there that may come. */
  mark(text: string): Mark {
    const key = this.#early.keyOf(text);
    const found = this.#early.markKey(key);
    if (found === "again" || (found === "absent" && !this.#mayCome(text))) return found;
    this.#take(key);
    return "first";
  }

  /**
   * Ticks off in the whole set, in which nothing is, what was taken to be there; false when one was
   * not, or not as often: then what was said before is void.
   */
  settle(whole: KeySet): boolean {
    const uint32s = new Uint32Array(this.#taken.buffer);
    for (let at = 0; at < this.#length; at++) {
      const mark = whole.markUint32Pair(uint32s[2 * at] ?? 0, uint32s[2 * at + 1] ?? 0);
      if (mark !== "first") return false;
    }
    return true;
  }

  #take(key: bigint): void {
    if (this.#length === this.#taken.length) {
      const wider = new BigUint64Array(this.#taken.length * 2);
      wider.set(this.#taken);
      this.#taken = wider;
    }
    this.#taken[this.#length] = key;
    this.#length += 1;
  }
}
