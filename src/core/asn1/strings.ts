/** Text of the ASN.1 character string types (X.690 §8.23). */

import { DerError } from "./cursor.ts";
import { tags } from "./tags.ts";

/** The string types read as text. */
export type TextTag =
  | typeof tags.utf8String
  | typeof tags.numericString
  | typeof tags.printableString
  | typeof tags.teletexString
  | typeof tags.ia5String
  | typeof tags.visibleString
  | typeof tags.universalString
  | typeof tags.bmpString;

/** True for the tag of a string type that `decodeText` reads. */
export function isTextTag(tag: number | undefined): tag is TextTag {
  return tag !== undefined && textTags.has(tag);
}

/**
 * Text of content octets; throws DerError for octets the type cannot hold. TeletexString is read as
 * Latin-1, as everybody writes it.
 */
export function decodeText(tag: TextTag, octets: Uint8Array): string {
  switch (tag) {
    case tags.utf8String:
      return decodeUtf8(octets);
    case tags.teletexString:
      return fromUnits(octets, 1);
    case tags.bmpString:
      return fromUnits(octets, 2);
    case tags.universalString:
      return fromUnits(octets, 4);
    case tags.numericString:
    case tags.printableString:
    case tags.ia5String:
    case tags.visibleString:
      return decodeAscii(octets);
    default:
      return tag satisfies never;
  }
}

/** Text of octets below 0x80; throws DerError for others. */
export function decodeAscii(octets: Uint8Array): string {
  for (let at = 0; at < octets.length; at++) {
    if ((octets[at] ?? 0) > 0x7f) throw new DerError("a string has octets outside ASCII");
  }
  return utf8.decode(octets);
}

/** Text of UTF-8; throws DerError for octets that are not. */
export function decodeUtf8(octets: Uint8Array): string {
  try {
    return utf8.decode(octets);
  } catch {
    // The runtime throws a TypeError of its own; here it is malformed input like any other.
    throw new DerError("a string is not UTF-8");
  }
}

function fromUnits(octets: Uint8Array, width: 1 | 2 | 4): string {
  if (octets.length % width !== 0) throw new DerError("a string ends within a character");
  let text = "";
  for (let at = 0; at < octets.length; at += width) {
    let point = 0;
    for (const octet of octets.subarray(at, at + width)) point = point * 256 + octet;
    const surrogate = point >= 0xd800 && point <= 0xdfff;
    if (surrogate || point > 0x10ffff)
      throw new DerError("a string has a code that is no character");
    text += String.fromCodePoint(point);
  }
  return text;
}

const textTags: ReadonlySet<number> = new Set([
  tags.utf8String,
  tags.numericString,
  tags.printableString,
  tags.teletexString,
  tags.ia5String,
  tags.visibleString,
  tags.universalString,
  tags.bmpString,
]);

// A byte order mark is a character like any other in a certificate.
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
