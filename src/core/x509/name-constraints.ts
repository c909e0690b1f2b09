/** The name constraints extension: which names a CA may certify (RFC 5280 §4.2.1.10). */

import { type Cursor, DerError, openSequence } from "#core/asn1/cursor.ts";
import { elementOf, explicit, implicit, sequence } from "#core/asn1/der.ts";
import { oids } from "#core/asn1/oids.ts";
import { decodeAscii } from "#core/asn1/strings.ts";
import { contextual, contextualConstructed, tags } from "#core/asn1/tags.ts";
import { assert } from "#core/problems.ts";

import { ipText, parseIpAddress } from "./addresses.ts";
import type { Extension } from "./extensions.ts";
import { parseName } from "./names.ts";

/**
 * Subtrees by kind: DNS suffixes, CIDRs, e-mail domains or mailboxes, URI hosts, directory names
 * (DER).
 */
export interface Subtrees {
  readonly dns: readonly string[];
  readonly ip: readonly string[];
  readonly email: readonly string[];
  readonly uri: readonly string[];
  readonly dirNames: readonly Uint8Array[];
}
export interface NameConstraints {
  readonly permitted: Subtrees;
  readonly excluded: Subtrees;
}

/** At least one subtree; the texts are ASCII, CIDRs have their host bits zeroed here. */
export function nameConstraints(value: NameConstraints, critical: boolean): Extension {
  const parts: Uint8Array[] = [];
  const permitted = encodeSubtrees(value.permitted);
  const excluded = encodeSubtrees(value.excluded);
  if (permitted.length > 0) parts.push(elementOf(contextualConstructed(0), permitted));
  if (excluded.length > 0) parts.push(elementOf(contextualConstructed(1), excluded));
  assert(parts.length > 0, "a name constraints extension constrains something");
  return { oid: oids.nameConstraints, critical, value: sequence(...parts) };
}

/**
 * Reads the extension; throws DerError for what pkid could not enforce: other kinds of names, a
 * minimum, a maximum, a mask that is no prefix.
 */
export function parseNameConstraints(value: Uint8Array): NameConstraints {
  const constraints = openSequence(value);
  if (constraints.finished) throw new DerError("name constraints constrain nothing");
  const permitted = readSubtrees(constraints.enterOptional(contextualConstructed(0)));
  const excluded = readSubtrees(constraints.enterOptional(contextualConstructed(1)));
  constraints.finish();
  return { permitted, excluded };
}

/** Address and mask of a CIDR text, 8 or 32 octets; undefined when it is not one. */
export function parseCidr(text: string): Uint8Array | undefined {
  const [address = "", prefix = "", ...rest] = text.split("/");
  const octets = parseIpAddress(address);
  if (octets === undefined || rest.length > 0 || !/^(?:0|[1-9]\d{0,2})$/.test(prefix))
    return undefined;
  if (Number(prefix) > octets.length * 8) return undefined;
  const out = new Uint8Array(octets.length * 2);
  for (const [index, octet] of octets.entries()) {
    const mask = maskOctet(Number(prefix) - index * 8);
    out[index] = octet & mask;
    out[octets.length + index] = mask;
  }
  return out;
}

function encodeSubtrees(subtrees: Subtrees): readonly Uint8Array[] {
  return [
    ...subtrees.dns.map((text) => implicit(2, asciiOctets(text))),
    ...subtrees.ip.map((text) => implicit(7, cidrOctets(text))),
    ...subtrees.email.map((text) => implicit(1, asciiOctets(text))),
    ...subtrees.uri.map((text) => implicit(6, asciiOctets(text))),
    ...subtrees.dirNames.map((name) => explicit(4, name)),
  ].map((base) => sequence(base));
}

function readSubtrees(list: Cursor | undefined): Subtrees {
  const subtrees: Collected = { dns: [], ip: [], email: [], uri: [], dirNames: [] };
  if (list === undefined) return subtrees;
  do {
    const subtree = list.enter(tags.sequence);
    readBase(subtree, subtrees);
    // RFC 5280 §4.2.1.10: minimum is always 0, which DER leaves out, and maximum is absent.
    subtree.finish();
  } while (!list.finished);
  return subtrees;
}

function readBase(subtree: Cursor, into: Collected): void {
  switch (subtree.tag) {
    case contextual(1):
      into.email.push(decodeAscii(subtree.content(contextual(1))));
      return;
    case contextual(2):
      into.dns.push(decodeAscii(subtree.content(contextual(2))).toLowerCase());
      return;
    case contextualConstructed(4): {
      const directory = subtree.enter(contextualConstructed(4));
      into.dirNames.push(parseName(directory.element()).der);
      directory.finish();
      return;
    }
    case contextual(6):
      into.uri.push(decodeAscii(subtree.content(contextual(6))).toLowerCase());
      return;
    case contextual(7):
      into.ip.push(cidrText(subtree.content(contextual(7))));
      return;
    default:
      throw new DerError("a name constraint is of a kind that cannot be enforced");
  }
}

function cidrText(octets: Uint8Array): string {
  const half = octets.length / 2;
  if (half !== 4 && half !== 16) throw new DerError("an address range has neither 8 nor 32 octets");
  const mask = octets.subarray(half);
  let prefix = 0;
  while (prefix < half * 8 && ((mask[prefix >> 3] ?? 0) & (0x80 >> (prefix & 7))) !== 0) prefix++;
  for (const [index, octet] of mask.entries()) {
    if (octet !== maskOctet(prefix - index * 8)) throw new DerError("a mask is not a prefix");
    if (((octets[index] ?? 0) & ~octet) !== 0)
      throw new DerError("an address has bits beyond its mask");
  }
  return `${ipText(octets.subarray(0, half))}/${prefix}`;
}

/** The octet of a mask with this many leading ones left, 8 and more meaning all. */
const maskOctet = (ones: number): number =>
  ones >= 8 ? 0xff : ones <= 0 ? 0 : (0xff << (8 - ones)) & 0xff;

function cidrOctets(text: string): Uint8Array {
  const octets = parseCidr(text);
  assert(octets, "an address constraint is a CIDR");
  return octets;
}

function asciiOctets(text: string): Uint8Array {
  const octets = new TextEncoder().encode(text);
  assert(octets.length === text.length, "a name constraint is ASCII");
  return octets;
}

interface Collected {
  readonly dns: string[];
  readonly ip: string[];
  readonly email: string[];
  readonly uri: string[];
  readonly dirNames: Uint8Array[];
}
