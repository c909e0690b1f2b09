/** As much of certificates as their files need: PEM to octets, and what stands above a leaf. */

import { openSequence } from "#core/asn1/cursor.ts";
import { decodePemBlocks, encodePem } from "#core/asn1/pem.ts";
import { contextualConstructed, tags } from "#core/asn1/tags.ts";
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

/** True for one that names itself as its issuer; what cannot be read names nobody. */
export function isRoot(der: Uint8Array): boolean {
  const { value: names } = attempt(() => readNames(der));
  return names !== undefined && names.issuer === names.subject;
}

/** One PEM text of them all. */
export const pemOf = (certificates: readonly Uint8Array[]): string =>
  certificates.map((der) => encodePem("CERTIFICATE", der)).join("");

/** DER of the public key of a certificate. */
export const spkiOf = (der: Uint8Array): Uint8Array<ArrayBuffer> =>
  new Uint8Array(readNames(der).spki);

/** RFC 5280 §4.1: what stands in front of the extensions. */
function readNames(der: Uint8Array) {
  const tbs = openSequence(openSequence(der).element(tags.sequence));
  tbs.enterOptional(contextualConstructed(0));
  tbs.integer();
  tbs.element(tags.sequence);
  const issuer = tbs.element(tags.sequence).toBase64();
  tbs.element(tags.sequence);
  const subject = tbs.element(tags.sequence).toBase64();
  return { issuer, subject, spki: tbs.element(tags.sequence) };
}

const certificatesMax = 32;
