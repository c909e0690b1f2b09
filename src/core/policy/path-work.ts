/**
 * The dear part of a validation as questions another thread can be asked: octets and plain values
 * in, plain values out.
 */

import { DerError } from "#core/asn1/cursor.ts";
import { oids } from "#core/asn1/oids.ts";
import { decodePem } from "#core/asn1/pem.ts";
import { sha256 } from "#core/crypto.ts";
import type { Serial } from "#core/ids.ts";
import type { Instant } from "#core/time.ts";
import { extensionOf, type ParsedCertificate, parseCertificate } from "#core/x509/certificate.ts";
import {
  parseAuthorityKeyIdentifier,
  parseBasicConstraints,
  parseSubjectKeyIdentifier,
} from "#core/x509/extensions.ts";
import { nameText } from "#core/x509/names.ts";
import { clientPath } from "#core/x509/client-path.ts";
import { findPath, isSelfIssued, isSignedBy, sameCertificate } from "#core/x509/path.ts";
import { parsePublicKey } from "#core/x509/public-keys.ts";

import {
  type Check,
  isFaultless,
  isSoundPath,
  judgePath,
  type RevocationState,
} from "./validate.ts";
import { weaknessOf } from "./key-quality.ts";

/** Looks for a path from the certificate to the anchor, over those given and our own. */
export interface PathSearch {
  readonly kind: "find";
  /** PEM, as a stranger gave it. */
  readonly certificate: string;
  readonly intermediates: readonly string[];
  /** DER of certificates of this instance. */
  readonly own: readonly Uint8Array[];
  /** DER; undefined lets the certificate itself be it. */
  readonly anchor: Uint8Array | undefined;
  /** The moment it should be valid at. */
  readonly now: Instant;
}

/** Judges a path that was found. */
export interface PathReview {
  readonly kind: "judge";
  /** DER, from the certificate to the anchor; the certificate alone where there is none. */
  readonly path: readonly Uint8Array[];
  readonly built: boolean;
  readonly anchor: Uint8Array | undefined;
  /** One for each certificate of the path but the anchor. */
  readonly revocation: readonly RevocationState[];
  readonly now: Instant;
}

/** Looks for the path of a TLS client, over what it has shown. */
export interface ClientSearch {
  readonly kind: "client";
  /** DER, the client's own certificate first. */
  readonly shown: readonly Uint8Array[];
  /** DER of those that may be at its end. */
  readonly anchors: readonly Uint8Array[];
  readonly now: Instant;
}

export type PathQuestion = PathSearch | PathReview | ClientSearch;

/** What is needed to look up whether a member is revoked. */
export interface PathMember {
  readonly der: Uint8Array;
  readonly serial: Serial;
  readonly spki: Uint8Array;
}

export interface PathFound {
  readonly built: boolean;
  readonly path: readonly PathMember[];
}

/** What `clientPath` gives, as DER. */
export interface ClientPathFound {
  readonly client: readonly Uint8Array[] | undefined;
}

export interface PathJudged {
  readonly anchorName: string;
  /** Empty where no path was built. */
  readonly checks: readonly Check[];
  readonly members: readonly MemberFacts[];
}

/** What a report says of one certificate. */
export interface MemberFacts {
  readonly subject: string;
  readonly issuer: string;
  readonly serial: Serial;
  readonly notBefore: Instant;
  readonly notAfter: Instant;
  readonly isCa: boolean;
  readonly isTrustAnchor: boolean;
  readonly selfSigned: boolean;
  readonly keyAlgorithm: string;
  /** Bits; 0 for keys that are not counted in bits. */
  readonly keySize: number;
  readonly signatureAlgorithm: string;
  /** Lower hex SHA-256 over the DER. */
  readonly fingerprint: string;
  /** Octets in hex with colons, empty where the certificate has none. */
  readonly subjectKeyId: string;
  readonly authorityKeyId: string;
  readonly weakKey: boolean;
  readonly weakSignature: boolean;
}

/** An answer, or why a certificate cannot be read. */
export type PathAnswer<Q extends PathQuestion = PathQuestion> =
  | { readonly unreadable: string }
  | (Q extends PathSearch ? PathFound : Q extends ClientSearch ? ClientPathFound : PathJudged);

/** Answers; throws for nothing a stranger can give. */
export function answerPath<Q extends PathQuestion>(question: Q): PathAnswer<Q> {
  try {
    return answered(question) as PathAnswer<Q>; // By the kind of the question.
  } catch (error) {
    if (!(error instanceof DerError)) throw error;
    return { unreadable: error.message };
  }
}

function answered(question: PathQuestion): PathFound | PathJudged | ClientPathFound {
  switch (question.kind) {
    case "find":
      return found(question);
    case "judge":
      return judged(question);
    case "client":
      return foundForClient(question);
    default:
      return question satisfies never;
  }
}

function foundForClient({ shown, anchors, now }: ClientSearch): ClientPathFound {
  const request = { anchors: anchors.map(parseCertificate), now, sound: isSoundPath };
  return { client: clientPath(shown.map(parseCertificate), request)?.map(({ der }) => der) };
}

function found({ certificate, intermediates, own, anchor, now }: PathSearch): PathFound {
  const leaf = certificateIn(certificate);
  const pool = own.map(parseCertificate);
  const given = intermediates.map(certificateIn);
  const top = anchor === undefined ? leaf : parseCertificate(anchor);
  const search = { certificate: leaf, intermediates: [...pool, ...given], anchors: [top], now };
  const path = findPath({ ...search, accept: (one) => isFaultless(one, now) })?.path;
  const members = path ?? [leaf];
  return {
    built: path !== undefined,
    path: members.map(({ der, serial, spki }) => ({ der, serial, spki })),
  };
}

function judged({ path, built, anchor, revocation, now }: PathReview): PathJudged {
  const members = path.map(parseCertificate);
  const [leaf] = members;
  if (leaf === undefined) throw new Error("a path has a certificate");
  const top = anchor === undefined ? leaf : parseCertificate(anchor);
  return {
    anchorName: nameText(top.subject),
    checks: built ? judgePath({ path: members, revocation, now }) : [],
    members: members.map((one) => factsOf(one, top)),
  };
}

function factsOf(certificate: ParsedCertificate, anchor: ParsedCertificate): MemberFacts {
  const { subject, issuer, serial, notBefore, notAfter, spki, der, signatureName } = certificate;
  const key = parsePublicKey(spki);
  return {
    ...ends({ subject, issuer }),
    serial,
    notBefore,
    notAfter,
    isCa: isCa(certificate),
    isTrustAnchor: sameCertificate(certificate, anchor),
    selfSigned: isSelfIssued(certificate) && isSignedBy(certificate, certificate),
    keyAlgorithm: key.keyType ?? (key.family === "unknown" ? key.oid : key.family),
    keySize: "bits" in key ? key.bits : 0,
    signatureAlgorithm: signatureName ?? certificate.signatureOid,
    fingerprint: sha256(der).toHex(),
    ...keyIds(certificate),
    weakKey: weaknessOf(spki) !== undefined,
    weakSignature: signatureName === undefined,
  };
}

const ends = ({ subject, issuer }: Pick<ParsedCertificate, "subject" | "issuer">) => ({
  subject: nameText(subject),
  issuer: nameText(issuer),
});

function isCa(certificate: ParsedCertificate): boolean {
  const constraints = extensionOf(certificate, oids.basicConstraints);
  return constraints !== undefined && parseBasicConstraints(constraints.value).ca;
}

function keyIds(certificate: ParsedCertificate) {
  const subject = extensionOf(certificate, oids.subjectKeyIdentifier);
  const authority = extensionOf(certificate, oids.authorityKeyIdentifier);
  const issuer = authority && parseAuthorityKeyIdentifier(authority.value);
  return {
    subjectKeyId: subject ? colons(parseSubjectKeyIdentifier(subject.value)) : "",
    authorityKeyId: issuer ? colons(issuer) : "",
  };
}

function certificateIn(pem: string): ParsedCertificate {
  const der = decodePem(pem, ["CERTIFICATE"]);
  if (der === undefined) throw new DerError("not_pem");
  return parseCertificate(der);
}

const colons = (octets: Uint8Array): string => octets.toHex().replace(/..(?=.)/g, "$&:");
