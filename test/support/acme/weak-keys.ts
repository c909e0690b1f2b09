/** Account keys whose private key can be computed, which sign as any other. */

import { checkPrimeSync, createPrivateKey, createPublicKey } from "node:crypto";

import { keyOf, type SigningKey } from "./keys.ts";

/** Returns an RSA key of 2048 bits whose primes follow each other. */
export function closePrimesKey(): SigningKey {
  const p = findPrime((3n << 1022n) + 1n);
  const privateKey = createPrivateKey({ key: rsaJwk(p, findPrime(p + 2n)), format: "jwk" });
  return keyOf("RS256", { privateKey, publicKey: createPublicKey(privateKey) });
}

/** Returns the private key of two primes as a JSON Web Key (RFC 7518 §6.3). */
export function rsaJwk(p: bigint, q: bigint) {
  const exponent = 65_537n;
  const d = computeInverse(exponent, (p - 1n) * (q - 1n));
  const numbers = {
    n: p * q,
    e: exponent,
    d,
    p,
    q,
    dp: d % (p - 1n),
    dq: d % (q - 1n),
    qi: computeInverse(q, p),
  };
  const fields = Object.entries(numbers).map(([name, number]) => [name, base64url(number)]);
  return { kty: "RSA", ...Object.fromEntries(fields) };
}

/** Returns the smallest prime that is `start` or larger; `start` must be odd. */
function findPrime(start: bigint): bigint {
  for (let candidate = start; ; candidate += 2n) if (checkPrimeSync(candidate)) return candidate;
}

/** Returns the inverse of a modulo m, by the extended Euclidean algorithm. */
function computeInverse(a: bigint, m: bigint): bigint {
  let [rest, next] = [m, a % m];
  let [factor, nextFactor] = [0n, 1n];
  while (next !== 0n) {
    const quotient = rest / next;
    [rest, next] = [next, rest - quotient * next];
    [factor, nextFactor] = [nextFactor, factor - quotient * nextFactor];
  }
  return ((factor % m) + m) % m;
}

function base64url(number: bigint): string {
  const hex = number.toString(16);
  return Buffer.from(hex.padStart(hex.length + (hex.length % 2), "0"), "hex").toString("base64url");
}
