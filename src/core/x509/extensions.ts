/** Certificate and CRL extensions pkid makes and reads (RFC 5280 §4.2, §5.2). */

import { DerError, openSequence, readWhole } from "#core/asn1/cursor.ts";
import {
  booleanTrue,
  element,
  explicit,
  ia5String,
  implicit,
  integer,
  namedBits,
  nullElement,
  octetString,
  oid,
  sequence,
} from "#core/asn1/der.ts";
import { DerWriter, headerOctetsMax } from "#core/asn1/der-writer.ts";
import { oids } from "#core/asn1/oids.ts";
import { contextual, contextualConstructed, tags } from "#core/asn1/tags.ts";
import { digest, sha256 } from "#core/crypto.ts";
import { assert } from "#core/problems.ts";

import { encodeGeneralName, encodeGeneralNames, type GeneralName } from "./general-names.ts";
import { subjectPublicKeyBits } from "./public-keys.ts";

/** One extension: dotted OID, criticality, and the DER inside the OCTET STRING. */
export interface Extension {
  readonly oid: string;
  readonly critical: boolean;
  readonly value: Uint8Array;
}

export const keyUsageBits = {
  digitalSignature: 0,
  nonRepudiation: 1,
  keyEncipherment: 2,
  dataEncipherment: 3,
  keyAgreement: 4,
  keyCertSign: 5,
  cRLSign: 6,
  encipherOnly: 7,
  decipherOnly: 8,
} as const;
export type KeyUsage = keyof typeof keyUsageBits;
/** The usages by name. */
export const keyUsages = Object.keys(keyUsageBits) as readonly KeyUsage[]; // Keys of the table.

/** Names of extended key usages by the words of the configuration; dotted OIDs pass as they are. */
export const extendedKeyUsages = {
  serverAuth: "1.3.6.1.5.5.7.3.1",
  clientAuth: "1.3.6.1.5.5.7.3.2",
  codeSigning: "1.3.6.1.5.5.7.3.3",
  emailProtection: "1.3.6.1.5.5.7.3.4",
  timeStamping: "1.3.6.1.5.5.7.3.8",
  OCSPSigning: "1.3.6.1.5.5.7.3.9",
  anyExtendedKeyUsage: "2.5.29.37.0",
} as const;

/**
 * True when TLS servers may use a certificate of these purposes, words or dotted OIDs; none at all
 * is every purpose.
 */
export function isForServers(usages: readonly string[]): boolean {
  return usages.length === 0 || usages.some((usage) => serving.includes(usage));
}

const serving: readonly string[] = [
  "serverAuth",
  extendedKeyUsages.serverAuth,
  "anyExtendedKeyUsage",
  extendedKeyUsages.anyExtendedKeyUsage,
];

export interface PolicyOptions {
  readonly oids: readonly string[];
  readonly cps?: string | undefined;
}

export const basicConstraints = (ca: boolean, pathLength: number | undefined): Extension =>
  critical(oids.basicConstraints, basicConstraintsValue(ca, pathLength));

/** At least one usage (RFC 5280 §4.2.1.3); always critical. */
export function keyUsage(usages: readonly KeyUsage[]): Extension {
  assert(usages.length > 0, "a key usage extension names a usage");
  return critical(oids.keyUsage, namedBits(usages.map((usage) => keyUsageBits[usage])));
}

/** The dotted OID of a purpose that is named by a word of `extendedKeyUsages`, or by its OID. */
export function purposeOid(usage: string): string {
  const words: Readonly<Record<string, string | undefined>> = extendedKeyUsages;
  return words[usage] ?? usage;
}

/** `usages` are words of `extendedKeyUsages` or dotted OIDs; `critical` only for TSA. */
export function extendedKeyUsage(usages: readonly string[], isCritical = false): Extension {
  const value = sequence(...usages.map((usage) => oid(purposeOid(usage))));
  return { oid: oids.extKeyUsage, critical: isCritical, value };
}

/**
 * RFC 7093 method 1 (leftmost 160 bits of SHA-256) or SHA-1, over the content of the
 * subjectPublicKey BIT STRING.
 */
export function subjectKeyId(spki: Uint8Array, method: "rfc7093" | "sha1"): Uint8Array {
  const bits = subjectPublicKeyBits(spki);
  return method === "sha1" ? digest("sha1", bits) : sha256(bits).slice(0, 20);
}

export const subjectKeyIdentifier = (keyId: Uint8Array): Extension =>
  plain(oids.subjectKeyIdentifier, octetString(keyId));

/** keyIdentifier only: issuer and serial would tie the certificate to one certificate of the CA. */
export const authorityKeyIdentifier = (keyId: Uint8Array): Extension =>
  plain(oids.authorityKeyIdentifier, sequence(implicit(0, keyId)));

/** Critical exactly when the subject is empty (RFC 5280 §4.2.1.6); the caller knows. */
export const subjectAltName = (names: readonly GeneralName[], isCritical: boolean): Extension => ({
  oid: oids.subjectAltName,
  critical: isCritical,
  value: encodeGeneralNames(names),
});

/**
 * Policy OIDs, each with the CPS pointer when there is one (RFC 5280 §4.2.1.4); the pointer is
 * ASCII.
 */
export function certificatePolicies(value: PolicyOptions, isCritical: boolean): Extension {
  const { cps } = value;
  const qualifiers =
    cps === undefined ? [] : [sequence(sequence(oid(oids.policyCps), ia5String(cps)))];
  const policies = value.oids.map((policy) => sequence(oid(policy), ...qualifiers));
  return { oid: oids.certificatePolicies, critical: isCritical, value: sequence(...policies) };
}

/** At least one of the two URLs (RFC 5280 §4.2.2.1). */
export function authorityInfoAccess(urls: {
  readonly ocsp?: string | undefined;
  readonly caIssuers?: string | undefined;
}): Extension {
  const descriptions: Uint8Array[] = [];
  if (urls.ocsp !== undefined) descriptions.push(accessDescription(oids.accessOcsp, urls.ocsp));
  if (urls.caIssuers !== undefined) {
    descriptions.push(accessDescription(oids.accessCaIssuers, urls.caIssuers));
  }
  assert(descriptions.length > 0, "an authority information access extension names a place");
  return plain(oids.authorityInfoAccess, sequence(...descriptions));
}

/** One distribution point; several URLs are places of the same CRL (RFC 5280 §4.2.1.13). */
export function crlDistributionPoints(urls: readonly string[]): Extension {
  assert(urls.length > 0, "a distribution point names a place");
  const names = urls.map((value) => encodeGeneralName({ kind: "uri", value }));
  const fullName = element(contextualConstructed(0), ...names);
  return plain(oids.crlDistributionPoints, sequence(sequence(explicit(0, fullName))));
}

/** TLS feature status_request (RFC 7633). */
export const mustStaple = (): Extension => plain(oids.tlsFeature, sequence(integer(5)));

/** id-pkix-ocsp-nocheck (RFC 6960 §4.2.2.2.1). */
export const ocspNoCheck = (): Extension => plain(oids.ocspNoCheck, nullElement());

export const crlNumber = (number: number): Extension => plain(oids.crlNumber, integer(number));

/** DER SEQUENCE OF Extension. */
export function encodeExtensions(extensions: readonly Extension[]): Uint8Array {
  const out = new DerWriter(roomOfExtensions(extensions));
  writeExtensions(out, extensions);
  return out.finish();
}

/** Octets that `writeExtensions` needs at most. */
export function roomOfExtensions(extensions: readonly Extension[]): number {
  let room = headerOctetsMax;
  for (const { value } of extensions) room += value.length + extensionRoom;
  return room;
}

/** The same before what is written already. */
export function writeExtensions(out: DerWriter, extensions: readonly Extension[]): void {
  const end = out.mark;
  for (let at = extensions.length - 1; at >= 0; at--) {
    const extension = extensions[at];
    if (extension !== undefined) writeExtension(out, extension);
  }
  out.wrap(tags.sequence, end);
}

/** Reads them in order; a repeated OID or a non-DER critical flag throws DerError. */
export function parseExtensions(der: Uint8Array): readonly Extension[] {
  const extensions: Extension[] = [];
  const seen = new Set<string>();
  const list = openSequence(der);
  while (!list.finished) {
    const extension = list.enter(tags.sequence);
    const dotted = extension.oid();
    const flagged = extension.tag === tags.boolean;
    const isCritical = flagged && extension.boolean();
    // X.690 §11.5: a DEFAULT value is not encoded.
    if (flagged && !isCritical) throw new DerError("a critical flag of FALSE is encoded");
    if (seen.has(dotted)) throw new DerError("an extension occurs twice");
    seen.add(dotted);
    extensions.push({ oid: dotted, critical: isCritical, value: extension.octetString() });
    extension.finish();
  }
  return extensions;
}

/**
 * Throws DerError for a flag of FALSE that is written out, and for a path length that is no count.
 */
export function parseBasicConstraints(value: Uint8Array): {
  readonly ca: boolean;
  readonly pathLength: number | undefined;
} {
  const constraints = openSequence(value);
  const flagged = constraints.tag === tags.boolean;
  const ca = flagged && constraints.boolean();
  if (flagged && !ca) throw new DerError("a CA flag of FALSE is encoded");
  const pathLength = constraints.tag === tags.integer ? constraints.small() : undefined;
  constraints.finish();
  return { ca, pathLength };
}

/** In the order of the bits; bits without a name and trailing zero bits throw DerError. */
export function parseKeyUsage(value: Uint8Array): readonly KeyUsage[] {
  const { octets, unused } = readWhole(value, (cursor) => cursor.bits());
  const last = octets.at(-1);
  const padded = last !== undefined && ((last >> unused) & 1) === 0;
  if (padded) throw new DerError("a named bit list has trailing zero bits");
  const usages: KeyUsage[] = [];
  for (let bit = 0; bit < octets.length * 8 - unused; bit++) {
    if (((octets[bit >> 3] ?? 0) & (0x80 >> (bit & 7))) === 0) continue;
    const usage = usageNames[bit];
    if (usage === undefined) throw new DerError("a key usage has no name");
    usages.push(usage);
  }
  return usages;
}

/** Dotted OIDs. */
export function parseExtendedKeyUsage(value: Uint8Array): readonly string[] {
  const usages: string[] = [];
  const list = openSequence(value);
  do usages.push(list.oid());
  while (!list.finished);
  return usages;
}

/** The keyIdentifier, or undefined when the extension has none. */
export function parseAuthorityKeyIdentifier(value: Uint8Array): Uint8Array | undefined {
  const identifier = openSequence(value);
  const keyId = identifier.tag === contextual(0) ? identifier.content(contextual(0)) : undefined;
  if (identifier.tag === contextualConstructed(1)) identifier.element();
  if (identifier.tag === contextual(2)) identifier.integer(contextual(2));
  identifier.finish();
  return keyId;
}

export const parseSubjectKeyIdentifier = (value: Uint8Array): Uint8Array =>
  readWhole(value, (cursor) => cursor.octetString());

/** Numbers of TLS extensions the holder says it supports (RFC 7633 §4). */
export function parseTlsFeatures(value: Uint8Array): readonly number[] {
  const features: number[] = [];
  const list = openSequence(value);
  do features.push(list.small());
  while (!list.finished);
  return features;
}

export const parseCrlNumber = (value: Uint8Array): number =>
  readWhole(value, (cursor) => cursor.small());

function basicConstraintsValue(ca: boolean, pathLength: number | undefined): Uint8Array {
  assert(ca || pathLength === undefined, "only a CA has a path length");
  if (!ca) return sequence();
  return pathLength === undefined
    ? sequence(booleanTrue())
    : sequence(booleanTrue(), integer(pathLength));
}

const accessDescription = (method: string, value: string): Uint8Array =>
  sequence(oid(method), encodeGeneralName({ kind: "uri", value }));

function writeExtension(out: DerWriter, extension: Extension): void {
  const end = out.mark;
  out.write(extension.value);
  out.wrap(tags.octetString, end);
  if (extension.critical) out.write(isTrue);
  out.write(oid(extension.oid));
  out.wrap(tags.sequence, end);
}

const isTrue = booleanTrue();
/** Two headers, the flag, and the longest object identifier. */
const extensionRoom = 2 * headerOctetsMax + 3 + 66;

const critical = (dotted: string, value: Uint8Array): Extension => ({
  oid: dotted,
  critical: true,
  value,
});

const plain = (dotted: string, value: Uint8Array): Extension => ({
  oid: dotted,
  critical: false,
  value,
});

const usageNames: readonly (KeyUsage | undefined)[] = Object.keys(keyUsageBits).map(
  (name) => name as KeyUsage, // The keys of the table, which is written in the order of the bits.
);
