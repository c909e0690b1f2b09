/** The profiles in force: the built-in ones, replaced by configured ones of the same name. */

import { refuse } from "#core/problems.ts";
import {
  decimal,
  flag,
  integer,
  many,
  mapOf,
  oneOf,
  optional,
  shape,
  type ValueOf,
  words,
} from "#core/shape.ts";
import { secondsPerDay } from "#core/time.ts";
import { type Algorithm, algorithms, type KeyType, keyTypes } from "#core/x509/algorithms.ts";
import { type KeyUsage, keyUsages } from "#core/x509/extensions.ts";

import type { Profile } from "./profile.ts";
import type { CtPolicy } from "./transparency.ts";

/** The profile used when a request names none. */
export const defaultProfile = "server";

/** A set of profiles by name; a reload makes a new set and replaces the old one as a whole. */
export class ProfileSet {
  private readonly byName: ReadonlyMap<string, Profile>;

  /** `configured` replaces built-in profiles of the same name and adds the others. */
  constructor(configured: readonly Profile[] = []) {
    this.byName = new Map([...builtins, ...configured].map((profile) => [profile.name, profile]));
  }

  /** The profile of exactly this name. Refuses `unknown_profile`. */
  named(name: string): Profile {
    const profile = this.byName.get(name);
    if (profile === undefined) throw refuse("unknown_profile", { profile: name });
    return profile;
  }

  has(name: string): boolean {
    return this.byName.has(name);
  }

  /** All of them, by name. */
  sorted(): readonly Profile[] {
    return [...this.byName.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  }
}

const count = integer(0, Number.MAX_SAFE_INTEGER);
const gateModes = ["enforce", "warn"] as const;
const keyTypeText = oneOf(Object.keys(keyTypes) as KeyType[]); // Keys of the table.

const ctShape = shape({
  enabled: flag(),
  logs: many(words()),
  min_scts: count,
  fail_open: flag(),
  timeout_seconds: decimal(),
  retries: count,
});

/** A profile as GET /api/profiles shows it. */
export const profileShape = shape({
  name: words(),
  description: words(),
  builtin: flag(),
  key_usages: many(oneOf(keyUsages)),
  ext_key_usages: many(words()),
  default_validity_days: count,
  default_validity_seconds: count,
  max_validity_days: count,
  max_validity_seconds: count,
  is_ca: flag(),
  ct: optional(ctShape),
  lint: shape({
    disabled: flag(),
    mode: oneOf(gateModes),
    public: flag(),
    require_must_staple: flag(),
    overrides: mapOf(oneOf(gateModes)),
  }),
  caa: shape({
    mode: oneOf(["off", "permissive", "enforce"]),
    identifier: optional(words()),
    timeout_seconds: decimal(),
  }),
  key_checks: shape({
    disabled: flag(),
    mode: oneOf(gateModes),
    detect_duplicates: flag(),
    min_rsa_bits: count,
  }),
  policies: optional(
    shape({
      oids: many(words()),
      cps: optional(words()),
      critical: flag(),
      mappings: many(words()),
    }),
  ),
  must_staple: flag(),
  allow_must_staple_override: flag(),
  algorithm: oneOf(algorithms),
  pqc_key_type: optional(keyTypeText),
  require_approval: flag(),
});

/** The profile as GET /api/profiles shows it; seconds are exact, days rounded up (PRO-6). */
export function profileJson(profile: Profile): ValueOf<typeof profileShape> {
  const { policies, ct } = profile;
  return {
    name: profile.name,
    description: profile.description,
    builtin: profile.builtin,
    key_usages: profile.keyUsages,
    ext_key_usages: profile.extKeyUsages,
    default_validity_days: daysRoundedUp(profile.defaultValiditySeconds),
    default_validity_seconds: profile.defaultValiditySeconds,
    max_validity_days: daysRoundedUp(profile.maxValiditySeconds),
    max_validity_seconds: profile.maxValiditySeconds,
    is_ca: false,
    ...(ct?.enabled === true ? { ct: ctJson(ct) } : {}),
    lint: {
      disabled: profile.lint.disabled,
      mode: profile.lint.mode,
      public: profile.lint.public,
      require_must_staple: profile.lint.requireMustStaple,
      overrides: profile.lint.overrides,
    },
    caa: {
      mode: profile.caa.mode,
      ...(profile.caa.identifier === undefined ? {} : { identifier: profile.caa.identifier }),
      timeout_seconds: profile.caa.timeoutSeconds,
    },
    key_checks: {
      disabled: profile.keyChecks.disabled,
      mode: profile.keyChecks.mode,
      detect_duplicates: profile.keyChecks.detectDuplicates,
      min_rsa_bits: profile.keyChecks.minRsaBits,
    },
    ...(policies && {
      policies: {
        oids: policies.oids,
        ...(policies.cps === undefined ? {} : { cps: policies.cps }),
        critical: policies.critical,
        mappings: (policies.mappings ?? []).map(({ issuer, subject }) => `${issuer}=${subject}`),
      },
    }),
    must_staple: profile.mustStaple,
    allow_must_staple_override: profile.allowMustStapleOverride,
    algorithm: profile.algorithm,
    ...(profile.pqcKeyType === undefined ? {} : { pqc_key_type: profile.pqcKeyType }),
    require_approval: profile.requireApproval,
  };
}

const ctJson = (ct: CtPolicy): ValueOf<typeof ctShape> => ({
  enabled: ct.enabled,
  logs: ct.logs,
  min_scts: ct.minScts,
  fail_open: ct.failOpen,
  timeout_seconds: ct.timeoutSeconds,
  retries: ct.retries,
});

/** Whole days that hold this many seconds; 0 only for 0. */
export const daysRoundedUp = (seconds: number): number => Math.ceil(seconds / secondsPerDay);

/** What certificates of this profile are marked with in the inventory; empty for most. */
export const markerOf = (profile: string): string =>
  profile === canaryProfile ? canaryMarker : "";

/**
 * The profile of probes: its lint cannot be relaxed, and the expiry monitor passes its certificates
 * over.
 */
export const canaryProfile = "canary";

/** What certificates of probes are marked with, whatever profile they are of. */
export const canaryMarker = "canary";

const days = (count: number) => count * secondsPerDay;
const signing: readonly KeyUsage[] = ["digitalSignature"];
const both: readonly KeyUsage[] = ["digitalSignature", "keyEncipherment"];

// biome-ignore format: the table is read by column.
const rows = [
  // name, key usages, extended key usages, seconds by default, at most, algorithm, description
  ["server",            both,    ["serverAuth"],               days(397),  days(397),  "classical", "TLS servers."],
  ["client",            signing, ["clientAuth"],               days(365),  days(730),  "classical", "TLS clients."],
  ["server-client",     both,    ["serverAuth", "clientAuth"], days(397),  days(397),  "classical", "TLS servers that are also clients."],
  ["server-muststaple", both,    ["serverAuth"],               days(397),  days(397),  "classical", "TLS servers that always staple an OCSP answer."],
  ["code-signing",      signing, ["codeSigning"],              days(1095), days(1095), "classical", "Signers of software."],
  ["email",             both,    ["emailProtection"],          days(365),  days(730),  "classical", "Mailboxes that sign and decrypt."],
  [canaryProfile,       signing, ["clientAuth"],               3600,       days(1),    "classical", "Probes that show that issuance works."],
  ["pqc-server",        signing, ["serverAuth"],               days(365),  days(397),  "pqc",       "TLS servers with ML-DSA keys, under an ML-DSA CA."],
  ["hybrid-server",     both,    ["serverAuth", "clientAuth"], days(365),  days(397),  "hybrid",    "TLS servers with a second, ML-DSA-65 key, under a hybrid CA."],
] as const satisfies readonly (readonly [
  string, readonly KeyUsage[], readonly string[], number, number, Algorithm, string,
])[];

const builtins: readonly Profile[] = rows.map(
  ([
    name,
    keyUsages,
    extKeyUsages,
    defaultValiditySeconds,
    maxValiditySeconds,
    algorithm,
    description,
  ]) => ({
    name,
    description,
    builtin: true,
    keyUsages,
    extKeyUsages,
    defaultValiditySeconds,
    maxValiditySeconds,
    lint: {
      disabled: false,
      mode: "enforce",
      public: false,
      requireMustStaple: false,
      overrides: {},
    },
    caa: { mode: "off", identifier: undefined, timeoutSeconds: 5 },
    keyChecks: { disabled: false, mode: "enforce", detectDuplicates: false, minRsaBits: 2048 },
    policies: undefined,
    // A common name without a SAN is enough for most built-in profiles (API-12).
    names: {
      permittedDns: undefined,
      permittedIps: undefined,
      permittedEmails: undefined,
      permittedUris: undefined,
      allowWildcards: true,
      requireSan: false,
      requireEmail: name === "email",
    },
    mustStaple: name === "server-muststaple",
    allowMustStapleOverride: name === "server-muststaple",
    omitRevocationPointers: false,
    requireApproval: false,
    algorithm,
    pqcKeyType: algorithm === "hybrid" ? "ml-dsa-65" : undefined,
  }),
);
