/**
 * Writes DER from its end to its beginning: every length is known when it is written, and nothing
 * is copied twice.
 */

import { assert } from "#core/problems.ts";

import type { Instant } from "#core/time.ts";
import { headerLength, writeGeneralizedTime, writeLength } from "./der.ts";

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

  /** A GeneralizedTime, as `generalizedTime` gives it. */
  generalizedTime(at: Instant): void {
    this.#at -= timeOctets;
    assert(this.#at >= 0, "a message has room for what it was told of");
    writeGeneralizedTime(this.#octets, this.#at, at);
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

  /** The message, in memory that is not written again: of its own where the room was exact. */
  finish(): Uint8Array {
    return this.#at === 0 ? this.#octets : this.#octets.subarray(this.#at);
  }
}

/** Of a GeneralizedTime. */
const timeOctets = 17;
/** Room that the header of an element takes at most. */
export const headerOctetsMax = 6;
