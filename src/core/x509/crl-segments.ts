/**
 * CRLs of any length in segments: entries are appended as they are read, and no list is ever one
 * piece of memory.
 */

import { bitString, explicit, headOf, integer, time } from "#core/asn1/der.ts";
import { tags } from "#core/asn1/tags.ts";
import { assert } from "#core/problems.ts";
import { type Instant, wholeSecond } from "#core/time.ts";

import { algorithmIdentifier } from "./algorithm-identifiers.ts";
import type { SignatureName } from "./algorithms.ts";
import { type CrlEntry, reasonExtensions, type TbsCertList } from "./crl.ts";
import { encodeExtensions } from "./extensions.ts";

/** Octets in order, cut anywhere. */
export type Segments = readonly Uint8Array[];

/** The entries of one list, encoded one after the other into segments of half a megabyte. */
export class CrlEntries {
  readonly #full: Uint8Array[] = [];
  #segment = new Uint8Array(firstOctets);
  #used = 0;
  #count = 0;
  #octets = 0;
  #second = Number.NaN;
  #time: Uint8Array = new Uint8Array(0);

  get count(): number {
    return this.#count;
  }

  /** Octets of all entries. */
  get octets(): number {
    return this.#octets;
  }

  /** Appends the DER of one revokedCertificates entry, the same that `encodeCrlEntry` gives. */
  add(entry: CrlEntry): void {
    const hex = BigInt(entry.serial).toString(16);
    const at = this.#timeOf(entry.revokedAt);
    const extensions = reasonExtensions.get(entry.reason);
    const odd = hex.length & 1;
    // A sign octet keeps the first bit of a positive INTEGER clear (X.690 §8.3).
    const signed = odd === 0 && hex.charCodeAt(0) >= eight ? 1 : 0;
    const serialOctets = ((hex.length + odd) >> 1) + signed;
    const content = 2 + serialOctets + at.length + (extensions?.length ?? 0);
    assert(content < 0x80, "an entry is shorter than 128 octets");
    this.#reserve(2 + content);
    const out = this.#segment;
    let used = this.#used;
    out[used++] = tags.sequence;
    out[used++] = content;
    out[used++] = tags.integer;
    out[used++] = serialOctets;
    if (signed === 1) out[used++] = 0;
    if (odd === 1) out[used++] = digitAt(hex, 0);
    for (let n = odd; n < hex.length; n += 2) {
      out[used++] = (digitAt(hex, n) << 4) | digitAt(hex, n + 1);
    }
    out.set(at, used);
    used += at.length;
    if (extensions !== undefined) out.set(extensions, used);
    this.#used = used + (extensions?.length ?? 0);
    this.#count += 1;
    this.#octets += 2 + content;
  }

  /** What was appended so far. */
  segments(): Segments {
    return this.#used === 0 ? this.#full : [...this.#full, this.#segment.subarray(0, this.#used)];
  }

  #reserve(octets: number): void {
    if (this.#used + octets <= this.#segment.length) return;
    this.#full.push(this.#segment.subarray(0, this.#used));
    this.#segment = new Uint8Array(segmentOctets);
    this.#used = 0;
  }

  /** Revocations come in runs of the same second. */
  #timeOf(at: Instant): Uint8Array {
    const second = wholeSecond(at);
    if (second !== this.#second) {
      this.#second = second;
      this.#time = time(at);
    }
    return this.#time;
  }
}

/** A v2 TBSCertList as `encodeTbsCertList` writes it, around entries that are never joined. */
export function tbsCertListSegments(
  fields: Omit<TbsCertList, "entries">,
  entries: CrlEntries,
): Segments {
  const list = entries.count === 0 ? [] : [headOf(tags.sequence, entries.octets)];
  const start = [
    integer(1),
    algorithmIdentifier(fields.signature),
    fields.issuer,
    time(fields.thisUpdate),
    time(fields.nextUpdate),
    ...list,
  ];
  const end = explicit(0, encodeExtensions(fields.extensions));
  const octets = lengthOf(start) + entries.octets + end.length;
  return [joined([headOf(tags.sequence, octets), ...start]), ...entries.segments(), end];
}

/** The signed list around its TBSCertList, as `assembleSigned` makes it. */
export function signedSegments(
  tbs: Segments,
  algorithm: SignatureName,
  signature: Uint8Array,
): Segments {
  const end = joined([algorithmIdentifier(algorithm), bitString(signature)]);
  return [headOf(tags.sequence, lengthOf(tbs) + end.length), ...tbs, end];
}

/** Octets of all segments. */
export const lengthOf = (segments: Segments): number =>
  segments.reduce((sum, segment) => sum + segment.length, 0);

/** The segments as one piece; for what has to be looked at as a whole. */
export function joined(segments: Segments): Uint8Array {
  const [only] = segments;
  if (segments.length === 1 && only !== undefined) return only;
  const out = new Uint8Array(lengthOf(segments));
  let at = 0;
  for (const segment of segments) {
    out.set(segment, at);
    at += segment.length;
  }
  return out;
}

/**
 * The same octets in pieces of half a megabyte, as they are stored. The pieces lie in `buffers`
 * memories that are used in turn: one is good until `buffers` more have been taken.
 */
export function* piecesOf(segments: Segments, buffers: number): Generator<Uint8Array> {
  const octets = lengthOf(segments);
  const room = Math.min(octets, segmentOctets);
  const used = Math.min(buffers, Math.ceil(octets / segmentOctets));
  const memories = Array.from({ length: used }, () => new Uint8Array(room));
  let [piece, filled] = [0, 0];
  for (const segment of segments) {
    for (let at = 0; at < segment.length; ) {
      const memory = memories[piece % used] ?? new Uint8Array(room);
      const taken = segment.subarray(at, at + room - filled);
      memory.set(taken, filled);
      at += taken.length;
      filled += taken.length;
      if (filled < room) continue;
      yield memory;
      [piece, filled] = [piece + 1, 0];
    }
  }
  if (filled > 0) yield (memories[piece % used] ?? new Uint8Array(0)).subarray(0, filled);
}

/** Value of the hexadecimal digit, 0–9 or a–f. */
function digitAt(hex: string, at: number): number {
  const code = hex.charCodeAt(at);
  return code <= nine ? code - zero : code - lowerA + 10;
}

/** Octets of one stored piece of a CRL. */
export const segmentOctets = 512 * 1024;
const firstOctets = 4096;
const [zero, eight, nine, lowerA] = [0x30, 0x38, 0x39, 0x61];
