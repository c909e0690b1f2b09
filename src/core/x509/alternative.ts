/**
 * Alternative signatures: a second key and its signature beside the native ones (X.509 (10/2019)
 * §7.2.2, §9.8).
 */

import { DerError, openSequence, readWhole } from "#core/asn1/cursor.ts";
import { bitString, element, sequence } from "#core/asn1/der.ts";
import { oids } from "#core/asn1/oids.ts";
import { contextualConstructed, tags } from "#core/asn1/tags.ts";

import { algorithmIdentifier, readAlgorithm } from "./algorithm-identifiers.ts";
import type { SignatureName } from "./algorithms.ts";
import type { Extension } from "./extensions.ts";

/** The subject's alternative key, DER of its SubjectPublicKeyInfo (X.509 §9.8.2). */
export const subjectAltPublicKeyInfo = (spki: Uint8Array): Extension =>
  plain(oids.subjectAltPublicKeyInfo, spki);

/** The algorithm of the issuer's alternative signature (X.509 §9.8.3). */
export const altSignatureAlgorithm = (signature: SignatureName): Extension =>
  plain(oids.altSignatureAlgorithm, algorithmIdentifier(signature));

/** The issuer's alternative signature (X.509 §9.8.4); pkid writes it last. */
export const altSignatureValue = (signature: Uint8Array): Extension =>
  plain(oids.altSignatureValue, bitString(signature));

/**
 * The name of an altSignatureAlgorithm; undefined for one the table does not know. Throws DerError.
 */
export const readAltSignatureAlgorithm = (value: Uint8Array): SignatureName | undefined =>
  readAlgorithm(value).signatureName;

/** The octets of an altSignatureValue. Throws DerError. */
export const readAltSignatureValue = (value: Uint8Array): Uint8Array =>
  readWhole(value, (cursor) => cursor.wholeBits());

/**
 * DER of the PreTBSCertificate: the to-be-signed certificate without its `signature` member and
 * without the extension altSignatureValue, which may be there or still be missing. Throws DerError.
 */
export const preTbsCertificate = (tbs: Uint8Array): Uint8Array =>
  preTbs(tbs, { versionTag: contextualConstructed(0), before: 1, extensions: 3 });

/** The same of a CRL: the PreTBSCertList (X.509 §7.10.3). */
export const preTbsCertList = (tbs: Uint8Array): Uint8Array =>
  preTbs(tbs, { versionTag: tags.integer, before: 0, extensions: 0 });

/**
 * DER of a list of extensions without altSignatureValue; undefined when nothing else is in it.
 * Throws DerError.
 */
export function withoutAltSignatureValue(extensions: Uint8Array): Uint8Array | undefined {
  const kept: Uint8Array[] = [];
  const list = openSequence(extensions);
  while (!list.finished) {
    const extension = list.element(tags.sequence);
    if (openSequence(extension).oid() !== oids.altSignatureValue) kept.push(extension);
  }
  return kept.length === 0 ? undefined : sequence(...kept);
}

interface Layout {
  readonly versionTag: number;
  /** Members between version and `signature`. */
  readonly before: number;
  /** Number of the context tag around the extensions. */
  readonly extensions: number;
}

function preTbs(tbs: Uint8Array, layout: Layout): Uint8Array {
  const members = openSequence(tbs);
  const kept: Uint8Array[] = [];
  if (members.tag === layout.versionTag) kept.push(members.element());
  for (let at = 0; at < layout.before; at++) kept.push(members.element());
  members.element(tags.sequence);
  const holder = contextualConstructed(layout.extensions);
  while (!members.finished) {
    if (members.tag !== holder) {
      kept.push(members.element());
      continue;
    }
    const inner = members.enter(holder);
    const extensions = withoutAltSignatureValue(inner.element(tags.sequence));
    inner.finish();
    if (!members.finished) throw new DerError("something follows the extensions");
    if (extensions !== undefined) kept.push(element(holder, extensions));
  }
  return sequence(...kept);
}

// PQ-4: relying parties that do not know alternative signatures must be able to ignore them.
const plain = (oid: string, value: Uint8Array): Extension => ({ oid, critical: false, value });
