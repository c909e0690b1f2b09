/**
 * Lint rules for what a certificate may be used for: constraints, usages, identifiers and pointers.
 */

import { oids } from "#core/asn1/oids.ts";
import { extendedKeyUsages, type KeyUsage } from "#core/x509/extensions.ts";

import { usagesFor } from "#core/policy/certificate-extensions.ts";
import type { Linted } from "./linted.ts";
import { type LintRule, sameOctets } from "./rule.ts";

// biome-ignore format: the table is read by column.
export const usageRules: readonly LintRule[] = [
  { id: "extension_duplicate",  severity: "error", fixed: true,  scope: "all",  clause: "RFC 5280 4.2",                        check: duplicates },
  { id: "leaf_not_ca",          severity: "error", fixed: true,  scope: "leaf", clause: "RFC 5280 4.2.1.9",                    check: leafNotCa },
  { id: "key_usage_leaf",       severity: "error", fixed: true,  scope: "leaf", clause: "RFC 5280 4.2.1.3",                    check: leafUsage },
  { id: "ca_basic_constraints", severity: "error", fixed: true,  scope: "ca",   clause: "RFC 5280 4.2.1.9",                    check: caConstraints },
  { id: "ca_key_usage",         severity: "error", fixed: true,  scope: "ca",   clause: "RFC 5280 4.2.1.3",                    check: caUsage },
  { id: "key_usage_key_type",   severity: "error", fixed: false, scope: "all",  clause: "RFC 5480 3, RFC 8410 5, RFC 9881 5",  check: usageKeyType },
  { id: "eku_ku_consistency",   severity: "error", fixed: false, scope: "all",  clause: "RFC 5280 4.2.1.12",                   check: consistency },
  { id: "eku_any",              severity: "error", fixed: false, scope: "all",  clause: "BR 7.1.2.7.10",                       check: anyPurpose },
  { id: "key_identifiers",      severity: "error", fixed: false, scope: "all",  clause: "RFC 5280 4.2.1.1, 4.2.1.2",           check: keyIdentifiers },
  { id: "url_form",             severity: "error", fixed: false, scope: "all",  clause: "RFC 5280 4.2.1.13, 4.2.2.1",          check: urlForm },
];

function duplicates({ certificate }: Linted) {
  const seen = new Set(certificate.extensions.map(({ oid }) => oid));
  return seen.size === certificate.extensions.length ? undefined : "an extension occurs twice";
}

function leafNotCa({ basicConstraints }: Linted) {
  if (basicConstraints === undefined) return undefined;
  if (basicConstraints.ca) return "a leaf has the CA flag";
  return basicConstraints.pathLength === undefined ? undefined : "a leaf has a path length";
}

function leafUsage({ keyUsages }: Linted) {
  if (keyUsages === undefined) return undefined;
  if (keyUsages.length === 0) return "the key usage is empty";
  return keyUsages.includes("keyCertSign") || keyUsages.includes("cRLSign")
    ? "a leaf may sign certificates or CRLs"
    : undefined;
}

function caConstraints({ extension, basicConstraints }: Linted) {
  if (!basicConstraints?.ca) return "basicConstraints do not make it a CA";
  return extension(oids.basicConstraints)?.critical
    ? undefined
    : "basicConstraints are not critical";
}

function caUsage({ extension, keyUsages }: Linted) {
  if (!keyUsages?.includes("keyCertSign")) return "the key usage has no keyCertSign";
  return extension(oids.keyUsage)?.critical ? undefined : "the key usage is not critical";
}

function usageKeyType({ keyUsages, publicKey }: Linted) {
  if (keyUsages === undefined) return undefined;
  const usable = usagesFor(keyUsages, publicKey.family);
  const unusable = keyUsages.find((usage) => !usable.includes(usage));
  return unusable === undefined ? undefined : `the key cannot serve ${unusable}`;
}

function consistency({ keyUsages, extKeyUsages }: Linted) {
  if (keyUsages === undefined || extKeyUsages === undefined) return undefined;
  for (const purpose of extKeyUsages) {
    const usages = usagesOfPurpose.get(purpose);
    if (usages && !usages.some((usage) => keyUsages.includes(usage))) {
      return `no key usage serves purpose ${purpose}`;
    }
  }
  return undefined;
}

function anyPurpose({ extKeyUsages }: Linted) {
  return extKeyUsages?.includes(extendedKeyUsages.anyExtendedKeyUsage)
    ? "anyExtendedKeyUsage is present"
    : undefined;
}

function keyIdentifiers({ kind, issuer, subjectKeyId, authorityKeyId }: Linted) {
  if (subjectKeyId === undefined) return "the subject key identifier is missing";
  if (kind === "root" && authorityKeyId === undefined) return undefined;
  if (authorityKeyId === undefined) return "the authority key identifier is missing";
  return sameOctets(authorityKeyId, issuer.keyId)
    ? undefined
    : "the authority key identifier is not the CA's subject key identifier";
}

function urlForm({ urls, partialDistributionPoint }: Linted) {
  if (partialDistributionPoint) return "a distribution point has reasons or a cRLIssuer";
  const wrong = urls.find((url) => !/^https?:\/\/[^\s/?#]+(?:[/?#]\S*)?$/.test(url));
  return wrong === undefined ? undefined : "a pointer is not an absolute http or https URL";
}

const signature: readonly KeyUsage[] = ["digitalSignature", "nonRepudiation"];
const exchange: readonly KeyUsage[] = ["keyEncipherment", "keyAgreement"];

/** RFC 5280 §4.2.1.12: the usages each purpose is consistent with. */
const usagesOfPurpose: ReadonlyMap<string, readonly KeyUsage[]> = new Map([
  [extendedKeyUsages.serverAuth, ["digitalSignature", ...exchange]],
  [extendedKeyUsages.clientAuth, ["digitalSignature", "keyAgreement"]],
  [extendedKeyUsages.codeSigning, ["digitalSignature"]],
  [extendedKeyUsages.emailProtection, [...signature, ...exchange]],
  [extendedKeyUsages.timeStamping, signature],
  [extendedKeyUsages.OCSPSigning, signature],
]);
