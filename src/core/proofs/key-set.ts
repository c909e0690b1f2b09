/**
 * A set of many texts in eight octets each, which are ticked off one after the other: what two
 * sides of a proof must have in common, for millions of rows.
 */

import { sha256Into } from "#core/crypto.ts";
import { assert } from "#core/problems.ts";

/**
 * Texts are known by 64 bits of a salted hash. Nobody who chose rows knows the salt of a run, so a
 * text that is missing passes for another one in one of 2^40 runs over ten million rows.
 */
export class KeySet {
  readonly #salt: Uint8Array;
  readonly #prefix: string;
  readonly #hash = new Uint8Array(32);
  readonly #hashWords = new BigUint64Array(this.#hash.buffer);
  #keys = new BigUint64Array(1024);
  /** The sorted keys, two numbers each, the lower one first: all platforms are little-endian. */
  #uint32s = new Uint32Array(0);
  #marks = new Uint8Array(0);
  #length = 0;
  #marked = 0;
  #sorted = true;

  /** `salt` is random, and drawn anew for each run. */
  constructor(salt: Uint8Array) {
    this.#salt = salt;
    this.#prefix = `${salt.toHex()}\0`;
  }

  /** The same set in another thread, with nothing ticked off. */
  static of({ salt, keys }: KeySetParts): KeySet {
    const set = new KeySet(salt);
    set.#keys = keys;
    set.#length = keys.length;
    set.#sorted = false;
    return set;
  }

  /** What `of` makes it from; the set is not used after that. */
  get parts(): KeySetParts {
    return { salt: this.#salt, keys: this.#keys.subarray(0, this.#length) };
  }

  get size(): number {
    return this.#length;
  }

  /** Texts that were added and never ticked off. */
  get unmarked(): number {
    return this.#length - this.#marked;
  }

  /** Adds a text; all are added before the first is looked for. */
  add(text: string): void {
    if (this.#length === this.#keys.length) {
      const wider = new BigUint64Array(this.#keys.length * 2);
      wider.set(this.#keys);
      this.#keys = wider;
    }
    this.#keys[this.#length] = this.keyOf(text);
    this.#length += 1;
    this.#sorted = false;
  }

  /** Adds what another set of this salt has; nothing is ticked off after that. */
  take({ salt, keys }: KeySetParts): void {
    assert(Buffer.from(salt).equals(this.#salt), "sets of a run have one salt");
    const all = new BigUint64Array(this.#length + keys.length);
    all.set(this.#keys.subarray(0, this.#length));
    all.set(keys, this.#length);
    this.#keys = all;
    this.#length = all.length;
    this.#marked = 0;
    this.#sorted = false;
  }

  /** Nothing is ticked off after that. */
  forget(): void {
    this.#marks.fill(0);
    this.#marked = 0;
  }

  /** Ticks a text off: `again` when that was done before as often as it was added. */
  mark(text: string): Mark {
    return this.markKey(this.keyOf(text));
  }

  /** The same by what `keyOf` gives. */
  markKey(hash: bigint): Mark {
    return this.markUint32Pair(lowerUint32(hash), upperUint32(hash));
  }

  /** Ticks off a key by its lower and upper 32 bits, without creating a bigint. */
  markUint32Pair(lower: number, upper: number): Mark {
    const first = this.#find(lower, upper);
    if (first === undefined) return "absent";
    for (let at = first; at < this.#length && this.#hasKey(at, lower, upper); at++) {
      if (this.#marks[at] === 1) continue;
      this.#marks[at] = 1;
      this.#marked += 1;
      return "first";
    }
    return "again";
  }

  /** True for a text that was added and never ticked off. */
  isUnmarked(text: string): boolean {
    const first = this.#findKey(this.keyOf(text));
    return first !== undefined && this.#marks[first] === 0;
  }

  has(text: string): boolean {
    return this.#findKey(this.keyOf(text)) !== undefined;
  }

  /** How many texts were added more than once, each counted as often as it is one too many. */
  get repeated(): number {
    this.#sort();
    let found = 0;
    for (let at = 1; at < this.#length; at++) {
      if (this.#keys[at] === this.#keys[at - 1]) found += 1;
    }
    return found;
  }

  /** True for a text that was added more than once. */
  isRepeated(text: string): boolean {
    const hash = this.keyOf(text);
    const first = this.#findKey(hash);
    return first !== undefined && first + 1 < this.#length && this.#keys[first + 1] === hash;
  }

  /** The first place of a hash. */
  #findKey(hash: bigint): number | undefined {
    return this.#find(lowerUint32(hash), upperUint32(hash));
  }

  #find(lower: number, upper: number): number | undefined {
    this.#sort();
    const uint32s = this.#uint32s;
    let [low, high] = [0, this.#length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      // A bigint read from an array is an object, and a run has tens of millions of these steps.
      const middleUpper = uint32s[2 * middle + 1] ?? 0;
      if (middleUpper < upper || (middleUpper === upper && (uint32s[2 * middle] ?? 0) < lower))
        low = middle + 1;
      else high = middle;
    }
    return low < this.#length && this.#hasKey(low, lower, upper) ? low : undefined;
  }

  #hasKey(at: number, lower: number, upper: number): boolean {
    return this.#uint32s[2 * at] === lower && this.#uint32s[2 * at + 1] === upper;
  }

  #sort(): void {
    if (this.#sorted) return;
    this.#keys.subarray(0, this.#length).sort();
    this.#uint32s = new Uint32Array(this.#keys.buffer, this.#keys.byteOffset, 2 * this.#length);
    this.#marks = new Uint8Array(this.#length);
    this.#marked = 0;
    this.#sorted = true;
  }

  /** What a text is known by in each set of this salt. */
  keyOf(text: string): bigint {
    sha256Into(this.#prefix + text, this.#hash);
    return this.#hashWords[0] ?? 0n;
  }
}

const lowerUint32 = (key: bigint): number => Number(key & 0xffff_ffffn);
const upperUint32 = (key: bigint): number => Number(key >> 32n);

/** What is said of a text that is ticked off. */
export type Mark = "absent" | "first" | "again";

/** A set as it is handed to another thread. */
export interface KeySetParts {
  readonly salt: Uint8Array;
  readonly keys: BigUint64Array<ArrayBuffer>;
}
