/**
 * Walks octets as DER to their last element, so that re-encoding what was decoded gives the same
 * octets (X.690 §10, §11).
 */

import { type Cursor, DerError, openDer } from "#core/asn1/cursor.ts";
import { tags } from "#core/asn1/tags.ts";

/** What keeps the octets from being the DER of one value; undefined when they are. */
export function derFault(octets: Uint8Array): string | undefined {
  try {
    const cursor = openDer(octets);
    walk(cursor);
    cursor.finish();
    return undefined;
  } catch (error) {
    if (error instanceof DerError) return error.message;
    throw error;
  }
}

/**
 * Takes one element. Lengths are minimal already when the cursor gives it out; what is left is
 * content with two spellings.
 */
function walk(cursor: Cursor): void {
  const tag = cursor.tag;
  if (tag === undefined) throw new DerError("an element is missing");
  if ((tag & constructed) === 0) {
    primitive(cursor, tag);
    return;
  }
  if ((tag & classBits) === 0 && tag !== tags.sequence && tag !== tags.set) {
    throw new DerError("a primitive type is constructed");
  }
  let last: Uint8Array | undefined;
  const inside = cursor.enter(tag);
  while (!inside.finished) {
    if (tag !== tags.set) {
      walk(inside);
      continue;
    }
    const member = inside.element();
    if (last !== undefined && after(last, member)) throw new DerError("a SET is not in order");
    const fault = derFault(member);
    if (fault !== undefined) throw new DerError(fault);
    last = member;
  }
}

function primitive(cursor: Cursor, tag: number): void {
  switch (tag) {
    case tags.boolean:
      cursor.boolean();
      return;
    case tags.integer:
    case tags.enumerated:
      cursor.integer(tag);
      return;
    case tags.bitString:
      cursor.bits();
      return;
    case tags.null:
      cursor.null();
      return;
    case tags.oid:
      cursor.oid();
      return;
    case tags.generalizedTime:
      cursor.generalizedTime();
      return;
    case tags.utcTime:
      cursor.time();
      return;
    case tags.sequence & ~constructed:
    case tags.set & ~constructed:
      throw new DerError("a constructed type is primitive");
    default:
      cursor.content(tag);
  }
}

/** X.690 §11.6: the shorter one is padded with zeros. */
function after(a: Uint8Array, b: Uint8Array): boolean {
  for (let at = 0; at < Math.max(a.length, b.length); at++) {
    const difference = (a[at] ?? 0) - (b[at] ?? 0);
    if (difference !== 0) return difference > 0;
  }
  return false;
}

const constructed = 0x20;
const classBits = 0xc0;
