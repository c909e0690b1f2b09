/** Key checks: what makes a public key unfit to be certified, one row per check (KCK-1). */

import { rawKeyOctets } from "#core/x509/algorithms.ts";
import { parsePublicKey, type PublicKey } from "#core/x509/public-keys.ts";

import type { Profile } from "./profile.ts";
import type { Finding } from "./lint.ts";
import { hasSmallFactor } from "./key-factors.ts";
import { ed25519PointFault, ecPointFault } from "./key-points.ts";
import { isPerfectPower } from "./key-powers.ts";
import { hasCloseFactors, looksLikeRoca } from "./key-primes.ts";

/**
 * What the store, the blocklists and long arithmetic say about a key; whoever clears a plan has
 * asked them before.
 */
export interface KeyFacts {
  /** It is an RSA key whose modulus is a prime, so that everybody knows its private key. */
  readonly prime: boolean;
  /** Its digest is in a blocklist file. */
  readonly weak: boolean;
  /** It is on the list of blocked keys. */
  readonly blocked: boolean;
  /**
   * A CA, responder or serving certificate of this instance holds it, and this is none of those.
   */
  readonly own: boolean;
  /** An ACME account of this instance signs with it (RFC 8555 §11.1). */
  readonly account: boolean;
  /**
   * An unexpired certificate of the tenant has it for another subject; false where the profile does
   * not ask.
   */
  readonly duplicate: boolean;
}

export interface KeyRule {
  readonly id: string;
  /** True for checks no profile can relax. */
  readonly fixed: boolean;
  readonly clause: string;
  /** True for arithmetic on the modulus, which costs more than verifying a signature (AC-8). */
  readonly factors?: true;
  /** What is wrong with the key, or undefined. */
  readonly check: (
    key: PublicKey,
    settings: Profile["keyChecks"],
    facts: KeyFacts,
  ) => string | undefined;
}

// biome-ignore format: the table is read by column.
export const keyRules: readonly KeyRule[] = [
  { id: "small_modulus", fixed: true, clause: "NIST SP 800-57 5.6.1", check: smallModulus },
  { id: "even_modulus",  fixed: true, clause: "RFC 8017 3.1",         check: evenModulus },
  { id: "weak_exponent", fixed: true, clause: "BR 6.1.6",             check: weakExponent },
  { id: "small_factor",  fixed: true, clause: "NIST SP 800-89 5.3.3", check: smallFactor, factors: true },
  { id: "close_primes",  fixed: true, clause: "BR 6.1.1.3",           check: closePrimes, factors: true },
  { id: "roca",          fixed: true, clause: "BR 6.1.1.3",           check: roca,        factors: true },
  { id: "debian_weak_key", fixed: false, clause: "BR 6.1.1.3",        check: weakKey },
  { id: "ec_curve",      fixed: true, clause: "BR 6.1.5",             check: ecCurve },
  { id: "ec_point",      fixed: true, clause: "NIST SP 800-56A 5.6.2.3", check: ecPoint },
  { id: "ed25519_point", fixed: true, clause: "RFC 8032 5.1.3",       check: ed25519Point },
  { id: "pq_length",     fixed: true, clause: "RFC 9881 4, RFC 9909 4", check: postQuantumLength },
  { id: "unknown_key",   fixed: true, clause: "BR 6.1.5",             check: unknownKey },
  { id: "blocked_key",   fixed: true, clause: "BR 4.9.1.1, 6.1.1.3",  check: blockedKey },
  { id: "own_key",       fixed: true, clause: "KCK-2",                check: ownKey },
  { id: "acme_account_key", fixed: true, clause: "RFC 8555 11.1",     check: accountKey },
  { id: "duplicate_key", fixed: false, clause: "KCK-3",               check: duplicateKey },
];

/** Every fault of the key; a finding of mode `error` refuses. */
export function checkKey(
  key: PublicKey,
  settings: Profile["keyChecks"],
  facts: KeyFacts,
): readonly Finding[] {
  const findings: Finding[] = [];
  for (const rule of keyRules) {
    if (settings.disabled && !rule.fixed) continue;
    const description = rule.check(key, settings, facts);
    if (description === undefined) continue;
    const mode = rule.fixed || settings.mode === "enforce" ? "error" : "warn";
    findings.push({ code: rule.id, mode, clause: rule.clause, description });
  }
  return findings;
}

/**
 * True for RSA moduli of a length that is certified at all, the only ones worth a test whether they
 * are prime.
 */
export const mayBePrime = (key: PublicKey): key is Extract<PublicKey, { readonly family: "rsa" }> =>
  key.family === "rsa" && key.bits >= 2048 && key.bits <= bitsMax && key.modulus % 2n === 1n;

/** The checks as CA and responder keys meet them: nothing relaxed. */
export const strictKeyChecks: Profile["keyChecks"] = {
  disabled: false,
  mode: "enforce",
  detectDuplicates: false,
  minRsaBits: 2048,
};

/** Why a key is weak by its numbers alone; undefined when it is not. */
export function weaknessOf(spki: Uint8Array): string | undefined {
  return checkKey(parsePublicKey(spki), strictKeyChecks, noFacts)[0]?.description;
}

/**
 * Returns why a key is weak, by checks that cost less than verifying a signature with it. These are
 * kind, lengths, exponent, curve and point, but no factors. Returns undefined for all other keys.
 */
export function findCheapWeakness(spki: Uint8Array): string | undefined {
  const key = parsePublicKey(spki);
  if (key.family === "rsa" && key.bits > bitsMax) return tooLong;
  for (const rule of keyRules) {
    if (rule.factors === true) continue;
    const description = rule.check(key, strictKeyChecks, noFacts);
    if (description !== undefined) return description;
  }
  return undefined;
}

function smallModulus(key: PublicKey, { minRsaBits }: Profile["keyChecks"]) {
  const least = Math.max(2048, minRsaBits);
  return key.family === "rsa" && key.bits < least
    ? `the RSA modulus has ${key.bits} bits, fewer than ${least}`
    : undefined;
}

function evenModulus(key: PublicKey) {
  return key.family === "rsa" && key.modulus % 2n === 0n ? "the RSA modulus is even" : undefined;
}

function weakExponent(key: PublicKey) {
  if (key.family !== "rsa") return undefined;
  const { exponent } = key;
  if (exponent % 2n === 0n) return "the RSA exponent is even";
  if (exponent < 65_537n) return "the RSA exponent is smaller than 65537";
  return exponent >= 1n << 256n ? "the RSA exponent has more than 256 bits" : undefined;
}

function smallFactor(key: PublicKey, _settings: Profile["keyChecks"], { prime }: KeyFacts) {
  // A giant modulus would make this slow; real ones end far below.
  if (key.family !== "rsa" || key.modulus % 2n === 0n || key.modulus < 3n) return undefined;
  if (key.bits > bitsMax) return tooLong;
  if (prime) return "the RSA modulus is a prime";
  if (hasSmallFactor(key.modulus)) return "a prime below 10,000 divides the RSA modulus";
  return isPerfectPower(key.modulus) ? "the RSA modulus is a power" : undefined;
}

function closePrimes(key: PublicKey) {
  if (key.family !== "rsa" || !isFactorable(key)) return undefined;
  return hasCloseFactors(key.modulus, fermatRounds)
    ? "the primes of the RSA modulus are too close together"
    : undefined;
}

function roca(key: PublicKey) {
  if (key.family !== "rsa" || !isFactorable(key)) return undefined;
  return looksLikeRoca(key.modulus)
    ? "the RSA modulus comes from the generator of CVE-2017-15361"
    : undefined;
}

function weakKey(_key: PublicKey, _settings: Profile["keyChecks"], { weak }: KeyFacts) {
  return weak ? "the key is in a list of weak keys" : undefined;
}

/** Odd, and small enough for these checks; other moduli are refused by other rows. */
const isFactorable = ({ modulus, bits }: { readonly modulus: bigint; readonly bits: number }) =>
  modulus % 2n === 1n && modulus > 3n && bits <= bitsMax;

function ecCurve(key: PublicKey) {
  return key.family === "ec" && !["P-256", "P-384", "P-521"].includes(key.curve)
    ? "the curve is none of P-256, P-384 and P-521"
    : undefined;
}

function ecPoint(key: PublicKey) {
  return key.family === "ec" ? ecPointFault(key.curve, key.point) : undefined;
}

function ed25519Point(key: PublicKey) {
  return key.family === "ed25519" ? ed25519PointFault(key.point) : undefined;
}

/** ML-KEM keys cannot sign, so no request proves their possession (PQ-8). */
function postQuantumLength(key: PublicKey) {
  if (key.family === "unknown" && key.oid.startsWith(mlKemArc)) {
    return "the possession of an ML-KEM key cannot be proven";
  }
  const postQuantum = key.family === "ml-dsa" || key.family === "slh-dsa";
  if (!postQuantum || key.keyType === undefined) return undefined;
  const wanted = rawKeyOctets(key.keyType);
  return key.raw.length === wanted
    ? undefined
    : `the ${key.keyType} key has ${key.raw.length} octets instead of ${wanted}`;
}

function blockedKey(_key: PublicKey, _settings: Profile["keyChecks"], { blocked }: KeyFacts) {
  return blocked ? "the key is blocked" : undefined;
}

function ownKey(_key: PublicKey, _settings: Profile["keyChecks"], { own }: KeyFacts) {
  return own ? "the key is one of this instance's own" : undefined;
}

function accountKey(_key: PublicKey, _settings: Profile["keyChecks"], { account }: KeyFacts) {
  return account ? "the key is that of an ACME account" : undefined;
}

function duplicateKey(_key: PublicKey, _settings: Profile["keyChecks"], { duplicate }: KeyFacts) {
  return duplicate ? "another subject has an unexpired certificate for the key" : undefined;
}

/** A key whose kind is not known cannot be checked, and so is refused. */
function unknownKey(key: PublicKey) {
  return key.family === "unknown" ? `keys of algorithm ${key.oid} are not certified` : undefined;
}

const bitsMax = 8192;
const tooLong = `the RSA modulus has more than ${bitsMax} bits`;
const noFacts: KeyFacts = {
  prime: false,
  weak: false,
  blocked: false,
  own: false,
  account: false,
  duplicate: false,
};
const fermatRounds = 100;
/** FIPS 203, the sets 512, 768 and 1024. */
const mlKemArc = "2.16.840.1.101.3.4.4.";
