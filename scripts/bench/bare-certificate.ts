/**
 * What the bare CA encodes: certificates of about the size that pkid's have, most of them constant.
 */

import {
  bitString,
  booleanTrue,
  element,
  explicit,
  integer,
  namedBits,
  octetString,
  oid,
  sequence,
  setOf,
  time,
  unsignedInteger,
  utf8String,
} from "#core/asn1/der.ts";
import type { Instant } from "#core/time.ts";

/** What stands in a certificate of the bare CA. */
export interface BareCertificate {
  readonly serial: Uint8Array;
  readonly issuer: Uint8Array;
  readonly subject: Uint8Array;
  readonly spki: Uint8Array;
  readonly from: Instant;
  readonly to: Instant;
}

/** The DER of a TBSCertificate with the extensions that pkid's profile for servers writes. */
export const encodeTbs = (of: BareCertificate): Uint8Array =>
  sequence(
    version3,
    unsignedInteger(of.serial),
    signatureAlgorithm,
    of.issuer,
    sequence(time(of.from), time(of.to)),
    of.subject,
    of.spki,
    extensions,
  );

/** The DER of a Certificate. */
export const encodeSigned = (tbs: Uint8Array, signature: Uint8Array): Uint8Array =>
  sequence(tbs, signatureAlgorithm, bitString(signature));

/** The DER of a Name that is one common name. */
export const commonName = (text: string): Uint8Array =>
  sequence(setOf([sequence(oid("2.5.4.3"), utf8String(text))]));

/** What a certification request says; each is a view of its octets. */
export interface BareRequest {
  /** CertificationRequestInfo, the octets the signature covers. */
  readonly covered: Uint8Array;
  readonly subject: Uint8Array;
  readonly spki: Uint8Array;
  readonly signature: Uint8Array;
}

/** Reads a request that is well formed, as those of a bench are. */
export function readRequest(der: Uint8Array): BareRequest {
  const [covered, , signature] = members(der);
  const [, subject, spki] = members(covered);
  const [bits] = contentOf(signature);
  return {
    covered: present(covered),
    subject: present(subject),
    spki: present(spki),
    signature: present(bits).subarray(1),
  };
}

/** The elements inside a SEQUENCE, each with its head. */
function members(der: Uint8Array | undefined): Uint8Array[] {
  const [content] = contentOf(der);
  const found: Uint8Array[] = [];
  for (let rest = content; rest.length > 0; ) {
    const [, length] = contentOf(rest);
    found.push(rest.subarray(0, length));
    rest = rest.subarray(length);
  }
  return found;
}

/** Content of the first element, and how long the element is. */
function contentOf(der: Uint8Array | undefined): readonly [Uint8Array, number] {
  const octets = present(der);
  const first = octets[1] ?? 0;
  const lengthOctets = first < 0x80 ? 0 : first & 0x7f;
  let length = lengthOctets === 0 ? first : 0;
  for (let at = 0; at < lengthOctets; at++) length = length * 256 + (octets[2 + at] ?? 0);
  const start = 2 + lengthOctets;
  return [octets.subarray(start, start + length), start + length];
}

function present(octets: Uint8Array | undefined): Uint8Array {
  if (octets === undefined || octets.length < 2) throw new Error("this is no request");
  return octets;
}

const extension = (name: string, value: Uint8Array, critical = false): Uint8Array =>
  critical
    ? sequence(oid(name), booleanTrue(), octetString(value))
    : sequence(oid(name), octetString(value));

const version3 = explicit(0, integer(2));
const signatureAlgorithm = sequence(oid("1.2.840.10045.4.3.2"));
const keyHash = new Uint8Array(20).fill(7);
const extensions = explicit(
  3,
  sequence(
    extension("2.5.29.19", sequence(), true),
    extension("2.5.29.15", namedBits([0]), true),
    extension("2.5.29.37", sequence(oid("1.3.6.1.5.5.7.3.1"))),
    extension("2.5.29.14", octetString(keyHash)),
    extension("2.5.29.35", sequence(element(0x80, keyHash))),
    extension("2.5.29.17", sequence(element(0x82, Buffer.from("bench.example.test")))),
  ),
);
