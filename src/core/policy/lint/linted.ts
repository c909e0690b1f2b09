/** A certificate laid open for the lint rules: parsed once, shared by all of them. */

import { type Cursor, DerError, openSequence } from "#core/asn1/cursor.ts";
import { oids } from "#core/asn1/oids.ts";
import { decodeText, isTextTag } from "#core/asn1/strings.ts";
import { tags } from "#core/asn1/tags.ts";
import type { Instant } from "#core/time.ts";
import { extensionOf, type ParsedCertificate, parseCertificate } from "#core/x509/certificate.ts";
import {
  type Extension,
  type KeyUsage,
  parseAuthorityKeyIdentifier,
  parseBasicConstraints,
  parseExtendedKeyUsage,
  parseKeyUsage,
  parseSubjectKeyIdentifier,
} from "#core/x509/extensions.ts";
import { type GeneralName, parseGeneralNames } from "#core/x509/general-names.ts";
import { type PublicKey, parsePublicKey } from "#core/x509/public-keys.ts";

import type { Issuer, PlanKind } from "#core/policy/plan.ts";
import { type LintedPolicy, readPolicies } from "./policies.ts";

/** What the rules hold the certificate against. */
export interface LintContext {
  readonly kind: PlanKind;
  readonly issuer: Pick<
    Issuer,
    "subject" | "keyId" | "signature" | "alternative" | "notBefore" | "notAfter"
  >;
  /** 0: no maximum. */
  readonly maxValiditySeconds: number;
  /** True when the rules of the public web apply too. */
  readonly public: boolean;
  readonly requireMustStaple: boolean;
  /** What pkid knows of a certificate it is making; undefined for one that was met as it is. */
  readonly made:
    | {
        readonly serialDrawn: boolean;
        /** The extension recorded for the serial. */
        readonly distributionPoints: Uint8Array | undefined;
      }
    | undefined;
  readonly now: Instant;
}

/** One attribute of the subject as it is encoded. */
export interface EncodedAttribute {
  readonly oid: string;
  /** Identifier octet of the string type. */
  readonly tag: number;
  readonly text: string;
}

export interface Linted extends LintContext {
  readonly certificate: ParsedCertificate;
  readonly isCa: boolean;
  extension(oid: string): Extension | undefined;
  readonly basicConstraints: ReturnType<typeof parseBasicConstraints> | undefined;
  readonly keyUsages: readonly KeyUsage[] | undefined;
  /** Dotted OIDs. */
  readonly extKeyUsages: readonly string[] | undefined;
  readonly subjectKeyId: Uint8Array | undefined;
  readonly authorityKeyId: Uint8Array | undefined;
  readonly names: readonly GeneralName[];
  readonly policies: readonly LintedPolicy[];
  /**
   * Of a responder only what it does not repeat of its CA's name, which was judged when the CA was
   * certified.
   */
  readonly subject: readonly EncodedAttribute[];
  /** CDP, OCSP and caIssuers addresses. */
  readonly urls: readonly string[];
  /** True when a distribution point has reasons or a cRLIssuer. */
  readonly partialDistributionPoint: boolean;
  readonly publicKey: PublicKey;
  /** DER of the inner AlgorithmIdentifier. */
  readonly innerAlgorithm: Uint8Array;
  readonly timeTags: readonly [number | undefined, number | undefined];
  readonly hasUniqueIdentifiers: boolean;
}

/** Reads everything the rules look at; throws DerError where something is not strict DER. */
export function layOpen(der: Uint8Array, context: LintContext): Linted {
  const certificate = parseCertificate(der);
  const extension = (oid: string) => extensionOf(certificate, oid);
  const read = <T>(oid: string, parse: (value: Uint8Array) => T): T | undefined => {
    const found = extension(oid);
    return found === undefined ? undefined : parse(found.value);
  };
  const points = read(oids.crlDistributionPoints, distributionPoints);
  const { innerAlgorithm, timeTags, hasUniqueIdentifiers } = outline(certificate.tbs);
  return {
    kind: context.kind,
    issuer: context.issuer,
    maxValiditySeconds: context.maxValiditySeconds,
    public: context.public,
    requireMustStaple: context.requireMustStaple,
    made: context.made,
    now: context.now,
    certificate,
    isCa: context.kind === "root" || context.kind === "intermediate",
    extension,
    basicConstraints: read(oids.basicConstraints, parseBasicConstraints),
    keyUsages: read(oids.keyUsage, parseKeyUsage),
    extKeyUsages: read(oids.extKeyUsage, parseExtendedKeyUsage),
    subjectKeyId: read(oids.subjectKeyIdentifier, parseSubjectKeyIdentifier),
    authorityKeyId: read(oids.authorityKeyIdentifier, parseAuthorityKeyIdentifier),
    names: read(oids.subjectAltName, parseGeneralNames)?.names ?? [],
    policies: read(oids.certificatePolicies, readPolicies) ?? [],
    subject: ownAttributes(certificate.subject.der, context),
    urls: [...(points?.urls ?? []), ...(read(oids.authorityInfoAccess, accessUrls) ?? [])],
    partialDistributionPoint: points?.partial ?? false,
    publicKey: parsePublicKey(certificate.spki),
    innerAlgorithm,
    timeTags,
    hasUniqueIdentifiers,
  };
}

/** The parts of the to-be-signed octets whose spelling the parsed form no longer shows. */
function outline(tbs: Uint8Array) {
  const cursor = openSequence(tbs);
  cursor.enterOptional(versionTag);
  cursor.integer();
  const innerAlgorithm = cursor.element(tags.sequence);
  cursor.element(tags.sequence);
  const validity = cursor.enter(tags.sequence);
  const notBeforeTag = validity.tag;
  validity.element();
  const timeTags = [notBeforeTag, validity.tag] as const;
  cursor.element(tags.sequence);
  cursor.element(tags.sequence);
  const hasUniqueIdentifiers = !cursor.finished && cursor.tag !== extensionsTag;
  return { innerAlgorithm, timeTags, hasUniqueIdentifiers };
}

function ownAttributes(subject: Uint8Array, { kind, issuer }: LintContext) {
  const attributes = attributesOf(subject);
  if (kind !== "responder") return attributes;
  const repeated = attributesOf(issuer.subject);
  return attributes.filter(
    ({ oid, tag, text }) =>
      !repeated.some((one) => one.oid === oid && one.tag === tag && one.text === text),
  );
}

function attributesOf(name: Uint8Array): readonly EncodedAttribute[] {
  const attributes: EncodedAttribute[] = [];
  const rdns = openSequence(name);
  while (!rdns.finished) {
    const set = rdns.enter(tags.set);
    while (!set.finished) {
      const pair = set.enter(tags.sequence);
      const oid = pair.oid();
      const tag = pair.tag ?? 0;
      const content = pair.content(tag);
      attributes.push({
        oid,
        tag,
        text: isTextTag(tag) ? decodeText(tag, content) : utf8.decode(content),
      });
    }
  }
  return attributes;
}

function distributionPoints(value: Uint8Array) {
  const urls: string[] = [];
  let partial = false;
  const list = openSequence(value);
  while (!list.finished) {
    const point = list.enter(tags.sequence);
    const name = point.enterOptional(0xa0)?.enterOptional(0xa0);
    if (name !== undefined) for (const url of uris(name)) urls.push(url);
    if (!point.finished) partial = true;
  }
  return { urls, partial };
}

function accessUrls(value: Uint8Array): readonly string[] {
  const urls: string[] = [];
  const list = openSequence(value);
  while (!list.finished) {
    const description = list.enter(tags.sequence);
    description.oid();
    for (const url of uris(description)) urls.push(url);
  }
  return urls;
}

function uris(names: Cursor): readonly string[] {
  const found: string[] = [];
  while (!names.finished) {
    const tag = names.tag ?? 0;
    const content = names.content(tag);
    if (tag !== uriTag) throw new DerError("a pointer is not a URI");
    found.push(utf8.decode(content));
  }
  return found;
}

const versionTag = 0xa0;
const extensionsTag = 0xa3;
const uriTag = 0x86;
const utf8 = new TextDecoder();
