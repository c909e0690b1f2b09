/**
 * Distinguished names: parse, re-encode in pkid's form, and print (RFC 5280 §4.1.2.4, RFC 4514).
 */

import { type Cursor, DerError, openSequence } from "#core/asn1/cursor.ts";
import { ia5String, oid, printableString, sequence, setOf, utf8String } from "#core/asn1/der.ts";
import { decodeText, isTextTag } from "#core/asn1/strings.ts";
import { tags } from "#core/asn1/tags.ts";

import { attributeTypesByOid, attributeTypesByWord } from "./attribute-types.ts";

/** One attribute of a name; `type` is the short name (CN, O, OU, C, ST, L, …) or a dotted OID. */
export interface NameAttribute {
  readonly type: string;
  readonly value: string;
}

/** A distinguished name in the order of its DER, one attribute per RDN in what pkid makes. */
export interface Name {
  readonly attributes: readonly NameAttribute[];
  /** DER of the RDNSequence, byte for byte as found or as encoded. */
  readonly der: Uint8Array;
}

/**
 * Encodes attributes in pkid's form: UTF8String, except C and serialNumber PrintableString, DC and
 * emailAddress IA5String. A value those cannot carry becomes UTF8String, which the lint rule
 * `subject_encoding` refuses. Types are words of `attributeTypes` or dotted OIDs; anything else is
 * a bug of the caller.
 */
export function encodeName(attributes: readonly NameAttribute[]): Name {
  const rdns = attributes.map(({ type, value }) => {
    const known = attributeTypesByWord.get(type);
    const typeOid = known?.oid ?? oid(type);
    return setOf([sequence(typeOid, encodeValue(known?.string, value))]);
  });
  return { attributes, der: sequence(...rdns) };
}

/**
 * Reads a DER Name; throws DerError. Values of UTF8String, PrintableString, IA5String,
 * TeletexString (Latin-1), BMPString, UniversalString, NumericString and VisibleString become text;
 * other values are refused for known types and given as `#` and hex for unknown ones.
 */
export function parseName(der: Uint8Array): Name {
  const attributes: NameAttribute[] = [];
  const names = openSequence(der);
  while (!names.finished) {
    const rdn = names.enter(tags.set);
    do attributes.push(readAttribute(rdn));
    while (!rdn.finished);
  }
  return { attributes, der };
}

/** RFC 4514 text, most specific attribute first as openssl `-nameopt RFC2253` prints it. */
export function nameText(name: Name): string {
  const rdns: string[] = [];
  const names = openSequence(name.der);
  while (!names.finished) {
    const rdn = names.enter(tags.set);
    const members: string[] = [];
    while (!rdn.finished) members.push(attributeText(rdn.enter(tags.sequence)));
    rdns.push(members.reverse().join("+"));
  }
  return rdns.reverse().join(",");
}

/** The last commonName, or empty text. */
export function commonName(name: Name): string {
  return name.attributes.findLast((attribute) => attribute.type === "CN")?.value ?? "";
}

/**
 * True for a text with control characters: NUL, where software ends a name; those terminals and
 * pages obey; separators of lines, and those that turn the direction of text around.
 */
export const hasControls = (text: string): boolean =>
  /[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/u.test(text);

function encodeValue(string: "utf8" | "printable" | "ia5" | undefined, value: string): Uint8Array {
  if (string === "printable" && printable.test(value)) return printableString(value);
  if (string === "ia5" && ascii.test(value)) return ia5String(value);
  return utf8String(value);
}

function readAttribute(rdn: Cursor): NameAttribute {
  const attribute = rdn.enter(tags.sequence);
  const dotted = attribute.oid();
  const known = attributeTypesByOid.get(dotted);
  const tag = attribute.tag;
  const text = isTextTag(tag);
  if (known && !text) throw new DerError("an attribute of a name is not text");
  const value = text ? decodeText(tag, attribute.content(tag)) : `#${attribute.element().toHex()}`;
  attribute.finish();
  return { type: known?.type ?? dotted, value };
}

function attributeText(attribute: Cursor): string {
  const dotted = attribute.oid();
  const known = attributeTypesByOid.get(dotted);
  const tag = attribute.tag;
  // RFC 4514 §2.4: a type without a short name, or a value that is not text, is shown as the hex of
  // its DER.
  if (!known || !isTextTag(tag)) return `${dotted}=#${attribute.element().toHex().toUpperCase()}`;
  return `${known.text}=${escapeText(decodeText(tag, attribute.content(tag)))}`;
}

function escapeText(text: string): string {
  if (plain.test(text)) return text;
  let out = "";
  const octets = utf8.encode(text);
  for (const [index, octet] of octets.entries()) {
    const character = String.fromCharCode(octet);
    const edge = index === 0 || index === octets.length - 1;
    if (octet < 0x20 || octet > 0x7e) {
      out += `\\${octet.toString(16).toUpperCase().padStart(2, "0")}`;
    } else if (
      special.test(character) ||
      (octet === 0x20 && edge) ||
      (octet === 0x23 && index === 0)
    ) {
      out += `\\${character}`;
    } else {
      out += character;
    }
  }
  return out;
}

const printable = /^[A-Za-z0-9 '()+,./:=?-]*$/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: IA5String carries all of ASCII.
const ascii = /^[\x00-\x7f]*$/;
const plain = /^[A-Za-z0-9.*@/:_-][A-Za-z0-9.*@/:_ -]*[A-Za-z0-9.*@/:_-]$/;
const special = /[,+"\\<>;]/;
const utf8 = new TextEncoder();
