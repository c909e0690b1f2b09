/**
 * The proofs of control, as far as octets alone decide them: what is to be found where, and whether
 * what was found is it (RFC 8555 §8, RFC 8737, RFC 8738).
 */

import { DerError, readWhole } from "#core/asn1/cursor.ts";
import { octetString } from "#core/asn1/der.ts";
import { oids } from "#core/asn1/oids.ts";
import { tags } from "#core/asn1/tags.ts";
import { compareOctets } from "#core/asn1/der.ts";
import { sha256 } from "#core/crypto.ts";
import { extensionOf, type ParsedCertificate, parseCertificate } from "#core/x509/certificate.ts";
import { parseGeneralNames } from "#core/x509/general-names.ts";
import { signedBy } from "#core/x509/signed-by.ts";

import { base64urlText } from "./base64url.ts";
import type { Identifier } from "./identifiers.ts";

/** Columns: what it proves. A wildcard is proven by what shows control of the whole domain. */
// biome-ignore format: the table is read by column.
export const challengeTypes = {
  "http-01":        { dns: true,  wildcard: false, ip: true },
  "dns-01":         { dns: true,  wildcard: true,  ip: false },
  "tls-alpn-01":    { dns: true,  wildcard: false, ip: true },
  "dns-account-01": { dns: true,  wildcard: true,  ip: false },
  "dns-persist-01": { dns: true,  wildcard: true,  ip: false },
} as const satisfies Record<string, Readonly<Record<"dns" | "wildcard" | "ip", boolean>>>;
export type ChallengeType = keyof typeof challengeTypes;
export const challengeNames = Object.keys(challengeTypes) as readonly ChallengeType[]; // Its keys.

/** True when the challenge proves control over the identifier, which is without `*.`. */
export const proves = (
  type: ChallengeType,
  { type: kind }: Pick<Identifier, "type">,
  wildcard: boolean,
): boolean => challengeTypes[type][wildcard ? "wildcard" : kind];

/** RFC 8555 §8.1: what shows that the holder of the account key answers the challenge. */
export const keyAuthorization = (token: string, thumbprint: string): string =>
  `${token}.${thumbprint}`;

/** RFC 8555 §8.4: the value of a TXT record, base64url of SHA-256 over the key authorization. */
export const dnsDigest = (authorization: string): string => base64urlText(digestOf(authorization));

/**
 * The name that is asked for TXT records; `domain` is without `*.`. With dns-account-01 it is that
 * of the account: lower-case base32 of the first 10 octets of SHA-256 over its URL.
 */
export function dnsName(
  type: "dns-01" | "dns-account-01" | "dns-persist-01",
  domain: string,
  accountUrl: string,
): string {
  switch (type) {
    case "dns-01":
      return `_acme-challenge.${domain}`;
    case "dns-account-01":
      return `_${base32(digestOf(accountUrl).subarray(0, 10))}._acme-challenge.${domain}`;
    case "dns-persist-01":
      return `_validation-persist.${domain}`;
    default:
      return type satisfies never;
  }
}

/** RFC 8737 §3: the value of the acmeIdentifier extension, DER. */
export const acmeIdentifierExtension = (authorization: string): Uint8Array =>
  octetString(digestOf(authorization));

/**
 * Why the certificate a server presented does not prove control over the identifier, as a sentence
 * for the subscriber; undefined when it does (RFC 8737 §3, RFC 8738 §6).
 */
export function judgeAlpnCertificate(
  der: Uint8Array,
  identifier: Identifier,
  authorization: string,
): string | undefined {
  try {
    const certificate = parseCertificate(der);
    return (
      selfSignedFault(certificate) ??
      nameFault(certificate, identifier) ??
      extensionFault(certificate, authorization)
    );
  } catch (error) {
    if (error instanceof DerError) return "The certificate cannot be read.";
    throw error;
  }
}

/** RFC 8555 §8.3: the body is the key authorization, and nothing but white space behind it. */
export function httpBodyMatches(body: Uint8Array, authorization: string): boolean {
  let end = body.length;
  while (end > 0 && blanks.has(body[end - 1] ?? 0)) end--;
  return compareOctets(body.subarray(0, end), Buffer.from(authorization, "latin1")) === 0;
}

function selfSignedFault(certificate: ParsedCertificate): string | undefined {
  const { issuer, subject, spki } = certificate;
  const isSelfIssued = compareOctets(issuer.der, subject.der) === 0;
  return isSelfIssued && signedBy(certificate, spki)
    ? undefined
    : "The certificate is not self-signed.";
}

function nameFault(certificate: ParsedCertificate, { type, value }: Identifier) {
  const extension = extensionOf(certificate, oids.subjectAltName);
  if (extension === undefined) return "The certificate has no subject alternative name.";
  const { names, unsupported } = parseGeneralNames(extension.value);
  const [only] = names;
  if (names.length !== 1 || unsupported.length > 0) {
    return "The certificate does not have exactly one subject alternative name.";
  }
  return only?.kind === type && only.value === value
    ? undefined
    : "The certificate has another subject alternative name.";
}

function extensionFault(certificate: ParsedCertificate, authorization: string) {
  const extension = extensionOf(certificate, oids.acmeIdentifier);
  if (extension === undefined) return "The certificate has no acmeIdentifier extension.";
  if (!extension.critical) return "The acmeIdentifier extension is not critical.";
  const digest = readWhole(extension.value, (cursor) => cursor.content(tags.octetString));
  return compareOctets(digest, digestOf(authorization)) === 0
    ? undefined
    : "The acmeIdentifier extension is about another key authorization.";
}

const digestOf = (text: string): Uint8Array => sha256(Buffer.from(text, "utf8"));

/** RFC 4648 §6, in lower case; of 10 octets, which need no padding. */
function base32(octets: Uint8Array): string {
  let [text, bits, held] = ["", 0, 0];
  for (const octet of octets) {
    held = (held << 8) | octet;
    for (bits += 8; bits >= 5; bits -= 5) text += alphabet[(held >> (bits - 5)) & 31];
    held &= 0xff;
  }
  return text;
}

const alphabet = "abcdefghijklmnopqrstuvwxyz234567";
const blanks: ReadonlySet<number> = new Set([0x20, 0x09, 0x0a, 0x0b, 0x0c, 0x0d]);
