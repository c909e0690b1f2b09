/** Subject alternative names (RFC 5280 §4.2.1.6). */

import { type Cursor, DerError, openSequence } from "#core/asn1/cursor.ts";
import { implicit, sequence } from "#core/asn1/der.ts";
import { decodeAscii, decodeUtf8 } from "#core/asn1/strings.ts";
import { contextual, contextualConstructed } from "#core/asn1/tags.ts";
import { assert } from "#core/problems.ts";

import { canonicalDnsName, ipText, parseIpAddress } from "./addresses.ts";
import { nameText, parseName } from "./names.ts";

/**
 * A name of a kind pkid issues; values are texts in canonical form (lower-case A-labels, RFC 5952
 * addresses).
 */
export interface GeneralName {
  readonly kind: "dns" | "ip" | "email" | "uri";
  readonly value: string;
}

/** `dns:a.example`: the form records, events and answers carry. */
export function generalNameText(name: GeneralName): string {
  return `${name.kind}:${name.value}`;
}

/** GeneralNames SEQUENCE, DER. */
export function encodeGeneralNames(names: readonly GeneralName[]): Uint8Array {
  return sequence(...names.map(encodeGeneralName));
}

/**
 * One GeneralName, DER; values are ASCII, `ip` values are addresses: the caller has made them
 * canonical.
 */
export function encodeGeneralName({ kind, value }: GeneralName): Uint8Array {
  if (kind === "ip") {
    const octets = parseIpAddress(value);
    assert(octets, "an address to encode is an IP address");
    return implicit(numbers.ip, octets);
  }
  const octets = utf8.encode(value);
  assert(octets.length === value.length, "a name to encode is ASCII");
  return implicit(numbers[kind], octets);
}

/**
 * Reads GeneralNames; names of other kinds come back in `unsupported` as texts. Throws DerError.
 * DNS names are put into canonical form; U-labels, which IA5String cannot hold but requests carry
 * as UTF-8, become A-labels.
 */
export function parseGeneralNames(der: Uint8Array): {
  readonly names: readonly GeneralName[];
  readonly unsupported: readonly string[];
} {
  const names: GeneralName[] = [];
  const unsupported: string[] = [];
  const cursor = openSequence(der);
  do {
    const name = readGeneralName(cursor);
    if (typeof name === "string") unsupported.push(name);
    else names.push(name);
  } while (!cursor.finished);
  return { names, unsupported };
}

/** Takes one GeneralName; a kind pkid does not issue is given as text. Throws DerError. */
export function readGeneralName(cursor: Cursor): GeneralName | string {
  switch (cursor.tag) {
    case contextual(numbers.dns):
      return { kind: "dns", value: readDnsName(cursor.content(contextual(numbers.dns))) };
    case contextual(numbers.ip):
      return { kind: "ip", value: readAddress(cursor.content(contextual(numbers.ip))) };
    case contextual(numbers.email):
      return { kind: "email", value: readVisible(cursor.content(contextual(numbers.email))) };
    case contextual(numbers.uri):
      return { kind: "uri", value: readVisible(cursor.content(contextual(numbers.uri))) };
    default:
      return readOtherName(cursor);
  }
}

function readDnsName(octets: Uint8Array): string {
  const name = canonicalDnsName(decodeUtf8(octets));
  if (name === undefined) throw new DerError("a DNS name cannot be spelled in ASCII");
  return name;
}

/**
 * IA5String carries control characters; no mailbox and no URI does, and software ends a name at
 * NUL.
 */
function readVisible(octets: Uint8Array): string {
  const text = decodeAscii(octets);
  if (/\p{Cc}/u.test(text)) throw new DerError("a name has control characters");
  return text;
}

function readAddress(octets: Uint8Array): string {
  if (octets.length !== 4 && octets.length !== 16) {
    throw new DerError("an IP address has neither 4 nor 16 octets");
  }
  return ipText(octets);
}

function readOtherName(cursor: Cursor): string {
  switch (cursor.tag) {
    case contextualConstructed(0): {
      const other = cursor.enter(contextualConstructed(0));
      const type = other.oid();
      other.enter(contextualConstructed(0));
      other.finish();
      return `otherName:${type}`;
    }
    case contextualConstructed(3):
      cursor.element();
      return "x400Address";
    case contextualConstructed(4): {
      const directory = cursor.enter(contextualConstructed(4));
      const name = parseName(directory.element());
      directory.finish();
      return `dirName:${nameText(name)}`;
    }
    case contextualConstructed(5):
      cursor.element();
      return "ediPartyName";
    case contextual(8):
      return `registeredID:${cursor.oid(contextual(8))}`;
    default:
      throw new DerError("a general name is of no known kind");
  }
}

/** Context tags of the kinds. */
const numbers = { email: 1, dns: 2, uri: 6, ip: 7 } as const;
const utf8 = new TextEncoder();
