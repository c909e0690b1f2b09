/**
 * Finds a path from a certificate to a trust anchor, those first that relying parties accept (RFC
 * 5280 §6.1, RFC 4158).
 */

import { DerError } from "#core/asn1/cursor.ts";
import { compareOctets } from "#core/asn1/der.ts";
import { oids } from "#core/asn1/oids.ts";
import { importPublicKey, type SignatureScheme, verifySignature } from "#core/crypto.ts";
import type { Instant } from "#core/time.ts";

import { schemeOf } from "./algorithms.ts";
import { extensionOf, type ParsedCertificate } from "./certificate.ts";
import { parseBasicConstraints, parseKeyUsage } from "./extensions.ts";
import { nameMatchKey } from "./name-matching.ts";
import { parsePublicKey, signatureFits } from "./public-keys.ts";

/** From the certificate to the anchor, each signed by the next. */
export type Path = readonly ParsedCertificate[];

export interface PathRequest {
  readonly certificate: ParsedCertificate;
  readonly intermediates: readonly ParsedCertificate[];
  readonly anchors: readonly ParsedCertificate[];
  readonly now: Instant;
  /**
   * Signatures that may be verified, 256 unless it says otherwise; those of SLH-DSA count for
   * eight.
   */
  readonly signaturesMax?: number;
  /**
   * Says whether a path will do whose issuers are valid, CAs, and allowed so many below them; asked
   * a few times only.
   */
  readonly accept: (path: Path) => boolean;
}

/**
 * The first path that is accepted; `whole` is false for one that is only signed all the way, where
 * none is. Undefined when there is none at all, or none within the limits of depth, steps and
 * signatures tried.
 */
export function findPath(
  request: PathRequest,
): { readonly path: Path; readonly whole: boolean } | undefined {
  const search = new Search(request);
  if (!search.leadsToAnchor(request.certificate)) return undefined;
  for (const path of search.paths([request.certificate], true)) {
    if (search.mayAsk() && request.accept(path)) return { path, whole: true };
  }
  search.restart();
  for (const path of search.paths([request.certificate], false)) return { path, whole: false };
  return undefined;
}

/** True when both are the same octets. */
export const sameCertificate = (a: ParsedCertificate, b: ParsedCertificate): boolean =>
  a === b || compareOctets(a.der, b.der) === 0;

/** True when subject and issuer are the same name. */
export const isSelfIssued = ({ subject, issuer }: ParsedCertificate): boolean =>
  compareOctets(subject.der, issuer.der) === 0;

/**
 * True when the key of `issuer` made the signature of `certificate`, also by an algorithm with
 * SHA-1, which no caller may trust: what relies on a path asks whether each of its signatures has a
 * name in the table.
 */
export function isSignedBy(certificate: ParsedCertificate, issuer: ParsedCertificate): boolean {
  const { signatureName, signatureOid, tbs, signature } = certificate;
  const weak = weakSchemes.get(signatureOid);
  if (signatureName === undefined && weak === undefined) return false;
  try {
    const key = parsePublicKey(issuer.spki);
    if (signatureName !== undefined && !signatureFits(key, signatureName)) return false;
    if (signatureName === undefined && weak?.family !== key.family) return false;
    const scheme = signatureName === undefined ? (weak?.scheme ?? {}) : schemeOf(signatureName);
    return verifySignature(importPublicKey(issuer.spki), scheme, tbs, signature);
  } catch {
    return false; // A key that cannot be read or imported has signed nothing.
  }
}

/**
 * One search: what it has verified it does not verify again, and hostile input finds it limited on
 * every side.
 */
class Search {
  readonly #now: Instant;
  readonly #anchors: readonly ParsedCertificate[];
  readonly #bySubject = new Map<string, ParsedCertificate[]>();
  readonly #verified = new Map<ParsedCertificate, Map<ParsedCertificate, boolean>>();
  #signaturesLeft: number;
  #stepsLeft = stepsMax;
  #asksLeft = asksMax;

  constructor({ intermediates, anchors, now, signaturesMax = usualSignaturesMax }: PathRequest) {
    this.#now = now;
    this.#signaturesLeft = signaturesMax;
    this.#anchors = anchors;
    const seen = new Set<string>();
    for (const one of [...anchors, ...intermediates]) {
      const der = one.der.toHex();
      if (seen.has(der)) continue;
      seen.add(der);
      const name = nameMatchKey(one.subject.der);
      const namesakes = this.#bySubject.get(name);
      if (namesakes === undefined) this.#bySubject.set(name, [one]);
      else namesakes.push(one);
    }
  }

  /** By the names alone, which costs nothing. */
  leadsToAnchor(certificate: ParsedCertificate): boolean {
    const reached = new Set([certificate]);
    for (const one of reached) {
      if (this.#anchors.some((anchor) => sameCertificate(anchor, one))) return true;
      for (const above of this.#issuersOf(one)) reached.add(above);
    }
    return false;
  }

  #issuersOf({ issuer }: ParsedCertificate): readonly ParsedCertificate[] {
    return this.#bySubject.get(nameMatchKey(issuer.der)) ?? [];
  }

  mayAsk(): boolean {
    return this.#asksLeft-- > 0;
  }

  restart(): void {
    this.#stepsLeft = stepsMax;
  }

  /** `fit`: only over issuers that may issue what is below them, now. */
  *paths(path: Path, fit: boolean): Generator<Path> {
    const last = path.at(-1);
    if (last === undefined || path.length > depthMax) return;
    if (this.#anchors.some((anchor) => sameCertificate(anchor, last))) {
      yield path;
      return;
    }
    for (const candidate of this.#issuersOf(last)) {
      if (this.#stepsLeft-- <= 0) return;
      if (path.some((member, at) => isAgain(member, candidate, at > 0))) continue;
      if (fit && !this.#isFit(candidate, path)) continue;
      if (this.#isSigned(last, candidate)) yield* this.paths([...path, candidate], fit);
    }
  }

  #isSigned(certificate: ParsedCertificate, issuer: ParsedCertificate): boolean {
    const known = this.#verified.get(certificate) ?? new Map<ParsedCertificate, boolean>();
    this.#verified.set(certificate, known);
    const before = known.get(issuer);
    if (before !== undefined) return before;
    this.#signaturesLeft -= certificate.signatureName?.startsWith("slh-dsa-") ? 8 : 1;
    if (this.#signaturesLeft < 0) return false;
    const signed = isSignedBy(certificate, issuer);
    known.set(issuer, signed);
    return signed;
  }

  #isFit(issuer: ParsedCertificate, path: Path): boolean {
    if (!isValidAt(issuer, this.#now)) return false;
    const below = path.slice(1).filter((one) => !isSelfIssued(one)).length;
    if (issuer.version >= 3) return mayIssue(issuer, below);
    // A certificate of version 1 has no extensions, and is believed for having been configured.
    return this.#anchors.some((anchor) => sameCertificate(anchor, issuer));
  }
}

/** Both ends are inclusive, to the last of their seconds (RFC 5280 §4.1.2.5). */
export const isValidAt = ({ notBefore, notAfter }: ParsedCertificate, at: Instant): boolean =>
  notBefore <= at && at <= notAfter + 999;

/**
 * RFC 5280 §6.1.4 k to n: a CA that may sign certificates, with so many others below it. What
 * cannot be read may nothing.
 */
function mayIssue(issuer: ParsedCertificate, below: number): boolean {
  const [constraints, usage] = [oids.basicConstraints, oids.keyUsage].map((oid) =>
    extensionOf(issuer, oid),
  );
  if (constraints === undefined) return false;
  try {
    const { ca, pathLength } = parseBasicConstraints(constraints.value);
    const signs = usage === undefined || parseKeyUsage(usage.value).includes("keyCertSign");
    return ca && signs && (pathLength === undefined || below <= pathLength);
  } catch (error) {
    if (error instanceof DerError) return false;
    throw error;
  }
}

/**
 * RFC 4158 §5.2: an issuer of one name with one key leads nowhere a second time, whatever else its
 * certificates say.
 */
function isAgain(
  member: ParsedCertificate,
  candidate: ParsedCertificate,
  issues: boolean,
): boolean {
  if (sameCertificate(member, candidate)) return true;
  const isSameName = compareOctets(member.subject.der, candidate.subject.der) === 0;
  return issues && isSameName && compareOctets(member.spki, candidate.spki) === 0;
}

/** What is verified only to be told apart from a wrong signature: SHA-1 is broken (RFC 9155). */
const weakSchemes: ReadonlyMap<
  string,
  { readonly family: "rsa" | "ec"; readonly scheme: SignatureScheme }
> = new Map([
  ["1.2.840.113549.1.1.5", { family: "rsa", scheme: { hash: "sha1", padding: "pkcs1" } }],
  ["1.2.840.10045.4.1", { family: "ec", scheme: { hash: "sha1" } }],
]);

const depthMax = 16;
const usualSignaturesMax = 256;
const stepsMax = 4096;
const asksMax = 8;
