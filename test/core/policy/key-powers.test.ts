/** Roots and perfect powers of RSA moduli, also of moduli that an attacker built. */

import { expect, test } from "bun:test";
import { randomBytes } from "node:crypto";

import { primesBelow } from "#core/policy/key-factors.ts";
import { isPerfectPower, isSquare, squareRoot } from "#core/policy/key-powers.ts";

const exponents = primesBelow(617);

/** Returns a random odd number of exactly `bits` bits. */
function randomOdd(bits: number): bigint {
  const number = BigInt(`0x${randomBytes(Math.ceil(bits / 8)).toHex()}`);
  return BigInt.asUintN(bits - 1, number) | (1n << BigInt(bits - 1)) | 1n;
}

test("every power of up to 8192 bits is found, for all exponents", () => {
  for (const k of exponents) {
    for (const size of [2048, 4096, 8192]) {
      const bits = Math.floor(size / k);
      if (bits < 15) continue;
      const power = randomOdd(bits) ** BigInt(k);
      expect([k, size, isPerfectPower(power)]).toEqual([k, size, true]);
    }
  }
  // The largest exponent that a modulus without small factors can have.
  expect(isPerfectPower(10_007n ** 613n)).toBe(true);
});

test("a number next to a power is not a power", () => {
  for (const k of exponents) {
    const bits = Math.floor(8192 / k);
    if (bits < 15) continue;
    const power = randomOdd(bits) ** BigInt(k);
    for (const neighbor of [power + 2n, power - 2n, power + (1n << 64n)]) {
      expect([k, isPerfectPower(neighbor)]).toEqual([k, false]);
    }
  }
});

test("a modulus that is a power in all of its low digits is not a power", () => {
  for (const k of [2, 3, 5, 7, 13, 101, 613]) {
    const root = randomOdd(Math.max(15, Math.floor(8192 / k)));
    for (const low of [64, 1024, 2731, 4096]) {
      const modulus = BigInt.asUintN(low, root ** BigInt(k)) | (1n << 8191n);
      expect([k, low, isPerfectPower(modulus)]).toEqual([k, low, false]);
    }
  }
});

test("a modulus that is a power modulo many primes is not a power", () => {
  const modulus = primesBelow(5500).reduce((sum, prime) => sum * BigInt(prime), 1n) + 1n;
  expect(isPerfectPower(modulus)).toBe(false);
  expect(isPerfectPower(modulus ** 3n)).toBe(true);
});

test("the square root is the largest integer whose square is not larger", () => {
  for (let bits = 2; bits < 4200; bits += bits < 130 ? 1 : 97) {
    const number = randomOdd(bits);
    for (const n of [number, number * number, number * number - 1n, number * number + 1n]) {
      const root = squareRoot(n);
      expect(root * root <= n && (root + 1n) * (root + 1n) > n).toBe(true);
    }
    expect([isSquare(number * number), isSquare(number * number + 1n)]).toEqual([true, false]);
  }
  expect([0n, 1n, 3n, 4n].map(squareRoot)).toEqual([0n, 1n, 1n, 2n]);
});
