/**
 * Certificates: encode the to-be-signed part, join it with a signature, and read them back (RFC
 * 5280 §4.1).
 */

import { type Cursor, DerError, openSequence } from "#core/asn1/cursor.ts";
import { DerWriter } from "#core/asn1/der-writer.ts";
import {
  bitString,
  compareOctets,
  explicit,
  integer,
  sequence,
  time,
  unsignedInteger,
} from "#core/asn1/der.ts";
import { contextual, contextualConstructed, tags } from "#core/asn1/tags.ts";
import { type Serial, serialToBytes } from "#core/ids.ts";
import type { Instant } from "#core/time.ts";

import { algorithmIdentifier, readAlgorithm } from "./algorithm-identifiers.ts";
import type { SignatureName } from "./algorithms.ts";
import {
  type Extension,
  parseExtensions,
  roomOfExtensions,
  writeExtensions,
} from "./extensions.ts";
import { type Name, parseName } from "./names.ts";

export interface TbsCertificate {
  readonly serial: Serial;
  readonly signature: SignatureName;
  /** DER of the issuer's subject, byte for byte. */
  readonly issuer: Uint8Array;
  readonly notBefore: Instant;
  readonly notAfter: Instant;
  /** DER of the subject. */
  readonly subject: Uint8Array;
  readonly spki: Uint8Array;
  readonly extensions: readonly Extension[];
}

export interface ParsedCertificate {
  readonly der: Uint8Array;
  readonly tbs: Uint8Array;
  /** 1, 2 or 3. */
  readonly version: number;
  readonly serial: Serial;
  readonly issuer: Name;
  readonly subject: Name;
  readonly notBefore: Instant;
  readonly notAfter: Instant;
  readonly spki: Uint8Array;
  readonly extensions: readonly Extension[];
  /** OID of the outer algorithm, and its name when the table knows it. */
  readonly signatureOid: string;
  readonly signatureName: SignatureName | undefined;
  readonly signature: Uint8Array;
}

/** DER of a v3 TBSCertificate; times from 2050 on are GeneralizedTime (RFC 5280 §4.1.2.5). */
export function encodeTbsCertificate(fields: TbsCertificate): Uint8Array {
  const { issuer, subject, spki, extensions } = fields;
  const variable = issuer.length + subject.length + spki.length;
  const out = new DerWriter(variable + roomOfExtensions(extensions) + fixedRoom);
  writeExtensions(out, extensions);
  out.wrap(contextualConstructed(3), 0);
  out.write(spki);
  out.write(subject);
  const end = out.mark;
  out.write(time(fields.notAfter));
  out.write(time(fields.notBefore));
  out.wrap(tags.sequence, end);
  out.write(issuer);
  out.write(algorithmIdentifier(fields.signature));
  out.write(unsignedInteger(serialToBytes(fields.serial)));
  out.write(version3);
  out.wrap(tags.sequence, 0);
  return out.finish();
}

/** SEQUENCE { tbs, AlgorithmIdentifier, BIT STRING }: certificate, CRL and CSR alike. */
export function assembleSigned(
  tbs: Uint8Array,
  algorithm: SignatureName,
  signature: Uint8Array,
): Uint8Array {
  return sequence(tbs, algorithmIdentifier(algorithm), bitString(signature));
}

/** Reads a certificate of version 1 to 3; inner and outer algorithm must agree. Throws DerError. */
export function parseCertificate(der: Uint8Array): ParsedCertificate {
  const signed = openSequence(der);
  const tbs = signed.element(tags.sequence);
  const outer = signed.element(tags.sequence);
  const signature = signed.wholeBits();
  signed.finish();
  const fields = readTbs(openSequence(tbs));
  if (compareOctets(fields.algorithm, outer) !== 0) {
    throw new DerError("inner and outer signature algorithm differ");
  }
  const { signatureOid, signatureName } = readAlgorithm(fields.algorithm);
  return {
    der,
    tbs,
    version: fields.version,
    serial: fields.serial,
    issuer: fields.issuer,
    subject: fields.subject,
    notBefore: fields.notBefore,
    notAfter: fields.notAfter,
    spki: fields.spki,
    extensions: fields.extensions,
    signatureOid,
    signatureName,
    signature,
  };
}

/**
 * Reads the serial number of a certificate, of any sign and size. Returns undefined if the bytes
 * are not a certificate.
 */
export function readSerialNumber(der: Uint8Array): bigint | undefined {
  try {
    const tbs = openSequence(openSequence(der).element(tags.sequence));
    readVersion(tbs.enterOptional(contextualConstructed(0)));
    return tbs.bigInteger();
  } catch (error) {
    if (error instanceof DerError) return undefined;
    throw error;
  }
}

/** The first extension with this OID. */
export function extensionOf(
  certificate: Pick<ParsedCertificate, "extensions">,
  oid: string,
): Extension | undefined {
  for (const extension of certificate.extensions) if (extension.oid === oid) return extension;
  return undefined;
}

function readTbs(tbs: Cursor) {
  const version = readVersion(tbs.enterOptional(contextualConstructed(0)));
  const serial = tbs.serial();
  const algorithm = tbs.element(tags.sequence);
  const issuer = parseName(tbs.element(tags.sequence));
  const validity = tbs.enter(tags.sequence);
  const notBefore = validity.time();
  const notAfter = validity.time();
  validity.finish();
  const subject = parseName(tbs.element(tags.sequence));
  const spki = tbs.element(tags.sequence);
  // RFC 5280 §4.1.2.8: unique identifiers are read over, and never written.
  if (version > 1 && tbs.tag === contextual(1)) tbs.bits(contextual(1));
  if (version > 1 && tbs.tag === contextual(2)) tbs.bits(contextual(2));
  const extensions = version === 3 ? readExtensions(tbs) : [];
  tbs.finish();
  return { version, serial, algorithm, issuer, subject, notBefore, notAfter, spki, extensions };
}

function readVersion(version: Cursor | undefined): number {
  if (version === undefined) return 1;
  const number = version.small();
  version.finish();
  // X.690 §11.5: version 1 is the DEFAULT and not encoded.
  if (number !== 1 && number !== 2) throw new DerError("the certificate has an unknown version");
  return number + 1;
}

function readExtensions(tbs: Cursor): readonly Extension[] {
  const holder = tbs.enterOptional(contextualConstructed(3));
  if (holder === undefined) return [];
  const extensions = parseExtensions(holder.element());
  holder.finish();
  if (extensions.length === 0) throw new DerError("the list of extensions is empty");
  return extensions;
}

const version3 = explicit(0, integer(2));

/** Headers, version, serial, algorithm and the two times: more than they ever take. */
const fixedRoom = 256;
