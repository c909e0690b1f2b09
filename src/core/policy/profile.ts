/** Profiles: what a kind of certificate says and how long it lives. */

import type { Algorithm, KeyType } from "#core/x509/algorithms.ts";
import type { KeyUsage } from "#core/x509/extensions.ts";
import type { PolicyMapping } from "#core/x509/policy-extensions.ts";

import type { CtPolicy } from "./transparency.ts";

/** A profile as the server uses it; built-in or from the configuration. */
export interface Profile {
  readonly name: string;
  readonly description: string;
  readonly builtin: boolean;
  readonly keyUsages: readonly KeyUsage[];
  /** Words of `extendedKeyUsages` or dotted OIDs. */
  readonly extKeyUsages: readonly string[];
  readonly defaultValiditySeconds: number;
  /** 0: only the caps of CA and policy apply. */
  readonly maxValiditySeconds: number;
  readonly lint: {
    readonly disabled: boolean;
    readonly mode: "enforce" | "warn";
    readonly public: boolean;
    /** Warns when a certificate is without must-staple. */
    readonly requireMustStaple: boolean;
    readonly overrides: Readonly<Record<string, "enforce" | "warn">>;
  };
  readonly caa: {
    readonly mode: "off" | "permissive" | "enforce";
    /** The issuer domain name records must have; undefined takes the instance's. */
    readonly identifier: string | undefined;
    /** Of one attempt at one lookup. */
    readonly timeoutSeconds: number;
  };
  readonly keyChecks: {
    readonly disabled: boolean;
    readonly mode: "enforce" | "warn";
    /** Refuses a key that another subject of the tenant has. */
    readonly detectDuplicates: boolean;
    readonly minRsaBits: number;
  };
  readonly policies:
    | {
        readonly oids: readonly string[];
        readonly cps: string | undefined;
        readonly critical: boolean;
        /** For CA certificates (RFC 5280 §4.2.1.5); no leaf carries them. */
        readonly mappings?: readonly PolicyMapping[] | undefined;
      }
    | undefined;
  /** The name policy of the profile; undefined lists admit any name of the kind. */
  readonly names: {
    readonly permittedDns: readonly string[] | undefined;
    readonly permittedIps: readonly string[] | undefined;
    readonly permittedEmails: readonly string[] | undefined;
    readonly permittedUris: readonly string[] | undefined;
    readonly allowWildcards: boolean;
    readonly requireSan: boolean;
    /** True when one of the names must be a mailbox. */
    readonly requireEmail: boolean;
  };
  readonly mustStaple: boolean;
  readonly allowMustStapleOverride: boolean;
  readonly omitRevocationPointers: boolean;
  /**
   * `pqc` wants an ML-DSA key and issuer, `hybrid` a second, ML-DSA key and a hybrid issuer (PQ-3,
   * PQ-4).
   */
  readonly algorithm: Algorithm;
  /** The post-quantum key type it insists on; undefined accepts every ML-DSA key. */
  readonly pqcKeyType: KeyType | undefined;
  /** True when people may not issue with it alone (APR-1); protocols are never parked. */
  readonly requireApproval: boolean;
  /** Undefined: no transparency. */
  readonly ct?: CtPolicy | undefined;
}
