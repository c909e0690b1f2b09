/**
 * Reads and writes the TLS presentation language of RFC 5246 §4: fixed-size numbers and vectors
 * with a length before them.
 */

/** What malformed input throws. */
export class MalformedStructure extends Error {
  override readonly name = "MalformedStructure";
}

/** Reads from front to end. */
export class Octets {
  private readonly bytes: Uint8Array;
  private at = 0;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }

  get finished(): boolean {
    return this.at === this.bytes.length;
  }

  take(length: number): Uint8Array {
    const end = this.at + length;
    if (end > this.bytes.length) throw new MalformedStructure("a structure is cut off");
    const taken = this.bytes.subarray(this.at, end);
    this.at = end;
    return taken;
  }

  /** An unsigned number of `size` octets, at most 2^53−1. */
  number(size: number): number {
    let value = 0;
    for (const octet of this.take(size)) value = value * 256 + octet;
    if (!Number.isSafeInteger(value)) throw new MalformedStructure("a number is out of range");
    return value;
  }

  /** A vector whose length takes `size` octets. */
  vector(size: number): Uint8Array {
    return this.take(this.number(size));
  }

  /** Refuses octets after the last member. */
  finish(): void {
    if (!this.finished) throw new MalformedStructure("there are octets after the last member");
  }
}

/** A number from 0 to 2^53−1 in `size` octets, big-endian. */
export function numberOctets(value: number, size: number): Uint8Array {
  const out = new Uint8Array(size);
  for (let at = size - 1, rest = value; at >= 0; at--) {
    out[at] = rest % 256;
    rest = Math.floor(rest / 256);
  }
  return out;
}

/** The octets with their length before them, which takes `size` octets. */
export const vectorOctets = (octets: Uint8Array, size: number): Uint8Array =>
  joined(numberOctets(octets.length, size), octets);

/** One after the other. */
export function joined(...parts: readonly Uint8Array[]): Uint8Array {
  const out = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}
