/**
 * What an RSA modulus tells about how its primes were made: too close together, or by the generator
 * of ROCA.
 */

import { primesBelow } from "./key-factors.ts";
import { isSquare, squareRoot } from "./key-powers.ts";

/**
 * True when Fermat's method splits n (odd) within `rounds` rounds, so when its factors lie close
 * together.
 */
export function hasCloseFactors(n: bigint, rounds: number): boolean {
  let a = squareRoot(n);
  if (a * a < n) a += 1n;
  let rest = a * a - n;
  for (let round = 0; round < rounds; round++) {
    if (isSquare(rest)) return true;
    // (a + 1)² − n, from a² − n.
    rest += 2n * a + 1n;
    a += 1n;
  }
  return false;
}

/**
 * True when n is, modulo every prime below 354, a power of 65537: what CVE-2017-15361 leaves in
 * every modulus of 992 bits and more, and chance in fewer than one of 2^80.
 */
export function looksLikeRoca(n: bigint): boolean {
  const rest = n % rocaProduct;
  return rocaResidues.every(({ prime, powers }) => powers.has(Number(rest % prime)));
}

function powersOf(generator: number, prime: number): ReadonlySet<number> {
  const powers = new Set<number>();
  for (let power = 1; !powers.has(power); power = (power * generator) % prime) powers.add(power);
  return powers;
}

const rocaPrimes = primesBelow(354).slice(1);
const rocaProduct = rocaPrimes.reduce((product, prime) => product * BigInt(prime), 1n);

/** Rarest powers first, so that a good modulus leaves early. */
const rocaResidues = rocaPrimes
  .map((prime) => ({ prime: BigInt(prime), powers: powersOf(65_537 % prime, prime) }))
  .sort((a, b) => a.powers.size * Number(b.prime) - b.powers.size * Number(a.prime));
