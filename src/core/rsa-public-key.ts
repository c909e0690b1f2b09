/**
 * RSA keys whose exponent is longer than the runtime's cryptography takes: verification by RFC
 * 8017, in plain arithmetic.
 */

export type RsaHash = "sha256" | "sha384" | "sha512";

/** The digest of octets, as the runtime makes it. */
export type Digest = (hash: RsaHash, octets: Uint8Array) => Uint8Array;

/** Hash and padding of a signature. */
export interface WideRsaScheme {
  readonly hash: RsaHash;
  readonly padding: "pkcs1" | "pss";
  readonly digest: Digest;
}

/** A public key ready for verification. */
export class WideRsaPublicKey {
  readonly #modulus: bigint;
  readonly #exponent: bigint;
  readonly #bits: number;

  constructor(modulus: bigint, exponent: bigint) {
    this.#modulus = modulus;
    this.#exponent = exponent;
    this.#bits = modulus.toString(2).length;
  }

  /**
   * Verifies in steps RSASSA-PKCS1-v1_5 (RFC 8017 §8.2.2), or RSASSA-PSS with MGF1 of the same hash
   * and a salt of its length (RFC 8017 §8.1.2). A step takes less than a millisecond, while the
   * sender of a signature chooses the whole exponent.
   *
   * @param digested digest of the message
   */
  *verify(
    scheme: WideRsaScheme,
    digested: Uint8Array,
    signature: Uint8Array,
  ): Generator<void, boolean> {
    return this.#matches(scheme, digested, yield* this.#encode(signature));
  }

  /** Returns the encoded message in the signature (RFC 8017 §5.2.2); undefined for none. */
  *#encode(signature: Uint8Array): Generator<void, bigint | undefined> {
    const number = numberOf(signature);
    if (signature.length !== Math.ceil(this.#bits / 8) || number >= this.#modulus) return undefined;
    return yield* power(number, this.#exponent, this.#modulus);
  }

  #matches(
    { hash, padding, digest }: WideRsaScheme,
    digested: Uint8Array,
    encoded: bigint | undefined,
  ): boolean {
    if (encoded === undefined) return false;
    const octets = Math.ceil(this.#bits / 8);
    if (padding === "pkcs1") {
      return isSame(octetsOf(encoded, octets), pkcs1(hash, digested, octets));
    }
    const bits = this.#bits - 1;
    const block = octetsOf(encoded, Math.ceil(bits / 8));
    return isPss(block, bits, (...parts) => digest(hash, Buffer.concat(parts)), digested);
  }
}

/**
 * The key in a SubjectPublicKeyInfo with an exponent of more than 33 bits, which the runtime
 * refuses, and up to 256; undefined for every other key, and for moduli beyond 4096 bits, whose
 * arithmetic would hold everybody up.
 */
export function readWideRsaKey(spki: Uint8Array): WideRsaPublicKey | undefined {
  const outer = contentOf(spki, 0, 0x30, spki.length);
  if (outer === undefined || !algorithm.every((octet, at) => spki[outer.start + at] === octet)) {
    return undefined;
  }
  const bits = contentOf(spki, outer.start + algorithm.length, 0x03, outer.end);
  const numbers = bits && contentOf(spki, bits.start + 1, 0x30, bits.end);
  const modulus = numbers && contentOf(spki, numbers.start, 0x02);
  const exponent = modulus && contentOf(spki, modulus.end, 0x02, numbers.end);
  if (modulus === undefined || exponent === undefined) return undefined;
  const [n, e] = [modulus, exponent].map(({ start, end }) => spki.subarray(start, end));
  if (n === undefined || e === undefined || n.length > 513 || e.length > 33) return undefined;
  const key = { modulus: numberOf(n), exponent: numberOf(e) };
  const isWide = key.exponent >> 33n !== 0n && key.modulus % 2n === 1n;
  return isWide ? new WideRsaPublicKey(key.modulus, key.exponent) : undefined;
}

/**
 * Where the content of an element is; undefined unless it has the tag and, where one is given, that
 * very end.
 */
function contentOf(octets: Uint8Array, at: number, tag: number, end?: number) {
  const first = octets[at + 1] ?? 0;
  const more = first < 0x80 ? 0 : first - 0x80;
  if (octets[at] !== tag || more > 2) return undefined;
  const start = at + 2 + more;
  const length = more === 0 ? first : Number(numberOf(octets.subarray(at + 2, start)));
  const found = { start, end: start + length };
  const isWhole = found.end <= octets.length && (end === undefined || found.end === end);
  return isWhole ? found : undefined;
}

/** RFC 8017 §9.2: the one encoding of the digest, to be compared as a whole. */
function pkcs1(hash: RsaHash, digest: Uint8Array, length: number): Uint8Array {
  const prefix = Uint8Array.fromHex(digestInfos[hash]);
  const encoded = new Uint8Array(length).fill(0xff);
  encoded.set([0, 1]);
  encoded[length - digest.length - prefix.length - 1] = 0;
  encoded.set(prefix, length - digest.length - prefix.length);
  encoded.set(digest, length - digest.length);
  return encoded;
}

/** RFC 8017 §9.1.2. */
function isPss(
  encoded: Uint8Array,
  bits: number,
  hash: (...parts: readonly Uint8Array[]) => Uint8Array,
  digest: Uint8Array,
): boolean {
  const { length } = digest;
  const blockLength = encoded.length - length - 1;
  if (blockLength < length + 1 || encoded.at(-1) !== 0xbc) return false;
  const seed = encoded.subarray(blockLength, -1);
  const block = encoded.slice(0, blockLength);
  const unused = 8 * encoded.length - bits;
  if (((block[0] ?? 0) & ~(0xff >> unused)) !== 0) return false;
  for (const [at, octet] of mask(hash, seed, blockLength).entries()) {
    block[at] = (block[at] ?? 0) ^ octet;
  }
  block[0] = (block[0] ?? 0) & (0xff >> unused);
  const zeros = block.subarray(0, -length - 1);
  if (zeros.some((octet) => octet !== 0) || block.at(-length - 1) !== 1) return false;
  return isSame(seed, hash(new Uint8Array(8), digest, block.subarray(-length)));
}

/** MGF1, appendix B.2.1. */
function mask(
  hash: (...parts: readonly Uint8Array[]) => Uint8Array,
  seed: Uint8Array,
  length: number,
): Uint8Array {
  const out: number[] = [];
  for (let counter = 0; out.length < length; counter++) {
    out.push(...hash(seed, Uint8Array.of(0, 0, counter >> 8, counter)));
  }
  return Uint8Array.from(out.slice(0, length));
}

/** Computes base^exponent modulo the modulus; yields after each part of the work. */
function* power(base: bigint, exponent: bigint, modulus: bigint): Generator<void, bigint> {
  let result = 1n;
  let done = 0;
  for (const bit of exponent.toString(2)) {
    result = (result * result) % modulus;
    if (bit === "1") result = (result * base) % modulus;
    if (++done % bitsPerStep === 0) yield;
  }
  return result;
}

const numberOf = (octets: Uint8Array): bigint => BigInt(`0x${octets.toHex() || "0"}`);

const octetsOf = (number: bigint, length: number): Uint8Array =>
  Uint8Array.fromHex(number.toString(16).padStart(length * 2, "0"));

/** Of public values: nothing is told by the time it takes. */
const isSame = (a: Uint8Array, b: Uint8Array): boolean => Buffer.compare(a, b) === 0;

/** The AlgorithmIdentifier of rsaEncryption with NULL (RFC 3279 §2.3.1). */
const algorithm = Uint8Array.fromHex("300d06092a864886f70d0101010500");

/** Bits of the exponent that one step covers: up to 32 multiplications of 4096 bits. */
const bitsPerStep = 16;

/** RFC 8017 §9.2 note 1: what stands before the digest. */
const digestInfos = {
  sha256: "3031300d060960864801650304020105000420",
  sha384: "3041300d060960864801650304020205000430",
  sha512: "3051300d060960864801650304020305000440",
} as const;
