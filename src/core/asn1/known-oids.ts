/** Dotted text of the object identifiers that every certificate has, without decoding them. */

import { decodeOid } from "./oid-octets.ts";
import { encodedOids } from "./oids.ts";

/**
 * As `decodeOid`; what is met again and again is the same text each time, which is quicker to make
 * and to look up.
 */
export function oidText(bytes: Uint8Array, start: number, end: number): string | undefined {
  if (end - start === 3 && bytes[start] === 0x55) {
    const last = bytes[start + 2] ?? 0x80;
    if (bytes[start + 1] === 0x04 && last < 0x80) return attributes[last];
    if (bytes[start + 1] === 0x1d && last < 0x80) return extensions[last];
  }
  if (end - start > longestKnown) return decodeOid(bytes, start, end);
  const known = table.get(hashOf(bytes, start, end));
  if (known === undefined || !is(known.octets, bytes, start, end)) {
    return decodeOid(bytes, start, end);
  }
  return known.dotted;
}

function is(octets: Uint8Array, bytes: Uint8Array, start: number, end: number): boolean {
  if (octets.length !== end - start) return false;
  for (let at = start; at < end; at++) if (bytes[at] !== octets[at - start]) return false;
  return true;
}

/** FNV-1a; two of one hash would share a place, and the later one be known. */
function hashOf(bytes: Uint8Array, start: number, end: number): number {
  let hash = 0x811c9dc5;
  for (let at = start; at < end; at++) hash = Math.imul(hash ^ (bytes[at] ?? 0), 0x01000193);
  return hash;
}

const below = (arc: string): readonly string[] =>
  Array.from({ length: 0x80 }, (_, last) => `${arc}.${last}`);

/** X.520 and RFC 5280: the arcs whose last number takes one octet. */
const attributes = below("2.5.4");
const extensions = below("2.5.29");

/** Those of the table, by their content octets. */
const table: ReadonlyMap<number, { readonly dotted: string; readonly octets: Uint8Array }> =
  new Map(
    [...encodedOids].map(([dotted, element]) => {
      const octets = element.subarray(2);
      return [hashOf(octets, 0, octets.length), { dotted, octets }];
    }),
  );
const longestKnown = Math.max(...Array.from(table.values(), ({ octets }) => octets.length));
