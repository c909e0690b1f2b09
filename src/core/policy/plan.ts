/** A plan: everything a certificate will say but its serial, with the issuer it is planned for. */

import type { CaId } from "#core/ids.ts";
import type { ProblemCode } from "#core/problems.ts";
import type { Instant } from "#core/time.ts";
import type { SignatureName } from "#core/x509/algorithms.ts";
import type { Extension, KeyUsage } from "#core/x509/extensions.ts";
import type { GeneralName } from "#core/x509/general-names.ts";
import type { NameConstraints } from "#core/x509/name-constraints.ts";
import type { Name } from "#core/x509/names.ts";
import type { PolicyFacts } from "#core/x509/path-policies.ts";
import type { PublicKey } from "#core/x509/public-keys.ts";

/**
 * What a certificate is, which decides the extensions it has and the rules it must meet (EXT-5).
 */
export type PlanKind = "root" | "intermediate" | "leaf" | "responder";

/** What shortened a validity. */
export const validityLimits = ["profile", "policy", "ca"] as const;
export type ValidityLimit = (typeof validityLimits)[number];

export interface Plan {
  readonly kind: PlanKind;
  /** Name of the profile; empty for CA and responder certificates. */
  readonly profile: string;
  readonly subject: Name;
  readonly sans: readonly GeneralName[];
  readonly publicKey: PublicKey;
  readonly notBefore: Instant;
  /** Inclusive. */
  readonly notAfter: Instant;
  readonly clamped: ValidityLimit | undefined;
  readonly keyUsages: readonly KeyUsage[];
  readonly extKeyUsages: readonly string[];
  readonly mustStaple: boolean;
  readonly extensions: readonly Extension[];
  /** The subject's second key, of a hybrid certificate (PQ-4). */
  readonly alternativeKey?: PublicKey | undefined;
}

/** A signing CA as far as planning and the gates must know it; a root is its own issuer. */
export interface Issuer {
  readonly id: CaId;
  /** DER of the CA's subject. */
  readonly subject: Uint8Array;
  /** The CA's subject key identifier. */
  readonly keyId: Uint8Array;
  /** Lower hex SHA-256 of the CA's SubjectPublicKeyInfo. */
  readonly spkiSha256: string;
  readonly signature: SignatureName;
  /** Of a hybrid CA: the algorithm of its second signature, without which it signs nothing. */
  readonly alternative?: SignatureName | undefined;
  readonly notBefore: Instant;
  readonly notAfter: Instant;
  /** Undefined: no limit. */
  readonly maxPathLength: number | undefined;
  /** Name constraints of every certificate on the path to the root, the CA's own first. */
  readonly constraints: readonly NameConstraints[];
  /**
   * What the certificates from below the root to the CA's own say of policies, in this order (RFC
   * 5280 §6.1).
   */
  readonly policyPath: readonly PolicyFacts[];
  /**
   * The purposes of every certificate on the path to the root, the CA's own first, dotted;
   * undefined is every purpose.
   */
  readonly purposes: readonly (readonly string[] | undefined)[];
  /** Extensions every certificate of this CA repeats, encoded once. */
  readonly repeated: RepeatedExtensions;
}

/** Pointer extensions are absent without a URL base. */
export interface RepeatedExtensions {
  readonly authorityKeyIdentifier: Extension;
  /** OCSP and caIssuers. */
  readonly authorityInfoAccess: Extension | undefined;
  /** caIssuers alone, for profiles without revocation pointers (EXT-4). */
  readonly caIssuersOnly: Extension | undefined;
  readonly crlDistributionPoints: Extension | undefined;
  /**
   * Where the CRLs of this CA are, and over how many partitions its leaves are spread; below 2 over
   * none.
   */
  readonly crl: { readonly url: string; readonly shards: number } | undefined;
}

/** The CRL pointer written into one certificate, recorded with it (EXT-3). */
export interface CrlPointer {
  /** Undefined: the full CRL. */
  readonly partition: number | undefined;
  /** The distribution point, octet by octet. */
  readonly url: string;
}

/** What the configuration says about every certificate, in the members' own names. */
export interface IssuanceSections {
  readonly issuance: {
    readonly backdate_seconds: number;
    readonly ski_method: "rfc7093" | "sha1";
    /** Subject alternative names per certificate, at most. */
    readonly max_names: number;
  };
  /** 0: no cap. */
  readonly policy: { readonly max_cert_validity_days: number };
}

/** One reason against a plan, said by the gate it belongs to. */
export interface Objection {
  readonly gate: "names" | "certificate_policy" | "must_staple" | "validity" | "approval";
  readonly reason: string;
  /** The refusal's own code when this is the only gate that objects. */
  readonly code?: ProblemCode;
  readonly facts?: Readonly<Record<string, unknown>>;
}
