/** The extensions of each kind of certificate, in the one order they are written in (behaviour.md §4). */

import type { KeyFamily } from "#core/x509/algorithms.ts";
import { subjectAltPublicKeyInfo } from "#core/x509/alternative.ts";
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
  readonly nameConstraints: (NameConstraints & { readonly critical: boolean }) | undefined;
  readonly policies:
    | {
        readonly oids: readonly string[];
        readonly cps: string | undefined;
        readonly critical: boolean;
      }
    | undefined;
  /** SubjectPublicKeyInfo of the second key, of a hybrid CA. */
  readonly alternativeSpki?: Uint8Array | undefined;
  /** Of the parent; undefined for a root. */
  readonly repeated: RepeatedExtensions | undefined;
}

/** The root and intermediate columns. */
export function caExtensions(ca: CaExtensions): readonly Extension[] {
  const { nameConstraints: constraints, policies, repeated } = ca;
  return present([
    basicConstraints(true, ca.maxPathLength),
    keyUsage(["digitalSignature", "keyCertSign", "cRLSign"]),
    subjectKeyIdentifier(ca.keyId),
    repeated?.authorityKeyIdentifier,
    constraints && nameConstraints(constraints, constraints.critical),
    policies && certificatePolicies(policies, policies.critical),
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

/** What every certificate of a CA repeats; URLs only with a base, `{base}/api/ca/{id}/…` (EXT-3). */
export function repeatedExtensions(issuer: {
  readonly id: string;
  readonly keyId: Uint8Array;
  readonly urlBase: string | undefined;
}): RepeatedExtensions {
  const { id, urlBase } = issuer;
  const keyIdentifier = authorityKeyIdentifier(issuer.keyId);
  if (urlBase === undefined) {
    return {
      ...{ authorityKeyIdentifier: keyIdentifier, authorityInfoAccess: undefined },
      ...{ caIssuersOnly: undefined, crlDistributionPoints: undefined },
    };
  }
  const prefix = `${urlBase}/api/ca/${id}`;
  const caIssuers = `${prefix}/certificate`;
  return {
    authorityKeyIdentifier: keyIdentifier,
    authorityInfoAccess: authorityInfoAccess({ ocsp: `${prefix}/ocsp`, caIssuers }),
    caIssuersOnly: authorityInfoAccess({ caIssuers }),
    crlDistributionPoints: crlDistributionPoints([`${prefix}/crl`]),
  };
}

/** EXT-1: of the profile's usages, those a key of this family can serve; keyAgreement never. */
export function usagesFor(
  usages: readonly KeyUsage[],
  family: KeyFamily | "unknown",
): readonly KeyUsage[] {
  return usages.filter((usage) => usagesByFamily[family].includes(usage));
}

const signing = ["digitalSignature", "nonRepudiation", "keyCertSign", "cRLSign"] as const;

const usagesByFamily: Readonly<Record<KeyFamily | "unknown", readonly KeyUsage[]>> = {
  rsa: [...signing, "keyEncipherment", "dataEncipherment"],
  ec: signing,
  ed25519: signing,
  "ml-dsa": signing,
  unknown: [],
};

const leafConstraints = { oid: "2.5.29.19", critical: true, value: Uint8Array.of(0x30, 0) };

const present = (extensions: readonly (Extension | undefined)[]): readonly Extension[] =>
  extensions.filter((extension) => extension !== undefined);
