/**
 * What a certificate that somebody else signed must be before a CA of this instance may use it
 * (IMP-1).
 */

import { DerError } from "#core/asn1/cursor.ts";
import { oids } from "#core/asn1/oids.ts";
import type { Instant } from "#core/time.ts";
import { extensionOf, type ParsedCertificate } from "#core/x509/certificate.ts";
import {
  type KeyUsage,
  parseBasicConstraints,
  parseKeyUsage,
  parseSubjectKeyIdentifier,
} from "#core/x509/extensions.ts";
import { parseNameConstraints } from "#core/x509/name-constraints.ts";
import { signedBy } from "#core/x509/signed-by.ts";

import { pathViolations } from "./name-constraints.ts";

export interface Import {
  readonly certificate: ParsedCertificate;
  /** As given, in any order. */
  readonly chain: readonly ParsedCertificate[];
  /** SubjectPublicKeyInfo of the key the provider holds. */
  readonly ownSpki: Uint8Array;
  /** DER of the name that was asked for. */
  readonly subject: Uint8Array;
  readonly maxPathLength: number | undefined;
  /** The certificate in force, when it is being replaced. */
  readonly replaced: ParsedCertificate | undefined;
  readonly now: Instant;
}

export type ImportCheck =
  | "public_key"
  | "self_signed"
  | "basic_constraints"
  | "key_cert_sign"
  | "validity"
  | "chain"
  | "subject"
  | "subject_key_id";

/** What is taken, and told. */
export const importWarnings = [
  "key_usage_absent",
  "crl_sign_absent",
  "digital_signature_absent",
  "subject_changed",
  "path_length_differs",
  "chain_absent",
  "chain_without_root",
] as const;
export type ImportWarning = (typeof importWarnings)[number];

export interface ImportVerdict {
  /** The checks that failed; any one of them refuses. */
  readonly refused: readonly ImportCheck[];
  readonly warnings: readonly ImportWarning[];
  /** The certificates above it, its issuer's first, up to the root as far as they were given. */
  readonly path: readonly ParsedCertificate[];
}

/** Judges one import; what cannot be read has failed its check. */
export function checkImport(given: Import): ImportVerdict {
  const { certificate, chain } = given;
  const path = pathAbove(certificate, chain, given.now);
  return { refused: refusals(given, path), warnings: warnings(given, path), path };
}

function refusals(given: Import, path: readonly ParsedCertificate[]): readonly ImportCheck[] {
  const { certificate, chain, ownSpki, replaced, now } = given;
  const usages = usagesOf(certificate);
  const chained = chain.length === 0 || (path.length > 0 && pathValid(certificate, path, now));
  const checks: readonly (readonly [ImportCheck, boolean])[] = [
    ["public_key", same(certificate.spki, ownSpki)],
    ["self_signed", !signedBy(certificate, certificate.spki)],
    ["basic_constraints", isCa(certificate)],
    ["key_cert_sign", usages === undefined || usages.includes("keyCertSign")],
    ["validity", validAt(certificate, now)],
    ["chain", chained],
    ["subject", replaced === undefined || same(certificate.subject.der, replaced.subject.der)],
    ["subject_key_id", replaced === undefined || sameKeyId(certificate, replaced)],
  ];
  return checks.filter(([, passed]) => !passed).map(([check]) => check);
}

function warnings(given: Import, path: readonly ParsedCertificate[]): readonly ImportWarning[] {
  const { certificate, subject, maxPathLength } = given;
  const usages = usagesOf(certificate);
  const last = path.at(-1);
  const found: readonly (readonly [ImportWarning, boolean])[] = [
    ["key_usage_absent", usages === undefined],
    ["crl_sign_absent", usages !== undefined && !usages.includes("cRLSign")],
    ["digital_signature_absent", usages !== undefined && !usages.includes("digitalSignature")],
    ["subject_changed", !same(certificate.subject.der, subject)],
    ["path_length_differs", pathLengthOf(certificate) !== maxPathLength],
    ["chain_absent", last === undefined],
    ["chain_without_root", last !== undefined && !same(last.issuer.der, last.subject.der)],
  ];
  return found.filter(([, applies]) => applies).map(([warning]) => warning);
}

/**
 * Each certificate's issuer among those given, by name and signature, until one names itself or
 * none is left; of several for one key the first that lets what is below it be, so that a renewed
 * issuer is not hidden by what it was before.
 */
function pathAbove(
  certificate: ParsedCertificate,
  chain: readonly ParsedCertificate[],
  now: Instant,
): readonly ParsedCertificate[] {
  const path: ParsedCertificate[] = [];
  let below = certificate;
  for (let rest = chain; rest.length > 0; ) {
    const { issuer } = below;
    const signing = rest.filter(
      (candidate) => same(candidate.subject.der, issuer.der) && signedBy(below, candidate.spki),
    );
    const above =
      signing.find((candidate) => vouchesAt(candidate, certificate, path.length, now)) ??
      signing[0];
    if (above === undefined) return path;
    path.push(above);
    if (same(above.issuer.der, above.subject.der)) return path;
    rest = rest.filter((candidate) => candidate !== above);
    below = above;
  }
  return path;
}

/** RFC 5280 §6.1: what each certificate of the path lets the ones below it be. */
function pathValid(
  certificate: ParsedCertificate,
  path: readonly ParsedCertificate[],
  now: Instant,
): boolean {
  return path.every((above, depth) => vouchesAt(above, certificate, depth, now));
}

/** What one certificate of the path, with so many CAs between, lets the certificate be. */
function vouchesAt(
  above: ParsedCertificate,
  { subject }: ParsedCertificate,
  depth: number,
  now: Instant,
): boolean {
  const names = { subject, sans: [], forServers: false };
  const usages = usagesOf(above);
  const limit = pathLengthOf(above);
  const reaches = limit === undefined || limit > depth;
  const signs = usages === undefined || usages.includes("keyCertSign");
  return isCa(above) && signs && reaches && validAt(above, now) && permits(above, names);
}

function permits(above: ParsedCertificate, names: Parameters<typeof pathViolations>[0]): boolean {
  const found = extensionOf(above, oids.nameConstraints);
  if (found === undefined) return true;
  const constraints = readOr(undefined, () => parseNameConstraints(found.value));
  return constraints !== undefined && pathViolations(names, [constraints]).length === 0;
}

/** True for a certificate whose subject is a CA. */
export function isCa(certificate: ParsedCertificate): boolean {
  const found = extensionOf(certificate, oids.basicConstraints);
  return found !== undefined && readOr(false, () => parseBasicConstraints(found.value).ca);
}

/** The limit basicConstraints sets; undefined when there is none. */
export function pathLengthOf(certificate: ParsedCertificate): number | undefined {
  const found = extensionOf(certificate, oids.basicConstraints);
  return found && readOr(undefined, () => parseBasicConstraints(found.value).pathLength);
}

/** Undefined when absent; none at all when it cannot be read. */
export function usagesOf(certificate: ParsedCertificate): readonly KeyUsage[] | undefined {
  const found = extensionOf(certificate, oids.keyUsage);
  return found && readOr([], () => parseKeyUsage(found.value));
}

function sameKeyId(a: ParsedCertificate, b: ParsedCertificate): boolean {
  const [one, other] = [a, b].map((certificate) => {
    const found = extensionOf(certificate, oids.subjectKeyIdentifier);
    return found && readOr(undefined, () => parseSubjectKeyIdentifier(found.value));
  });
  if (one === undefined || other === undefined) return one === other;
  return same(one, other);
}

const validAt = ({ notBefore, notAfter }: ParsedCertificate, now: Instant): boolean =>
  notBefore <= now && now <= notAfter;

const same = (a: Uint8Array, b: Uint8Array): boolean => Buffer.compare(a, b) === 0;

function readOr<T>(otherwise: T, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof DerError) return otherwise;
    throw error;
  }
}
