/**
 * Reads DER strictly: definite minimal lengths, canonical values, bounded depth, nothing left over
 * (X.690 §10, §11).
 */

import { serialFromBytes, type Serial } from "#core/ids.ts";
import { type Instant, instant } from "#core/time.ts";

import { oidText } from "./known-oids.ts";
import { tags } from "./tags.ts";

/** What malformed input throws; the edge that read the input turns it into its own refusal. */
export class DerError extends Error {
  override readonly name = "DerError";
}

/** Elements may be nested this deep. */
export const depthMax = 32;

/**
 * Reads `bytes` from front to end, whole elements only; octets handed out are views of `bytes`.
 * Throws DerError.
 */
export class Cursor {
  private readonly bytes: Uint8Array;
  private readonly end: number;
  private readonly depth: number;
  private at: number;

  constructor(bytes: Uint8Array, at = 0, end = bytes.length, depth = 0) {
    if (depth > depthMax) throw new DerError("elements are nested too deeply");
    this.bytes = bytes;
    this.at = at;
    this.end = end;
    this.depth = depth;
  }

  /** Identifier octet of the next element; undefined at the end. */
  get tag(): number | undefined {
    return this.at < this.end ? this.bytes[this.at] : undefined;
  }

  get finished(): boolean {
    return this.at === this.end;
  }

  /** Refuses octets after the last element expected. */
  finish(): void {
    if (this.at !== this.end) throw new DerError("there are octets after the last element");
  }

  /** Takes the next element, which must have this tag, and gives a cursor over its content. */
  enter(tag: number): Cursor {
    const content = this.header(tag);
    const end = this.at;
    return new Cursor(this.bytes, content, end, this.depth + 1);
  }

  /** As `enter`, or undefined when the next element has another tag. */
  enterOptional(tag: number): Cursor | undefined {
    return this.tag === tag ? this.enter(tag) : undefined;
  }

  /** Takes the next element, of any tag unless one is given, and gives all its octets. */
  element(tag?: number): Uint8Array {
    const start = this.at;
    this.header(tag);
    return this.bytes.subarray(start, this.at);
  }

  /** Takes the next element, which must have this tag, and gives its content octets. */
  content(tag: number): Uint8Array {
    const start = this.header(tag);
    return this.bytes.subarray(start, this.at);
  }

  boolean(): boolean {
    const start = this.header(tags.boolean);
    const value = this.bytes[start];
    if (this.at - start !== 1 || (value !== 0 && value !== 0xff)) {
      throw new DerError("a BOOLEAN is neither 00 nor FF");
    }
    return value === 0xff;
  }

  null(): void {
    if (this.content(tags.null).length !== 0) throw new DerError("a NULL has content");
  }

  /** Content octets of an INTEGER or ENUMERATED: two's complement, minimal. */
  integer(tag: number = tags.integer): Uint8Array {
    const content = this.content(tag);
    const [first, second] = content;
    if (first === undefined) throw new DerError("an INTEGER is empty");
    const padded =
      second !== undefined && (first === 0 ? second < 0x80 : first === 0xff && second >= 0x80);
    if (padded) throw new DerError("an INTEGER is not minimal");
    return content;
  }

  /**
   * Magnitude of an INTEGER that is not negative: big-endian, no leading zero octet but for zero
   * itself.
   */
  unsigned(): Uint8Array {
    const content = this.integer();
    if ((content[0] ?? 0) >= 0x80) throw new DerError("an INTEGER is negative");
    return content[0] === 0 && content.length > 1 ? content.subarray(1) : content;
  }

  /** An INTEGER of any sign and size. */
  bigInteger(): bigint {
    const content = this.integer();
    return BigInt.asIntN(content.length * 8, BigInt(`0x${content.toHex()}`));
  }

  /** An INTEGER or ENUMERATED from 0 to 2^53−1. */
  small(tag: number = tags.integer): number {
    const content = this.integer(tag);
    let value = 0;
    for (const octet of content.subarray(0, 8)) value = value * 256 + octet;
    if ((content[0] ?? 0) >= 0x80 || content.length > 7 || !Number.isSafeInteger(value)) {
      throw new DerError("a number is out of range");
    }
    return value;
  }

  /** A serial number within 0..2^160−1; zero is met in old roots and never issued here. */
  serial(): Serial {
    const magnitude = this.unsigned();
    if (magnitude.length > 20) throw new DerError("a serial number has more than 20 octets");
    return serialFromBytes(magnitude);
  }

  /** Dotted text of an OBJECT IDENTIFIER. */
  oid(tag: number = tags.oid): string {
    const start = this.header(tag);
    const dotted = oidText(this.bytes, start, this.at);
    if (dotted === undefined) throw new DerError("an OBJECT IDENTIFIER is malformed");
    return dotted;
  }

  octetString(): Uint8Array {
    return this.content(tags.octetString);
  }

  /**
   * Octets of a BIT STRING and how many bits of the last are unused; unused bits must be zero
   * (X.690 §11.2.1).
   */
  bits(tag: number = tags.bitString): { readonly octets: Uint8Array; readonly unused: number } {
    const content = this.content(tag);
    const unused = content[0];
    const last = content.length > 1 ? (content.at(-1) ?? 0) : 0;
    if (unused === undefined || unused > 7 || (content.length === 1 && unused !== 0)) {
      throw new DerError("a BIT STRING has a wrong count of unused bits");
    }
    if ((last & ((1 << unused) - 1)) !== 0) throw new DerError("an unused bit is set");
    return { octets: content.subarray(1), unused };
  }

  /** Octets of a BIT STRING without unused bits: a key or a signature. */
  wholeBits(): Uint8Array {
    const { octets, unused } = this.bits();
    if (unused !== 0) throw new DerError("a BIT STRING does not fill its octets");
    return octets;
  }

  /**
   * UTCTime `YYMMDDHHMMSSZ` or GeneralizedTime `YYYYMMDDHHMMSSZ`, to the second (RFC 5280
   * §4.1.2.5).
   */
  time(): Instant {
    if (this.tag === tags.generalizedTime) return this.generalizedTime();
    const digits = this.timeDigits(tags.utcTime, 13);
    const year = twoDigits(digits, 0);
    return toInstant(year < 50 ? 2000 + year : 1900 + year, digits, 2);
  }

  /** GeneralizedTime `YYYYMMDDHHMMSSZ` only (RFC 6960 §4.2.2.1 wants no other). */
  generalizedTime(): Instant {
    const digits = this.timeDigits(tags.generalizedTime, 15);
    return toInstant(twoDigits(digits, 0) * 100 + twoDigits(digits, 2), digits, 4);
  }

  private timeDigits(tag: number, length: number): Uint8Array {
    const content = this.content(tag);
    if (content.length !== length || content[length - 1] !== 0x5a) {
      throw new DerError("a time is not in whole seconds UTC");
    }
    return content;
  }

  /** Takes one element; gives where its content starts and leaves `at` at its end. */
  private header(tag: number | undefined): number {
    const { bytes, end } = this;
    const found = this.at < end ? bytes[this.at] : undefined;
    if (found === undefined) throw new DerError("an element is missing");
    if (tag !== undefined && found !== tag) throw new DerError("an element has an unexpected tag");
    // Tag numbers above 30 do not occur in X.509.
    if ((found & 0x1f) === 0x1f) throw new DerError("a tag number is too large");
    let at = this.at + 2;
    let length = at <= end ? (bytes[at - 1] ?? 0) : 0x80;
    if (length >= 0x80) {
      const octets = length & 0x7f;
      if (octets === 0 || octets > 4 || at + octets > end) {
        throw new DerError("a length is indefinite, too large or cut off");
      }
      length = 0;
      for (let i = 0; i < octets; i++) length = length * 256 + (bytes[at++] ?? 0);
      if (length < 0x80 || length < 256 ** (octets - 1))
        throw new DerError("a length is not minimal");
    }
    if (length > end - at) throw new DerError("an element is longer than what holds it");
    this.at = at + length;
    return at;
  }
}

/** A cursor inside the one SEQUENCE that `der` consists of. */
export function openSequence(der: Uint8Array): Cursor {
  const outer = new Cursor(plainView(der));
  const inner = outer.enter(tags.sequence);
  outer.finish();
  return inner;
}

/** A cursor over `der`, for values that are not a SEQUENCE. */
export const openDer = (der: Uint8Array): Cursor => new Cursor(plainView(der));

/** Runs `read` on `der` and refuses what it leaves over. */
export function readWhole<T>(der: Uint8Array, read: (cursor: Cursor) => T): T {
  const cursor = openDer(der);
  const value = read(cursor);
  cursor.finish();
  return value;
}

// A Buffer would hand out Buffers, whose `slice` shares memory and whose comparisons differ.
function plainView(bytes: Uint8Array): Uint8Array {
  if (bytes.constructor === Uint8Array) return bytes;
  return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function toInstant(year: number, digits: Uint8Array, at: number): Instant {
  const month = twoDigits(digits, at);
  const day = twoDigits(digits, at + 2);
  const hour = twoDigits(digits, at + 4);
  const minute = twoDigits(digits, at + 6);
  const second = twoDigits(digits, at + 8);
  const inRange =
    year >= 1000 && month >= 1 && month <= 12 && day >= 1 && hour <= 23 && minute <= 59;
  const milliseconds = Date.UTC(year, month - 1, day, hour, minute, second);
  // A day past the end of its month or a second 60 would roll over into the next.
  if (!inRange || second > 59 || day > daysIn(year, month)) {
    throw new DerError("a time does not exist");
  }
  return instant(milliseconds);
}

const daysIn = (year: number, month: number): number =>
  (Date.UTC(month === 12 ? year + 1 : year, month % 12, 1) - Date.UTC(year, month - 1, 1)) /
  86_400_000;

function twoDigits(digits: Uint8Array, at: number): number {
  const tens = (digits[at] ?? 0) - 0x30;
  const ones = (digits[at + 1] ?? 0) - 0x30;
  if (tens < 0 || tens > 9 || ones < 0 || ones > 9) throw new DerError("a time has no digits");
  return tens * 10 + ones;
}
