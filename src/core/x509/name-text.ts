/**
 * Reads distinguished names as people write them (RFC 4514), and says when two are the same name.
 */

import { type Cursor, DerError, openDer, openSequence } from "#core/asn1/cursor.ts";
import { isOid } from "#core/asn1/oid-octets.ts";
import { decodeText, isTextTag } from "#core/asn1/strings.ts";
import { tags } from "#core/asn1/tags.ts";

import { attributeTypes } from "./attribute-types.ts";
import type { Name } from "./names.ts";

/**
 * Stands for a name wherever it is compared: two names have one key exactly when they have the same
 * RDNs in the same order, each with the same attributes in any order, by type and by the characters
 * of the value, whatever the string types are. Case counts.
 */
export type NameKey = string & { readonly brand: "NameKey" };

/** The key of a name that was read; throws DerError for a known attribute that is not text. */
export function nameKey(name: Pick<Name, "der">): NameKey {
  const rdns: Rdn[] = [];
  const names = openSequence(name.der);
  while (!names.finished) {
    const members = names.enter(tags.set);
    const rdn: Attribute[] = [];
    do rdn.push(readAttribute(members.enter(tags.sequence)));
    while (!members.finished);
    rdns.push(rdn);
  }
  return keyOf(rdns);
}

/**
 * The key of a name as text, the most specific attribute first; undefined for what RFC 4514 §3 does
 * not allow. Types are the names of `attributeTypes`, in any case, or dotted OIDs; spaces around
 * separators are passed over, as RFC 2253 §4 wants.
 */
export function parseNameText(text: string): NameKey | undefined {
  const rdns: Rdn[] = [];
  let rdn: Attribute[] = [];
  for (let at = 0; ; ) {
    const found = matchAt(attributePattern, text, at);
    const attribute = found && attributeOf(found);
    if (found === undefined || attribute === undefined) return undefined;
    rdn.push(attribute);
    at += found[0].length;
    const separator = text[at];
    if (separator === undefined) break;
    if (separator === ",") {
      rdns.push(rdn);
      rdn = [];
    }
    at += 1;
  }
  return keyOf([...rdns, rdn].reverse());
}

/** Dotted OID; `text` or, for a value that is none, `der`. */
interface Attribute {
  readonly type: string;
  readonly value: { readonly text: string } | { readonly der: string };
}
type Rdn = readonly Attribute[];

/** An RDN is a set (X.501 §9.3). */
const keyOf = (rdns: readonly Rdn[]): NameKey =>
  // The one place that makes them.
  JSON.stringify(rdns.map((rdn) => rdn.map((one) => JSON.stringify(one)).sort())) as NameKey;

function readAttribute(attribute: Cursor): Attribute {
  const type = attribute.oid();
  const value = readValue(attribute);
  attribute.finish();
  if ("der" in value && knownOids.has(type)) {
    throw new DerError("an attribute of a name is not text");
  }
  return { type, value };
}

function readValue(cursor: Cursor): Attribute["value"] {
  const { tag } = cursor;
  if (isTextTag(tag)) return { text: decodeText(tag, cursor.content(tag)) };
  return { der: cursor.element().toHex() };
}

function attributeOf([, written = "", given = ""]: RegExpExecArray): Attribute | undefined {
  const type = typeOf(written);
  const value = given.startsWith("#") ? hexValue(given.slice(1)) : textValue(given);
  if (type === undefined || value === undefined) return undefined;
  if ("der" in value && knownOids.has(type)) return undefined;
  return { type, value };
}

const typeOf = (written: string): string | undefined =>
  isOid(written) ? written : oidsByWord.get(written.toLowerCase());

/** RFC 4514 §2.4: a number sign, and the hex of the value's encoding. */
function hexValue(hex: string): Attribute["value"] | undefined {
  if (!/^(?:[0-9A-Fa-f]{2})+ *$/.test(hex)) return undefined;
  try {
    const cursor = openDer(Uint8Array.fromHex(hex.trimEnd()));
    const value = readValue(cursor);
    cursor.finish();
    return value;
  } catch (error) {
    if (error instanceof DerError) return undefined;
    throw error;
  }
}

/** Takes escapes off; undefined when what they stand for is not UTF-8. */
function textValue(given: string): Attribute["value"] | undefined {
  const pieces = given.match(piecePattern) ?? [];
  while (pieces.at(-1) === " ") pieces.pop();
  const octets = pieces.flatMap((piece) => {
    const hex = /^\\([0-9A-Fa-f]{2})$/.exec(piece)?.[1];
    if (hex !== undefined) return [Number.parseInt(hex, 16)];
    return [...utf8.encode(piece.replace(/^\\/, ""))];
  });
  try {
    return { text: strictUtf8.decode(Uint8Array.from(octets)) };
  } catch {
    return undefined;
  }
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text) ?? undefined;
}

const utf8 = new TextEncoder();
const strictUtf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * A type, an equals sign, and a value up to a separator or the end; within it separators and their
 * like are escaped. The value does not begin with a space, so that there is one way to part the
 * spaces before it from it.
 */
const attributePattern =
  /\s*([A-Za-z][A-Za-z0-9-]*|\d[\d.]*) *= *(?! )((?:\\[ "#+,;<=>\\]|\\[0-9A-Fa-f]{2}|[^"+,;<>\\\0])*)(?=[,+]|$)/y;
/** One escape, or one character. */
const piecePattern = /\\[0-9A-Fa-f]{2}|\\.|[^\\]/gsu;

const oidsByWord: ReadonlyMap<string, string> = new Map(
  Object.entries(attributeTypes).flatMap(([word, [oid, short]]) => [
    [word.toLowerCase(), oid],
    [short.toLowerCase(), oid],
  ]),
);
const knownOids: ReadonlySet<string> = new Set(Object.values(attributeTypes).map(([oid]) => oid));
