/**
 * A set of many texts in eight octets each, which are ticked off one after the other: what two
 * sides of a proof must have in common, for millions of rows.
 */

import { sha256 } from "#core/crypto.ts";

/**
 * Texts are known by 64 bits of a salted hash. Nobody who chose rows knows the salt of a run, so a
 * text that is missing passes for another one in one of 2^40 runs over ten million rows.
 */
export class KeySet {
  readonly #salt: string;
  #keys = new BigUint64Array(1024);
  #marks = new Uint8Array(0);
  #length = 0;
  #marked = 0;
  #sorted = true;

  /** `salt` is random, and drawn anew for each run. */
  constructor(salt: Uint8Array) {
    this.#salt = salt.toHex();
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
    this.#keys[this.#length] = this.#hash(text);
    this.#length += 1;
    this.#sorted = false;
  }

  /** Ticks a text off: `again` when that was done before as often as it was added. */
  mark(text: string): "absent" | "first" | "again" {
    const hash = this.#hash(text);
    const first = this.#find(hash);
    if (first === undefined) return "absent";
    for (let at = first; at < this.#length && this.#keys[at] === hash; at++) {
      if (this.#marks[at] === 1) continue;
      this.#marks[at] = 1;
      this.#marked += 1;
      return "first";
    }
    return "again";
  }

  /** True for a text that was added and never ticked off. */
  isUnmarked(text: string): boolean {
    const first = this.#find(this.#hash(text));
    return first !== undefined && this.#marks[first] === 0;
  }

  has(text: string): boolean {
    return this.#find(this.#hash(text)) !== undefined;
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
    const hash = this.#hash(text);
    const first = this.#find(hash);
    return first !== undefined && first + 1 < this.#length && this.#keys[first + 1] === hash;
  }

  /** The first place of a hash. */
  #find(hash: bigint): number | undefined {
    this.#sort();
    let [low, high] = [0, this.#length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#keys[middle] ?? 0n) < hash) low = middle + 1;
      else high = middle;
    }
    return low < this.#length && this.#keys[low] === hash ? low : undefined;
  }

  #sort(): void {
    if (this.#sorted) return;
    this.#keys.subarray(0, this.#length).sort();
    this.#marks = new Uint8Array(this.#length);
    this.#marked = 0;
    this.#sorted = true;
  }

  #hash(text: string): bigint {
    const octets = sha256(Buffer.from(`${this.#salt}\0${text}`, "utf8"));
    return new DataView(octets.buffer, octets.byteOffset, 8).getBigUint64(0);
  }
}
