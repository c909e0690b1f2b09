/** The extensions of each kind of certificate, in the one order they are written in (EXT-5). */

import { oids } from "#core/asn1/oids.ts";
import type { KeyFamily } from "#core/x509/algorithms.ts";
import { subjectAltPublicKeyInfo } from "#core/x509/alternative.ts";
import { extensionOf, type ParsedCertificate } from "#core/x509/certificate.ts";
import {
  authorityInfoAccess,
  authorityKeyIdentifier,
  basicConstraints,
  certificatePolicies,
  crlDistributionPoints,
  type Extension,
  extendedKeyUsage,
  type KeyUsage,
  keyUsage,
  mustStaple,
  ocspNoCheck,
  subjectAltName,
  subjectKeyId,
  subjectKeyIdentifier,
} from "#core/x509/extensions.ts";
import type { GeneralName } from "#core/x509/general-names.ts";
import { type NameConstraints, nameConstraints } from "#core/x509/name-constraints.ts";
import {
  policyConstraints,
  policyExtensionOids,
  type PolicyMapping,
  policyMappings,
} from "#core/x509/policy-extensions.ts";

import type { RepeatedExtensions } from "./plan.ts";
import type { Profile } from "./profile.ts";

export interface LeafExtensions {
  readonly profile: Pick<Profile, "extKeyUsages" | "policies" | "omitRevocationPointers">;
  readonly keyUsages: readonly KeyUsage[];
  readonly spki: Uint8Array;
  readonly skiMethod: "rfc7093" | "sha1";
  readonly repeated: RepeatedExtensions;
  readonly sans: readonly GeneralName[];
  readonly emptySubject: boolean;
  readonly mustStaple: boolean;
  /** SubjectPublicKeyInfo of the second key, of a hybrid leaf. */
  readonly alternativeSpki?: Uint8Array | undefined;
}

/** The leaf column. */
export function leafExtensions(leaf: LeafExtensions): readonly Extension[] {
  const { profile, repeated } = leaf;
  const pointers = profile.omitRevocationPointers
    ? [repeated.caIssuersOnly]
    : [repeated.authorityInfoAccess, repeated.crlDistributionPoints];
  return present([
    leafConstraints,
    leaf.keyUsages.length > 0 ? keyUsage(leaf.keyUsages) : undefined,
    profile.extKeyUsages.length > 0 ? extendedKeyUsage(profile.extKeyUsages) : undefined,
    subjectKeyIdentifier(subjectKeyId(leaf.spki, leaf.skiMethod)),
    repeated.authorityKeyIdentifier,
    // RFC 5280 §4.2.1.6: critical exactly when the subject is empty.
    leaf.sans.length > 0 ? subjectAltName(leaf.sans, leaf.emptySubject) : undefined,
    profile.policies && certificatePolicies(profile.policies, profile.policies.critical),
    ...pointers,
    leaf.mustStaple ? mustStaple() : undefined,
    leaf.alternativeSpki && subjectAltPublicKeyInfo(leaf.alternativeSpki),
  ]);
}

export interface CaExtensions {
  readonly keyId: Uint8Array;
  readonly maxPathLength: number | undefined;
  /** Undefined: those of a root or intermediate. A cross certificate copies its subject's. */
  readonly keyUsages?: readonly KeyUsage[] | undefined;
  /** What leaves below it may be for; undefined leaves all to them. */
  readonly extKeyUsage: Extension | undefined;
  /**
   * Name constraints and policies, made by `constraintExtensions` or copied by `copiedConstraints`.
   */
  readonly constraints: readonly Extension[];
  /** SubjectPublicKeyInfo of the second key, of a hybrid CA. */
  readonly alternativeSpki?: Uint8Array | undefined;
  /** Of the parent; undefined for a root. */
  readonly repeated: RepeatedExtensions | undefined;
}

/** What binds the names and policies below a CA. */
export interface CaConstraints {
  readonly nameConstraints: (NameConstraints & { readonly critical: boolean }) | undefined;
  readonly policies: CaPolicies | undefined;
}

export interface CaPolicies {
  readonly oids: readonly string[];
  readonly cps: string | undefined;
  readonly critical: boolean;
  readonly mappings: readonly PolicyMapping[];
  /** How many certificates below may still lack an acceptable policy. */
  readonly requireExplicitPolicy: number | undefined;
  /** How many certificates below may still map policies. */
  readonly inhibitPolicyMapping: number | undefined;
}

/** Name constraints and policies as extensions, in the order of the table. */
export function constraintExtensions(constraints: CaConstraints): readonly Extension[] {
  const { nameConstraints: names, policies } = constraints;
  const limits = [policies?.requireExplicitPolicy, policies?.inhibitPolicyMapping];
  return present([
    names && nameConstraints(names, names.critical),
    policies && certificatePolicies(policies, policies.critical),
    policies && policies.mappings.length > 0 ? policyMappings(policies.mappings) : undefined,
    policies && limits.some((limit) => limit !== undefined)
      ? policyConstraints(policies)
      : undefined,
  ]);
}

/** Those of another certificate, byte for byte (ROL-1, ROL-6). */
export function copiedConstraints(from: Pick<ParsedCertificate, "extensions">) {
  const wanted = [oids.nameConstraints, ...policyExtensionOids];
  return present(wanted.map((oid) => extensionOf(from, oid)));
}

/** What another certificate says its leaves are for, byte for byte. */
export const copiedPurposes = (from: Pick<ParsedCertificate, "extensions">) =>
  extensionOf(from, oids.extKeyUsage);

/** The root, intermediate and cross columns. */
export function caExtensions(ca: CaExtensions): readonly Extension[] {
  const { repeated } = ca;
  return present([
    basicConstraints(true, ca.maxPathLength),
    keyUsage(ca.keyUsages ?? caKeyUsages),
    ca.extKeyUsage,
    subjectKeyIdentifier(ca.keyId),
    repeated?.authorityKeyIdentifier,
    ...ca.constraints,
    repeated?.authorityInfoAccess,
    repeated?.crlDistributionPoints,
    ca.alternativeSpki && subjectAltPublicKeyInfo(ca.alternativeSpki),
  ]);
}

/** The OCSP responder column (RFC 6960 §4.2.2.2). */
export function responderExtensions(
  keyId: Uint8Array,
  repeated: RepeatedExtensions,
): readonly Extension[] {
  return [
    keyUsage(["digitalSignature"]),
    extendedKeyUsage(["OCSPSigning"]),
    subjectKeyIdentifier(keyId),
    repeated.authorityKeyIdentifier,
    ocspNoCheck(),
  ];
}

/**
 * What every certificate of a CA repeats; URLs only with a base, `{base}/api/ca/{id}/…` (EXT-3).
 */
export function repeatedExtensions(issuer: {
  readonly id: string;
  readonly keyId: Uint8Array;
  readonly urlBase: string | undefined;
  /** `crl.shards`. */
  readonly shards?: number;
}): RepeatedExtensions {
  const { id, urlBase } = issuer;
  const keyIdentifier = authorityKeyIdentifier(issuer.keyId);
  if (urlBase === undefined) {
    return {
      authorityKeyIdentifier: keyIdentifier,
      authorityInfoAccess: undefined,
      caIssuersOnly: undefined,
      crlDistributionPoints: undefined,
      crl: undefined,
    };
  }
  const prefix = `${urlBase}/api/ca/${id}`;
  const caIssuers = `${prefix}/certificate`;
  const crlUrl = crlUrlOf(urlBase, id);
  return {
    authorityKeyIdentifier: keyIdentifier,
    authorityInfoAccess: authorityInfoAccess({ ocsp: `${prefix}/ocsp`, caIssuers }),
    caIssuersOnly: authorityInfoAccess({ caIssuers }),
    crlDistributionPoints: crlDistributionPoints([crlUrl]),
    crl: { url: crlUrl, shards: issuer.shards ?? 0 },
  };
}

/** Address of a CA's full CRL, or of one partition (EXT-3); a delta is at `/delta` below either. */
export const crlUrlOf = (urlBase: string, caId: string, partition?: number): string =>
  `${urlBase}/api/ca/${caId}/crl${partition === undefined ? "" : `/partition/${partition}`}`;

/**
 * EXT-1, PQ-2: of the profile's usages, those a key of this family can serve; keyAgreement never.
 */
export function usagesFor(
  usages: readonly KeyUsage[],
  family: KeyFamily | "unknown",
): readonly KeyUsage[] {
  return usages.filter((usage) => usagesByFamily[family].includes(usage));
}

/** Of roots and intermediates. */
export const caKeyUsages: readonly KeyUsage[] = ["digitalSignature", "keyCertSign", "cRLSign"];

const signing = ["digitalSignature", "nonRepudiation", "keyCertSign", "cRLSign"] as const;

const usagesByFamily: Readonly<Record<KeyFamily | "unknown", readonly KeyUsage[]>> = {
  rsa: [...signing, "keyEncipherment", "dataEncipherment"],
  ec: signing,
  ed25519: signing,
  "ml-dsa": signing,
  "slh-dsa": signing,
  unknown: [],
};

const leafConstraints = { oid: "2.5.29.19", critical: true, value: Uint8Array.of(0x30, 0) };

const present = (extensions: readonly (Extension | undefined)[]): readonly Extension[] =>
  extensions.filter((extension) => extension !== undefined);
