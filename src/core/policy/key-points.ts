/** Whether the point of an elliptic-curve key lies where it must. */

/**
 * What is wrong with an uncompressed point of a NIST curve: compressed, of the wrong length, out of
 * range or off the curve; undefined when it is right. A curve this does not know is another check's
 * business.
 */
export function ecPointFault(curve: string, point: Uint8Array): string | undefined {
  const parameters = curves.get(curve);
  if (parameters === undefined) return undefined;
  const { octets, p, b } = parameters;
  if (point[0] !== 4) return "the point is not uncompressed";
  if (point.length !== 1 + 2 * octets) return "the point has the wrong length";
  const x = unsigned(point.subarray(1, 1 + octets));
  const y = unsigned(point.subarray(1 + octets));
  if (x >= p || y >= p) return "a coordinate is out of range";
  // SEC 1 §3.2.2.1: y² = x³ − 3x + b; these curves have cofactor 1, so no order check is needed.
  return (y * y - (x * x - 3n) * x - b) % p === 0n ? undefined : "the point is not on the curve";
}

/**
 * What is wrong with an Ed25519 point: wrong length, y out of range, not on the curve, of low
 * order.
 */
export function ed25519PointFault(point: Uint8Array): string | undefined {
  if (point.length !== 32) return "the point does not have 32 octets";
  const littleEndian = unsigned(Uint8Array.from(point).reverse());
  const y = littleEndian & ((1n << 255n) - 1n);
  if (y >= p25519) return "the y coordinate is out of range";
  if (lowOrderY.has(y)) return "the point has low order";
  // RFC 8032 §5.1.3: x² = (y² − 1) / (d y² + 1) must have a root; u/v is a square exactly when u·v
  // is.
  const u = (y * y - 1n) % p25519;
  const v = (d25519 * y * y + 1n) % p25519;
  const square = (u * v) % p25519;
  return powerModulo(square, (p25519 - 1n) / 2n, p25519) === 1n
    ? undefined
    : "the point is not on the curve";
}

function powerModulo(base: bigint, exponent: bigint, modulus: bigint): bigint {
  let result = 1n;
  let power = ((base % modulus) + modulus) % modulus;
  for (let rest = exponent; rest > 0n; rest >>= 1n) {
    if (rest & 1n) result = (result * power) % modulus;
    power = (power * power) % modulus;
  }
  return result;
}

const unsigned = (octets: Uint8Array): bigint => BigInt(`0x${octets.toHex()}`);

// biome-ignore format: the table is read by column.
const curves: ReadonlyMap<string, { readonly octets: number; readonly p: bigint; readonly b: bigint }> = new Map([
  ["P-256", { octets: 32, p: 0xffffffff00000001000000000000000000000000ffffffffffffffffffffffffn, b: 0x5ac635d8aa3a93e7b3ebbd55769886bc651d06b0cc53b0f63bce3c3e27d2604bn }],
  ["P-384", { octets: 48, p: 0xfffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffeffffffff0000000000000000ffffffffn, b: 0xb3312fa7e23ee7e4988e056be3f82d19181d9c6efe8141120314088f5013875ac656398d8a2ed19d2a85c8edd3ec2aefn }],
  ["P-521", { octets: 66, p: (1n << 521n) - 1n, b: 0x0051953eb9618e1c9a1f929a21a0b68540eea2da725b99b315f3b8b489918ef109e156193951ec7e937b1652c0bd3bb1bf073573df883d2c34f1ef451fd46b503f00n }],
]);

const p25519 = (1n << 255n) - 19n;
const d25519 = 37095705934669439343138083508754565189542113879843219016388785533085940283555n;

/** y of the points whose order divides 8: (0, ±1), (±√−1, 0) and the four of order 8. */
const lowOrderY: ReadonlySet<bigint> = new Set([
  0n,
  1n,
  p25519 - 1n,
  2707385501144840649318225287225658788936804267575313519463743609750303402022n,
  55188659117513257062467267217118295137698188065244968500265048394206261417927n,
]);
