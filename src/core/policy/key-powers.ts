/**
 * Square roots and perfect powers of RSA moduli, at a bounded cost for every number: an attacker
 * chooses the modulus.
 */

import { primesBelow } from "./key-factors.ts";

/**
 * True if n = m^k for a k ≥ 2, so also for every power of a prime.
 *
 * @param n odd, without a prime factor below 10,000, which bounds k
 */
export function isPerfectPower(n: bigint): boolean {
  if (isSquare(n)) return true;
  const size = logarithm(n);
  const low = lowBits(n);
  for (const k of exponents) {
    if (k * leastFactorBits > size) return false;
    const root = oddRoot(n, k, { low, bits: Math.floor(size / k) + 2 });
    // No other number can be the root. Its size excludes nearly all, before the power is computed.
    if (Math.abs(k * logarithm(root) - size) < tolerance && root ** BigInt(k) === n) return true;
  }
  return false;
}

/** True if n ≥ 0 is the square of an integer. */
export function isSquare(n: bigint): boolean {
  if (!squares64.has(Number(n & 63n))) return false;
  // One residue in 1,600 is a square modulo all of these: roots are rarely computed.
  const rest = Number(n % screenProduct);
  if (!screens.every(({ modulus, squares }) => squares.has(rest % modulus))) return false;
  const root = squareRoot(n);
  return root * root === n;
}

/** Returns ⌊√n⌋ for n ≥ 0, with two or three divisions for each doubling of the precision. */
export function squareRoot(n: bigint): bigint {
  const bits = bitLength(n);
  // Up to here the rounded root of the runtime is exact.
  if (bits <= 52) return BigInt(Math.floor(Math.sqrt(Number(n))));
  const shift = BigInt(bits >> 2);
  // Newton's method converges from above; the upper half of the digits is right at the start.
  let root = (squareRoot(n >> (2n * shift)) + 1n) << shift;
  for (;;) {
    const next = (root + n / root) >> 1n;
    if (next >= root) return root;
    root = next;
  }
}

/**
 * Returns the only r < 2^bits (2^32 if bits is smaller) with r^k ≡ n modulo that power of two, for
 * odd n and k. If n has a k-th root of at most `bits` bits, it is this number. Newton's method for
 * the inverse of the root needs no division, and each step doubles the number of correct bits.
 */
function oddRoot(
  n: bigint,
  k: number,
  { low, bits }: { readonly low: number; readonly bits: number },
): bigint {
  const start = inverseRoot32(low, k);
  if (bits <= startBits) return BigInt(Math.imul(low, power32(start, k - 1)) >>> 0);
  const steps = [bits];
  while ((steps.at(-1) ?? 0) > 2 * startBits) steps.push(Math.ceil((steps.at(-1) ?? 0) / 2));
  const degree = BigInt(k);
  let inverse = BigInt(inverse32(k) >>> 0);
  let y = BigInt(start >>> 0);
  for (const precision of steps.reverse()) {
    const cut = (value: bigint) => BigInt.asUintN(precision, value);
    inverse = cut(inverse * (2n - degree * inverse));
    const error = cut(cut(n) * powerOfTwoModulus(y, k, precision));
    y = cut(y * cut((degree + 1n - error) * inverse));
  }
  return BigInt.asUintN(bits, n * powerOfTwoModulus(y, k - 1, bits));
}

/** Returns base^exponent modulo 2^bits. */
function powerOfTwoModulus(base: bigint, exponent: number, bits: number): bigint {
  let result = 1n;
  let square = base;
  for (let rest = exponent; ; ) {
    if (rest % 2 === 1) result = BigInt.asUintN(bits, result * square);
    rest = Math.floor(rest / 2);
    if (rest === 0) return result;
    square = BigInt.asUintN(bits, square * square);
  }
}

/** Returns n^(−1/k) modulo 2^32 for odd n and k, as a signed number. */
function inverseRoot32(n: number, k: number): number {
  const inverse = inverse32(k);
  let y = 1;
  for (let correct = 1; correct < startBits; correct *= 2) {
    const error = Math.imul(n, power32(y, k));
    y = Math.imul(y, Math.imul(k + 1 - error, inverse));
  }
  return y;
}

/** Returns 1/k modulo 2^32 for odd k, as a signed number. */
function inverse32(k: number): number {
  // k² ≡ 1 modulo 8: three bits are correct at the start.
  let inverse = k;
  for (let correct = 3; correct < startBits; correct *= 2) {
    inverse = Math.imul(inverse, 2 - Math.imul(k, inverse));
  }
  return inverse;
}

function power32(base: number, exponent: number): number {
  let result = 1;
  let square = base;
  for (let rest = exponent; rest > 0; rest >>= 1) {
    if ((rest & 1) === 1) result = Math.imul(result, square);
    square = Math.imul(square, square);
  }
  return result;
}

const lowBits = (n: bigint): number => Number(BigInt.asIntN(startBits, n));

function bitLength(n: bigint): number {
  const hex = n.toString(16);
  return 4 * hex.length - Math.clz32(Number.parseInt(hex.charAt(0), 16)) + 28;
}

/** Returns the binary logarithm, with an error below 10^-11 for moduli of up to 8192 bits. */
function logarithm(n: bigint): number {
  const shift = Math.max(0, bitLength(n) - 64);
  return Math.log2(Number(n >> BigInt(shift))) + shift;
}

const squaresModulo = (modulus: number): ReadonlySet<number> =>
  new Set(Array.from({ length: modulus }, (_, root) => (root * root) % modulus));

const startBits = 32;
const tolerance = 1e-9;
/** Logarithm of the least number that can be a factor. */
const leastFactorBits = Math.log2(10_000);
/** Odd primes up to the largest exponent of a modulus of 8192 bits. */
const exponents = primesBelow(620).slice(1);
const squares64 = squaresModulo(64);
const screens = [63, 65, 11, 17, 19, 23, 29].map((modulus) => ({
  modulus,
  squares: squaresModulo(modulus),
}));
/** Smaller than 2^53, so that the remainder is an exact number. */
const screenProduct = screens.reduce((product, { modulus }) => product * BigInt(modulus), 1n);
