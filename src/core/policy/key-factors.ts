/** Cheap factors of an RSA modulus: primes below 10,000, and the modulus being a power. */

import { once } from "#core/once.ts";

/** True when a prime below 10,000 divides n (n odd, above 10,000). */
export function hasSmallFactor(n: bigint): boolean {
  for (const group of groups()) {
    // One long division per kilobit group, then short ones: a third of the time of dividing by each
    // prime.
    const rest = n % group.product;
    for (const { product, primes } of group.members) {
      const remainder = Number(rest % product);
      if (primes.some((prime) => remainder % prime === 0)) return true;
    }
  }
  return false;
}

/**
 * True when n = m^k for a k ≥ 2, so also for every power of a prime. n has no factor below 10,000,
 * which bounds k. A k survives only if n is a k-th power modulo several primes; the root is taken
 * for those alone.
 */
export function isPerfectPower(n: bigint): boolean {
  const exponentMax = Math.floor(n.toString(2).length / 13) + 1;
  for (const k of smallPrimes()) {
    if (k > exponentMax) return false;
    if (looksLikePower(n, k) && integerRoot(n, k) ** BigInt(k) === n) return true;
  }
  return false;
}

function looksLikePower(n: bigint, k: number): boolean {
  return (witnesses().get(k) ?? []).every((q) => {
    const residue = Number(n % BigInt(q));
    return residue === 0 || powerModulo(residue, (q - 1) / k, q) === 1;
  });
}

function powerModulo(base: number, exponent: number, modulus: number): number {
  let result = 1;
  let power = base % modulus;
  for (let rest = exponent; rest > 0; rest = Math.floor(rest / 2)) {
    if (rest % 2 === 1) result = (result * power) % modulus;
    power = (power * power) % modulus;
  }
  return result;
}

/** ⌊n^(1/k)⌋ for k ≥ 1, by Newton's method from above. */
export function integerRoot(n: bigint, k: number): bigint {
  const degree = BigInt(k);
  let root = 1n << BigInt(Math.ceil(n.toString(2).length / k));
  for (;;) {
    const next = ((degree - 1n) * root + n / root ** (degree - 1n)) / degree;
    if (next >= root) return root;
    root = next;
  }
}

/** All primes smaller than `limit`, ascending. */
export function primesBelow(limit: number): readonly number[] {
  const composite = new Uint8Array(limit);
  const primes: number[] = [];
  for (let candidate = 2; candidate < limit; candidate++) {
    if (composite[candidate] === 1) continue;
    primes.push(candidate);
    for (let multiple = candidate * candidate; multiple < limit; multiple += candidate) {
      composite[multiple] = 1;
    }
  }
  return primes;
}

function chunks<T>(items: readonly T[], size: number): readonly (readonly T[])[] {
  const out: (readonly T[])[] = [];
  for (let at = 0; at < items.length; at += size) out.push(items.slice(at, at + size));
  return out;
}

const smallPrimes = once(() => primesBelow(10_000));

/**
 * For each k, primes q ≡ 1 (mod k), where only one residue in k is a k-th power; small k want more
 * of them.
 */
const witnesses = once((): ReadonlyMap<number, readonly number[]> => {
  const primes = smallPrimes();
  const of = (k: number) => primes.filter((q) => q > 2 && q % k === 1).slice(0, k < 5 ? 12 : 4);
  return new Map(primes.filter((k) => k < 640).map((k) => [k, of(k)]));
});

/** Three primes below 10,000 multiply to less than 2^53, so their remainder is an exact number. */
const groups = once(() =>
  chunks(chunks(smallPrimes().slice(1), 3), 25).map((members) => {
    const products = members.map((primes) => ({
      primes,
      product: primes.reduce((product, prime) => product * BigInt(prime), 1n),
    }));
    return {
      members: products,
      product: products.reduce((product, member) => product * member.product, 1n),
    };
  }),
);
