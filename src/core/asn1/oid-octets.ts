/** Object identifiers between dotted text and content octets (X.690 §8.19). */

import { assert } from "#core/problems.ts";

import { tags } from "./tags.ts";

/** The complete OBJECT IDENTIFIER element of a dotted text; asserts that the text is one. */
export function encodeOid(dotted: string): Uint8Array {
  assert(isOid(dotted), "a dotted object identifier is well formed");
  const [root = "0", second = "0", ...rest] = dotted.split(".");
  const octets: number[] = [];
  appendArc(octets, BigInt(root) * 40n + BigInt(second));
  for (const arc of rest) appendArc(octets, BigInt(arc));
  assert(octets.length <= oidOctetsMax, "an object identifier has at most 64 octets");
  return Uint8Array.of(tags.oid, octets.length, ...octets);
}

/**
 * True for dotted text of an object identifier: minimal digits, roots 0..2, second arc below 40
 * under 0 and 1.
 */
export function isOid(text: string): boolean {
  return (
    text.length <= 200 &&
    /^(?:[01]\.(?:\d|[1-3]\d)|2\.(?:0|[1-9]\d*))(?:\.(?:0|[1-9]\d*))*$/.test(text)
  );
}

/** Dotted text of content octets; undefined for empty, over 64 octets, padded or cut arcs. */
export function decodeOid(bytes: Uint8Array, start: number, end: number): string | undefined {
  if (end <= start || end - start > oidOctetsMax) return undefined;
  let text = "";
  let at = start;
  while (at < end) {
    const arcStart = at;
    if (bytes[at] === 0x80) return undefined;
    let value = 0;
    while (at < end && (bytes[at] ?? 0) >= 0x80) value = value * 128 + ((bytes[at++] ?? 0) & 0x7f);
    if (at === end) return undefined;
    value = value * 128 + (bytes[at++] ?? 0);
    const arc = at - arcStart > 7 ? bigArc(bytes, arcStart, at) : value;
    text += text === "" ? firstArcs(arc) : `.${arc}`;
  }
  return text;
}

function appendArc(octets: number[], arc: bigint): void {
  const base: number[] = [Number(arc & 0x7fn)];
  for (let rest = arc >> 7n; rest > 0n; rest >>= 7n) base.unshift(0x80 | Number(rest & 0x7fn));
  octets.push(...base);
}

function firstArcs(arc: number | bigint): string {
  if (arc < 40) return `0.${arc}`;
  if (arc < 80) return `1.${Number(arc) - 40}`;
  return `2.${typeof arc === "number" ? arc - 80 : arc - 80n}`;
}

// More than seven octets do not fit the exact range of a number (UUID arcs under 2.25).
function bigArc(bytes: Uint8Array, start: number, end: number): bigint {
  let value = 0n;
  for (let at = start; at < end; at++) value = (value << 7n) | BigInt((bytes[at] ?? 0) & 0x7f);
  return value;
}

const oidOctetsMax = 64;
