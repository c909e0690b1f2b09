/** Writes DER: each function gives the octets of one complete element (X.690 §10, §11). */

import { assert } from "#core/problems.ts";
import type { Instant } from "#core/time.ts";

import { encodedOids } from "./oids.ts";
import { encodeOid } from "./oid-octets.ts";
import { contextual, contextualConstructed, tags } from "./tags.ts";

/** An element with this identifier octet around the concatenated parts; any length up to 2^31−1. */
export function element(tag: number, ...parts: readonly Uint8Array[]): Uint8Array {
  return elementOf(tag, parts);
}

/** As `element`, for lists too long to spread; linear in the octets of the parts. */
export function elementOf(tag: number, parts: readonly Uint8Array[]): Uint8Array {
  let length = 0;
  for (const part of parts) length += part.length;
  const header = headerLength(length);
  const out = new Uint8Array(header + length);
  out[0] = tag;
  writeLength(out, 0, header, length);
  let at = header;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}

/**
 * Identifier and length octets of an element whose content, of this many octets, is written
 * elsewhere.
 */
export function headOf(tag: number, length: number): Uint8Array {
  const out = new Uint8Array(headerLength(length));
  out[0] = tag;
  writeLength(out, 0, out.length, length);
  return out;
}

export const sequence = (...parts: readonly Uint8Array[]): Uint8Array =>
  elementOf(tags.sequence, parts);

/** SET OF: the members in ascending order of their octets (X.690 §11.6). */
export function setOf(members: readonly Uint8Array[]): Uint8Array {
  if (members.length < 2) return elementOf(tags.set, members);
  return elementOf(tags.set, members.toSorted(compareOctets));
}

/** `[number] EXPLICIT`: a tag around the whole inner element. */
export const explicit = (number: number, inner: Uint8Array): Uint8Array =>
  element(contextualConstructed(number), inner);

/** `[number] IMPLICIT` of a primitive type with these content octets. */
export const implicit = (number: number, content: Uint8Array): Uint8Array =>
  element(contextual(number), content);

/** INTEGER of a whole number from 0 to 2^53−1. */
export function integer(value: number): Uint8Array {
  assert(Number.isSafeInteger(value) && value >= 0, "an encoded number is whole and not negative");
  if (value < 0x80) return Uint8Array.of(tags.integer, 1, value);
  const octets: number[] = [];
  for (let rest = value; rest > 0; rest = Math.floor(rest / 256)) octets.unshift(rest % 256);
  return unsignedInteger(Uint8Array.from(octets));
}

/**
 * INTEGER of an unsigned big-endian magnitude; leading zeros are dropped, a sign octet is added
 * where needed.
 */
export function unsignedInteger(magnitude: Uint8Array): Uint8Array {
  let start = 0;
  while (start < magnitude.length - 1 && magnitude[start] === 0) start++;
  const first = magnitude[start] ?? 0;
  const digits = magnitude.length === 0 ? zeroOctet : magnitude.subarray(start);
  return first >= 0x80 ? element(tags.integer, zeroOctet, digits) : element(tags.integer, digits);
}

/** ENUMERATED of a value below 128. */
export const enumerated = (value: number): Uint8Array => Uint8Array.of(tags.enumerated, 1, value);

export const booleanTrue = (): Uint8Array => Uint8Array.of(tags.boolean, 1, 0xff);
export const nullElement = (): Uint8Array => Uint8Array.of(tags.null, 0);

/** OBJECT IDENTIFIER of a dotted text; the OIDs of the table are encoded once. */
export const oid = (dotted: string): Uint8Array => encodedOids.get(dotted) ?? encodeOid(dotted);

export const octetString = (octets: Uint8Array): Uint8Array => element(tags.octetString, octets);

/** BIT STRING of whole octets. */
export const bitString = (octets: Uint8Array): Uint8Array =>
  element(tags.bitString, zeroOctet, octets);

/** BIT STRING of a named bit list: trailing zero bits are left out (X.690 §11.2.2). */
export function namedBits(numbers: readonly number[]): Uint8Array {
  if (numbers.length === 0) return Uint8Array.of(tags.bitString, 1, 0);
  const highest = Math.max(...numbers);
  const octets = new Uint8Array((highest >> 3) + 1);
  for (const number of numbers) {
    octets[number >> 3] = (octets[number >> 3] ?? 0) | (0x80 >> (number & 7));
  }
  return element(tags.bitString, Uint8Array.of(7 - (highest & 7)), octets);
}

export const utf8String = (text: string): Uint8Array => element(tags.utf8String, utf8.encode(text));

/** PrintableString; the caller has checked the characters. */
export const printableString = (text: string): Uint8Array =>
  element(tags.printableString, utf8.encode(text));

/** IA5String; the caller has checked that the text is ASCII. */
export const ia5String = (text: string): Uint8Array => element(tags.ia5String, utf8.encode(text));

/**
 * Time of RFC 5280 §4.1.2.5: UTCTime through 2049, GeneralizedTime from 2050 on; fractions are
 * dropped.
 */
export function time(at: Instant): Uint8Array {
  const fields = new Date(at);
  const year = fields.getUTCFullYear();
  if (year < 1950 || year > 2049) return generalizedTime(at);
  const out = new Uint8Array(15);
  out[0] = tags.utcTime;
  out[1] = 13;
  writeTwoDigits(out, 2, year % 100);
  writeMonthToSecond(out, 4, fields);
  return out;
}

/** GeneralizedTime `YYYYMMDDHHMMSSZ` (RFC 5280 §4.1.2.5.2); fractions are dropped. */
export function generalizedTime(at: Instant): Uint8Array {
  const out = new Uint8Array(17);
  writeGeneralizedTime(out, 0, at);
  return out;
}

/** Writes the 17 octets of it from `start` on. */
export function writeGeneralizedTime(out: Uint8Array, start: number, at: Instant): void {
  const fields = new Date(at);
  const year = fields.getUTCFullYear();
  assert(year >= 1000 && year <= 9999, "a time to encode has a year of four digits");
  out[start] = tags.generalizedTime;
  out[start + 1] = 15;
  writeTwoDigits(out, start + 2, Math.floor(year / 100));
  writeTwoDigits(out, start + 4, year % 100);
  writeMonthToSecond(out, start + 6, fields);
}

/** Orders octet strings as X.690 §11.6 orders encodings: by octets, a prefix first. */
export function compareOctets(a: Uint8Array, b: Uint8Array): number {
  const shorter = Math.min(a.length, b.length);
  for (let i = 0; i < shorter; i++) {
    const difference = (a[i] ?? 0) - (b[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

/** Octets of identifier and length of an element with so many octets of content. */
export function headerLength(length: number): number {
  if (length < 0x80) return 2;
  if (length < 0x100) return 3;
  if (length < 0x1_0000) return 4;
  if (length < 0x100_0000) return 5;
  assert(length < 0x8000_0000, "an encoded element is shorter than 2 GiB");
  return 6;
}

/** Writes the length octets of a header of `header` octets that begins at `start`. */
export function writeLength(out: Uint8Array, start: number, header: number, length: number): void {
  if (header === 2) {
    out[start + 1] = length;
    return;
  }
  out[start + 1] = 0x80 | (header - 2);
  let rest = length;
  for (let at = start + header - 1; at > start + 1; at--) {
    out[at] = rest & 0xff;
    rest >>>= 8;
  }
}

function writeMonthToSecond(out: Uint8Array, at: number, fields: Date): void {
  writeTwoDigits(out, at, fields.getUTCMonth() + 1);
  writeTwoDigits(out, at + 2, fields.getUTCDate());
  writeTwoDigits(out, at + 4, fields.getUTCHours());
  writeTwoDigits(out, at + 6, fields.getUTCMinutes());
  writeTwoDigits(out, at + 8, fields.getUTCSeconds());
  out[at + 10] = 0x5a;
}

function writeTwoDigits(out: Uint8Array, at: number, value: number): void {
  out[at] = 0x30 + Math.floor(value / 10);
  out[at + 1] = 0x30 + (value % 10);
}

const zeroOctet = Uint8Array.of(0);
const utf8 = new TextEncoder();
