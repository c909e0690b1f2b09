/** Lint rules for the basic fields: version, serial, algorithms, issuer and validity. */

import { oids } from "#core/asn1/oids.ts";
import { tags } from "#core/asn1/tags.ts";
import { type Instant, instant } from "#core/time.ts";
import { algorithmIdentifier } from "#core/x509/algorithm-identifiers.ts";
import { signatures } from "#core/x509/algorithms.ts";

import type { Linted } from "./linted.ts";
import { type LintRule, sameOctets } from "./rule.ts";

// biome-ignore format: the table is read by column.
export const fieldRules: readonly LintRule[] = [
  { id: "version_v3",                severity: "error", fixed: true,  scope: "all", clause: "RFC 5280 4.1.2.1",         check: version },
  { id: "serial_positive",           severity: "error", fixed: true,  scope: "all", clause: "RFC 5280 4.1.2.2",         check: serial },
  { id: "signature_algorithm_match", severity: "error", fixed: true,  scope: "all", clause: "RFC 5280 4.1.1.2",         check: algorithmsMatch },
  { id: "signature_algorithm_weak",  severity: "error", fixed: true,  scope: "all", clause: "BR 7.1.3.2",               check: algorithmKnown },
  { id: "algorithm_parameters",      severity: "error", fixed: true,  scope: "all", clause: "RFC 4055, 5758, 8410, 9881", check: parameters },
  { id: "alt_signature_set",         severity: "error", fixed: true,  scope: "all", clause: "X.509 (2019) 9.8",          check: alternativeSignature },
  { id: "issuer_bytes",              severity: "error", fixed: true,  scope: "all", clause: "BR 7.1.4.1",               check: issuerBytes },
  { id: "validity_order",            severity: "error", fixed: true,  scope: "all", clause: "RFC 5280 4.1.2.5",         check: validityOrder },
  { id: "validity_encoding",         severity: "error", fixed: true,  scope: "all", clause: "RFC 5280 4.1.2.5",         check: validityEncoding },
  { id: "validity_within_ca",        severity: "error", fixed: true,  scope: "all", clause: "RFC 5280 6.1",             check: validityWithinCa },
  { id: "validity_cap",              severity: "error", fixed: false, scope: "all", clause: "profile",                  check: validityCap },
];

function version({ certificate, hasUniqueIdentifiers }: Linted) {
  if (certificate.version !== 3) return "the version is not 3";
  return hasUniqueIdentifiers ? "unique identifiers are present" : undefined;
}

// More than 20 octets and negative values do not survive parsing.
function serial({ certificate }: Linted) {
  return certificate.serial === "0" ? "the serial number is zero" : undefined;
}

/**
 * The outer algorithm equals the inner one, or parsing had failed; both must be the one this CA
 * signs with.
 */
function algorithmsMatch({ issuer, innerAlgorithm }: Linted) {
  return sameOctets(innerAlgorithm, algorithmIdentifier(issuer.signature))
    ? undefined
    : "the algorithm is not the one the CA signs with";
}

/**
 * The table of algorithms has none that is weak; what it does not have cannot be judged and is
 * refused.
 */
function algorithmKnown({ certificate }: Linted) {
  return isKnown(certificate.signatureOid)
    ? undefined
    : "the signature algorithm is not acceptable";
}

/**
 * A known OID without a name has other parameters than its RFC wants: NULL for RSA, none for the
 * others.
 */
function parameters({ certificate }: Linted) {
  return isKnown(certificate.signatureOid) && certificate.signatureName === undefined
    ? "the algorithm's parameters are wrong"
    : undefined;
}

const isKnown = (oid: string) => knownSignatures.has(oid);

const knownSignatures: ReadonlySet<string> = new Set(Object.values(signatures).map(([oid]) => oid));

/**
 * PQ-4: algorithm and value always together, the value last; the subject's second key only beside
 * them.
 */
function alternativeSignature({ certificate, issuer, extension }: Linted) {
  const found = alternativeOids.map(extension);
  const [, algorithm, value] = found;
  if (found.some((one) => one?.critical)) return "an alternative extension is critical";
  if ((algorithm === undefined) !== (value === undefined)) {
    return "altSignatureAlgorithm and altSignatureValue are not together";
  }
  if (algorithm === undefined || value === undefined) {
    if (found[0] !== undefined) return "subjectAltPublicKeyInfo is without alternative signature";
    return issuer.alternative && "the alternative signature of the CA is missing";
  }
  if (certificate.extensions.at(-1) !== value) return "altSignatureValue is not last";
  return issuer.alternative === undefined ||
    sameOctets(algorithm.value, algorithmIdentifier(issuer.alternative))
    ? undefined
    : "the alternative algorithm is not the one the CA signs with";
}

const alternativeOids = [
  oids.subjectAltPublicKeyInfo,
  oids.altSignatureAlgorithm,
  oids.altSignatureValue,
];

function issuerBytes({ certificate, issuer }: Linted) {
  return sameOctets(certificate.issuer.der, issuer.subject)
    ? undefined
    : "the issuer is not the CA's subject, octet by octet";
}

function validityOrder({ certificate, now }: Linted) {
  if (certificate.notBefore >= certificate.notAfter) return "notBefore is not before notAfter";
  return Math.abs(certificate.notBefore - now) > twoDays
    ? "notBefore is more than 48 hours from now"
    : undefined;
}

function validityEncoding({ certificate, timeTags }: Linted) {
  const right =
    timeTags[0] === timeTagFor(certificate.notBefore) &&
    timeTags[1] === timeTagFor(certificate.notAfter);
  return right ? undefined : "a time has the wrong type for its year";
}

const timeTagFor = (at: Instant) => (at < year2050 ? tags.utcTime : tags.generalizedTime);

function validityWithinCa({ certificate, issuer, kind }: Linted) {
  if (kind === "root") return undefined;
  const inside =
    certificate.notBefore >= issuer.notBefore && certificate.notAfter <= issuer.notAfter;
  return inside ? undefined : "the validity is outside the CA's";
}

function validityCap({ certificate, maxValiditySeconds }: Linted) {
  if (maxValiditySeconds === 0) return undefined;
  const seconds = (certificate.notAfter - certificate.notBefore) / 1000 + 1;
  return seconds > maxValiditySeconds
    ? "the validity is longer than the profile allows"
    : undefined;
}

const year2050 = instant(Date.UTC(2050, 0, 1));
const twoDays = 48 * 3600 * 1000;
