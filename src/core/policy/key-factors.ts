/** Small prime factors of an RSA modulus. */

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
