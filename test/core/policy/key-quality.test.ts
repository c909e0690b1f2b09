/** Key checks: each refuses the key it is about, and good keys of every kind pass. */

import { expect, test } from "bun:test";
import { checkPrimeSync, createPublicKey } from "node:crypto";

import { hasSmallFactor, primesBelow } from "#core/policy/key-factors.ts";
import { isPerfectPower } from "#core/policy/key-powers.ts";
import { checkKey, type KeyFacts, keyRules, strictKeyChecks } from "#core/policy/key-quality.ts";
import { looksLikeRoca } from "#core/policy/key-primes.ts";
import { parsePublicKey, type PublicKey } from "#core/x509/public-keys.ts";
import { newKey, soundKey, spkiOf } from "#test/support/worlds/issuance.ts";

const codes = (key: PublicKey, settings = strictKeyChecks, facts: Partial<KeyFacts> = {}) =>
  checkKey(key, settings, { ...soundKey, ...facts }).map(({ code }) => code);

const rsa = (modulus: bigint, exponent = 65_537n): PublicKey => ({
  spki: new Uint8Array(),
  keyType: undefined,
  family: "rsa",
  modulus,
  exponent,
  bits: modulus.toString(2).length,
});
const good = parsePublicKey(spkiOf(newKey("rsa-2048").publicKey));
if (good.family !== "rsa") throw new Error("an RSA key is one");
const { modulus } = good;
const ed25519 = (point: Uint8Array): PublicKey => ({
  spki: new Uint8Array(),
  keyType: "ed25519",
  family: "ed25519",
  point,
});

for (const keyType of ["rsa-2048", "ecdsa-p256", "ecdsa-p384", "ecdsa-p521", "ed25519"] as const) {
  test(`fresh ${keyType} keys pass every check`, () => {
    for (let i = 0; i < (keyType === "rsa-2048" ? 2 : 20); i++) {
      expect(codes(parsePublicKey(spkiOf(newKey(keyType).publicKey)))).toEqual([]);
    }
  });
}

test("an RSA modulus below 2048 bits is refused, whatever the profile says", () => {
  const small = parsePublicKey(
    new Uint8Array(
      createPublicKey({
        key: { kty: "RSA", n: Buffer.alloc(255, 0xff).toString("base64url"), e: "AQAB" },
        format: "jwk",
      }).export({ type: "spki", format: "der" }),
    ),
  );
  expect(codes(small, { ...strictKeyChecks, minRsaBits: 1024 })).toContain("small_modulus");
});

test("a profile may want more bits, never fewer", () => {
  expect(codes(good, { ...strictKeyChecks, minRsaBits: 3072 })).toEqual(["small_modulus"]);
  expect(codes(good, { ...strictKeyChecks, minRsaBits: 2048 })).toEqual([]);
});

test("disabling the checks of a profile leaves the fixed ones on", () => {
  expect(codes(rsa(modulus + 1n), { ...strictKeyChecks, disabled: true })).toEqual([
    "even_modulus",
  ]);
});

test("exponents that are even, below 65537 or of more than 256 bits are refused", () => {
  for (const exponent of [3n, 65_535n, 65_538n, (1n << 256n) + 1n]) {
    expect(codes(rsa(modulus, exponent))).toEqual(["weak_exponent"]);
  }
  for (const exponent of [65_537n, (1n << 256n) - 1n])
    expect(codes(rsa(modulus, exponent))).toEqual([]);
});

test("a modulus with a prime factor below 10,000 is refused", () => {
  for (const prime of [3n, 7n, 4_999n, 9_973n]) {
    expect(codes(rsa(prime * modulus))).toEqual(["small_factor"]);
  }
  expect(hasSmallFactor(10_007n * 10_009n)).toBe(false);
});

test("a modulus that is a power of a prime is refused", () => {
  const prime = (1n << 1_279n) - 1n;
  expect(codes(rsa(prime * prime))).toEqual(["small_factor", "close_primes"]);
  expect(isPerfectPower(10_007n ** 5n)).toBe(true);
  expect(isPerfectPower(10_007n ** 151n)).toBe(true);
  expect(isPerfectPower(10_007n ** 4n * 10_009n)).toBe(false);
});

test("an EC point off the curve, compressed, out of range or cut is refused", () => {
  const key = parsePublicKey(spkiOf(newKey("ecdsa-p256").publicKey));
  if (key.family !== "ec") throw new Error("an EC key is one");
  const { point } = key;
  const changed = Uint8Array.from(point);
  changed[40] = (changed[40] ?? 0) ^ 1;
  const outOfRange = Uint8Array.from(point).fill(0xff, 1, 33);
  const compressed = Uint8Array.from([2, ...point.subarray(1, 33)]);
  for (const wrong of [changed, outOfRange, compressed, point.subarray(0, 64), Uint8Array.of(0)]) {
    expect(codes({ ...key, point: wrong })).toEqual(["ec_point"]);
  }
});

test("a curve other than P-256, P-384 and P-521 is refused", () => {
  const key = parsePublicKey(spkiOf(newKey("ecdsa-p256").publicKey));
  if (key.family !== "ec") throw new Error("an EC key is one");
  expect(codes({ ...key, curve: "1.3.132.0.10" })).toEqual(["ec_curve"]);
});

test("Ed25519 points of low order, off the curve or of a wrong length are refused", () => {
  const lowOrder = [
    "0100000000000000000000000000000000000000000000000000000000000000",
    "0000000000000000000000000000000000000000000000000000000000000000",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    "0100000000000000000000000000000000000000000000000000000000000080",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
  ];
  const beyondPrime = "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f";
  const offCurve = `02${"00".repeat(31)}`;
  for (const hex of [...lowOrder, beyondPrime, offCurve]) {
    expect(codes(ed25519(Uint8Array.fromHex(hex)))).toEqual(["ed25519_point"]);
  }
  expect(codes(ed25519(new Uint8Array(31)))).toEqual(["ed25519_point"]);
});

test("a key of an unknown algorithm is refused because nothing can be said about it", () => {
  const key: PublicKey = {
    spki: new Uint8Array(),
    keyType: undefined,
    family: "unknown",
    oid: "1.3.101.110",
  };
  expect(codes(key)).toEqual(["unknown_key"]);
});

test("every check cites its clause and no id occurs twice", () => {
  expect(new Set(keyRules.map(({ id }) => id)).size).toBe(keyRules.length);
  for (const { clause } of keyRules) expect(clause).not.toBe("");
});

test("RFC 9881 §4: an ML-DSA key has exactly the octets of its set", () => {
  for (const [keyType, octets] of [
    ["ml-dsa-44", 1312],
    ["ml-dsa-65", 1952],
    ["ml-dsa-87", 2592],
  ] as const) {
    const fresh = parsePublicKey(spkiOf(newKey(keyType).publicKey));
    expect(codes(fresh)).toEqual([]);
    for (const length of [0, octets - 1, octets + 1]) {
      const wrong: PublicKey = {
        spki: fresh.spki,
        keyType,
        family: "ml-dsa",
        raw: new Uint8Array(length),
      };
      expect(codes(wrong, { ...strictKeyChecks, disabled: true })).toEqual(["pq_length"]);
    }
  }
});

test("an ML-KEM key is refused, because nobody can prove to have it", () => {
  const kem: PublicKey = {
    spki: new Uint8Array(),
    keyType: undefined,
    family: "unknown",
    oid: "2.16.840.1.101.3.4.4.2",
  };
  expect(codes(kem)).toContain("pq_length");
});

/** The smallest prime from `start` on. */
function primeFrom(start: bigint): bigint {
  for (let candidate = start | 1n; ; candidate += 2n)
    if (checkPrimeSync(candidate)) return candidate;
}

test("primes so close that Fermat finds them within 100 rounds are refused", () => {
  const p = primeFrom(3n << 1_022n);
  expect(codes(rsa(p * primeFrom(p + 2n)))).toEqual(["close_primes"]);
  expect(codes(rsa(p * p))).toEqual(["small_factor", "close_primes"]);
  // Round k finds factors 2·√(2·k·√n) apart; these are far beyond the hundredth.
  expect(codes(rsa(p * primeFrom(p + (1n << 520n))))).toEqual([]);
});

test("a modulus of the ROCA generator is refused, one that misses a single residue is not", () => {
  // CVE-2017-15361: p = k·M + (65537^a mod M), M the product of the first 126 primes for 2048 bits.
  const product = primesBelow(702).reduce((sum, prime) => sum * BigInt(prime), 1n);
  const weakPrime = (exponent: number, k: bigint) => {
    let residue = 1n;
    for (let i = 0; i < exponent; i++) residue = (residue * 65_537n) % product;
    for (let multiple = k; ; multiple += 1n) {
      const candidate = multiple * product + residue;
      if (checkPrimeSync(candidate)) return candidate;
    }
  };
  const p = weakPrime(1_234, 1n << 56n);
  const q = weakPrime(98_765, (1n << 56n) + 987_654_321n);
  expect(codes(rsa(p * q))).toContain("roca");
  expect(looksLikeRoca(p * q + 2n * (product / 11n))).toBe(false);
});

test("what store and blocklists know about a key refuses it, each under its own name", () => {
  expect(codes(good, strictKeyChecks, { weak: true })).toEqual(["debian_weak_key"]);
  expect(codes(good, strictKeyChecks, { blocked: true })).toEqual(["blocked_key"]);
  expect(codes(good, strictKeyChecks, { own: true })).toEqual(["own_key"]);
  expect(codes(good, strictKeyChecks, { duplicate: true })).toEqual(["duplicate_key"]);
});

test("a profile may relax the lists of weak and duplicate keys, never those of blocked and own ones", () => {
  const all = {
    prime: false,
    weak: true,
    blocked: true,
    own: true,
    account: false,
    duplicate: true,
  };
  const relaxed = { ...strictKeyChecks, mode: "warn" as const };
  const modes = checkKey(good, relaxed, all).map(({ code, mode }) => `${code} ${mode}`);
  expect(modes).toEqual([
    "debian_weak_key warn",
    "blocked_key error",
    "own_key error",
    "duplicate_key warn",
  ]);
  const disabled = { ...strictKeyChecks, disabled: true };
  expect(codes(good, disabled, all)).toEqual(["blocked_key", "own_key"]);
});
