/**
 * Writes DER from its end to its beginning: every length is known when it is written, and nothing
 * is copied twice.
 */

import { assert } from "#core/problems.ts";

import { headerLength, writeLength } from "./der.ts";

/** One message under way. What is written goes before what was written. */
export class DerWriter {
  readonly #octets: Uint8Array;
  #at: number;

  /** `octetsMax` is room for the whole message; whatever goes beyond it is a bug. */
  constructor(octetsMax: number) {
    this.#octets = new Uint8Array(octetsMax);
    this.#at = octetsMax;
  }

  /** Octets written so far: where an element ends that is opened before what comes next. */
  get mark(): number {
    return this.#octets.length - this.#at;
  }

  /** Complete elements, or the content of one. */
  write(octets: Uint8Array): void {
    this.#at -= octets.length;
    assert(this.#at >= 0, "a message has room for what it was told of");
    this.#octets.set(octets, this.#at);
  }

  /** Makes everything written since `mark` the content of one element. */
  wrap(tag: number, mark: number): void {
    const length = this.mark - mark;
    const header = headerLength(length);
    this.#at -= header;
    assert(this.#at >= 0, "a message has room for what it was told of");
    this.#octets[this.#at] = tag;
    writeLength(this.#octets, this.#at, header, length);
  }

  /** The message: a view of memory that is not written again. */
  finish(): Uint8Array {
    return this.#octets.subarray(this.#at);
  }
}

/** Room that the header of an element takes at most. */
export const headerOctetsMax = 6;
