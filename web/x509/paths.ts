/** As much of certificates as their files need: PEM to octets, and what stands above a leaf. */

import { type Cursor, openSequence, readWhole } from "#core/asn1/cursor.ts";
import { decodePemBlocks, encodePem } from "#core/asn1/pem.ts";
import { contextual, contextualConstructed, tags } from "#core/asn1/tags.ts";
import { attempt } from "./decoded.ts";

/** The certificates in a text, in order; none where one is broken. */
export const certificatesIn = (pem: string): readonly Uint8Array[] =>
  decodePemBlocks(pem, "CERTIFICATE", certificatesMax) ?? [];

/**
 * The leaf and those above it, nearest first, as its file has them. A root is left out: whoever
 * trusts it has it (EXT-6).
 */
export function pathOf(leaf: Uint8Array, above: readonly Uint8Array[]): readonly Uint8Array[] {
  const path = [leaf].concat(above);
  const last = above.at(-1);
  return last !== undefined && isRoot(last) ? path.slice(0, -1) : path;
}

/**
 * True for one that its own key has signed, as far as it says so itself; what cannot be read says
 * nothing, and a certificate too many in a file breaks nothing.
 */
export function isRoot(der: Uint8Array): boolean {
  const { value: said } = attempt(() => {
    const { issuer, subject, serial, behind } = readNames(der);
    return issuer === subject && isOwn(keysIn(behind), serial);
  });
  return said === true;
}

/** One PEM text of them all. */
export const pemOf = (certificates: readonly Uint8Array[]): string =>
  certificates.map((der) => encodePem("CERTIFICATE", der)).join("");

/** DER of the public key of a certificate. */
export const spkiOf = (der: Uint8Array): Uint8Array<ArrayBuffer> =>
  new Uint8Array(readNames(der).spki);

/** RFC 5280 §4.1: what stands in front of the extensions, and a cursor behind it. */
function readNames(der: Uint8Array) {
  const tbs = openSequence(openSequence(der).element(tags.sequence));
  tbs.enterOptional(contextualConstructed(0));
  const serial = tbs.content(tags.integer).toBase64();
  tbs.element(tags.sequence);
  const issuer = tbs.element(tags.sequence).toBase64();
  tbs.element(tags.sequence);
  const subject = tbs.element(tags.sequence).toBase64();
  return { serial, issuer, subject, spki: tbs.element(tags.sequence), behind: tbs };
}

interface KeysNamed {
  readonly own?: string;
  readonly signer?: { readonly key: string | undefined; readonly serial: string | undefined };
}

/**
 * RFC 4210 §4.4: a new key that the old one vouches for has the name of the CA twice and is no
 * root. RFC 5280 §4.2.1.1: only who has signed itself may leave out whose key that was.
 */
function isOwn({ own, signer }: KeysNamed, serial: string): boolean {
  if (signer === undefined) return true;
  if (signer.key !== undefined) return signer.key === own;
  return signer.serial === undefined || signer.serial === serial;
}

/** The identifiers of its own key and of that which has signed it. */
function keysIn(tbs: Cursor): KeysNamed {
  let keys: KeysNamed = {};
  for (const number of [1, 2]) if (tbs.tag === contextual(number)) tbs.element();
  const list = tbs.enterOptional(contextualConstructed(3))?.enter(tags.sequence);
  while (list !== undefined && !list.finished) {
    const extension = list.enter(tags.sequence);
    const oid = extension.oid();
    if (extension.tag === tags.boolean) extension.boolean();
    const value = extension.octetString();
    if (oid === subjectKeyIdentifier) {
      keys = { ...keys, own: readWhole(value, (cursor) => cursor.octetString()).toBase64() };
    }
    if (oid === authorityKeyIdentifier) keys = { ...keys, signer: signerIn(value) };
  }
  return keys;
}

/** RFC 5280 §4.2.1.1: the key, or issuer and serial of its certificate, or both. */
function signerIn(value: Uint8Array) {
  const identifier = openSequence(value);
  const taken = (number: number) =>
    identifier.tag === contextual(number)
      ? identifier.content(contextual(number)).toBase64()
      : undefined;
  const key = taken(0);
  identifier.enterOptional(contextualConstructed(1));
  return { key, serial: taken(2) };
}

const subjectKeyIdentifier = "2.5.29.14";
const authorityKeyIdentifier = "2.5.29.35";
const certificatesMax = 32;
