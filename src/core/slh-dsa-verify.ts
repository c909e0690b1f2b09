/**
 * Verification of SLH-DSA signatures with SHA2 (FIPS 205 §5 to §9) in short steps. The runtime
 * lacks it, and a library hashes a long message in one step.
 */

/** Sizes of a parameter set (FIPS 205, table 2), in the notation of the standard. */
export interface SlhDsaSizes {
  readonly n: number;
  /** Height of the hypertree. */
  readonly h: number;
  /** Layers of the hypertree. */
  readonly d: number;
  /** Height of a FORS tree. */
  readonly a: number;
  /** Number of FORS trees. */
  readonly k: number;
}

/** Function that returns the digest of bytes. */
export type SlhDsaDigest = (hash: "sha256" | "sha512", bytes: Uint8Array) => Uint8Array;

/** Hash of messages and trees (FIPS 205 §11.2): SHA-256 in category 1, SHA-512 in others. */
export const slhDsaHash = ({ n }: SlhDsaSizes): "sha256" | "sha512" =>
  n === 16 ? "sha256" : "sha512";

/** Returns the number of bytes of a signature. */
export const slhDsaSignatureBytes = ({ n, h, d, a, k }: SlhDsaSizes): number =>
  n * (1 + k * (1 + a) + h + d * chainCount(n));

/**
 * Returns the bytes that are hashed before the message (FIPS 205 §11.2). They end with the prefix
 * of pure mode for an empty context (FIPS 205 §10.2).
 */
export const slhDsaMessagePrefix = (
  { n }: SlhDsaSizes,
  publicKey: Uint8Array,
  signature: Uint8Array,
): Uint8Array => Buffer.concat([signature.subarray(0, n), publicKey, new Uint8Array(2)]);

/** Signature with its key, and the digest of prefix and message. */
export interface SlhDsaInput {
  readonly sizes: SlhDsaSizes;
  readonly publicKey: Uint8Array;
  readonly signature: Uint8Array;
  readonly messageDigest: Uint8Array;
  readonly digest: SlhDsaDigest;
}

/** Verifies a signature (FIPS 205 §9.3); yields after each layer, about half a millisecond. */
export function* verifySlhDsa(input: SlhDsaInput): Generator<void, boolean> {
  const { sizes, publicKey, signature, messageDigest, digest } = input;
  const { n, h, d, a, k } = sizes;
  if (signature.length !== slhDsaSignatureBytes(sizes)) return false;
  const seed = publicKey.subarray(0, n);
  const [hash, height] = [new TreeHash(seed, sizes, digest), h / d];
  const mask = maskBytes(
    Buffer.concat([signature.subarray(0, n), seed, messageDigest]),
    hash.wide,
    digest,
  );
  const md = mask.subarray(0, Math.ceil((k * a) / 8));
  const treeEnd = md.length + Math.ceil((h - height) / 8);
  let tree = BigInt.asUintN(h - height, parseNumber(mask.subarray(md.length, treeEnd)));
  const leafBytes = mask.subarray(treeEnd, treeEnd + Math.ceil(height / 8));
  let leaf = Number(BigInt.asUintN(height, parseNumber(leafBytes)));
  let at = n;
  const take = (count: number) => {
    at += count * n;
    return signature.subarray(at - count * n, at);
  };

  // FIPS 205 §8.4: the public key of the few-time signature.
  const roots = digits(md, a, k).map((index, of) => {
    const address = { layer: 0, tree, type: forsTree, pair: leaf };
    const node = hash.run({ ...address, last: of * 2 ** a + index }, take(1));
    return climb(hash, address, { node, index, offset: of * 2 ** a, path: take(a) });
  });
  let node = hash.run({ layer: 0, tree, type: forsRoots, pair: leaf }, Buffer.concat(roots), true);
  yield;

  // FIPS 205 §7.2: each layer signs the root of the tree below it.
  for (let layer = 0; layer < d; layer++) {
    const address = { layer, tree, pair: leaf };
    const ends = chainLengths(node, n).map((start, chain) => {
      let value = take(1);
      for (let last = start; last < 15; last++) {
        value = hash.run({ ...address, type: wotsHash, middle: chain, last }, value);
      }
      return value;
    });
    node = hash.run({ ...address, type: wotsKey }, Buffer.concat(ends), true);
    const inTree = { layer, tree, type: hashTree, pair: 0 };
    node = climb(hash, inTree, { node, index: leaf, offset: 0, path: take(height) });
    leaf = Number(BigInt.asUintN(height, tree));
    tree >>= BigInt(height);
    yield;
  }
  return Buffer.compare(node, publicKey.subarray(n)) === 0;
}

/** Position of a hash in the signature (FIPS 205 §4.2). */
interface Address {
  readonly layer: number;
  readonly tree: bigint;
  readonly type: number;
  readonly pair: number;
  /** Chain, or height in a tree. */
  readonly middle?: number;
  /** Step of the chain, or index in a tree. */
  readonly last?: number;
}

/** Hash functions F, H and T of one key (FIPS 205 §11.2). */
class TreeHash {
  readonly wide: "sha256" | "sha512";
  readonly #n: number;
  readonly #seed: Uint8Array;
  readonly #digest: SlhDsaDigest;

  constructor(seed: Uint8Array, sizes: SlhDsaSizes, digest: SlhDsaDigest) {
    this.#seed = seed;
    this.#n = sizes.n;
    this.wide = slhDsaHash(sizes);
    this.#digest = digest;
  }

  /** Hashes one value, or several if `isWide`. */
  run(address: Address, message: Uint8Array, isWide = false): Uint8Array {
    const hash = isWide ? this.wide : "sha256";
    const block = hash === "sha256" ? 64 : 128;
    const bytes = Buffer.alloc(block + addressBytes + message.length);
    bytes.set(this.#seed);
    bytes[block] = address.layer;
    bytes.writeBigUInt64BE(address.tree, block + 1);
    bytes[block + 9] = address.type;
    bytes.writeUInt32BE(address.pair, block + 10);
    bytes.writeUInt32BE(address.middle ?? 0, block + 14);
    bytes.writeUInt32BE(address.last ?? 0, block + 18);
    bytes.set(message, block + addressBytes);
    return this.#digest(hash, bytes).subarray(0, this.#n);
  }
}

/** Computes the root of a tree from a leaf and its authentication path (FIPS 205 §6.3, §8.4). */
function climb(
  hash: TreeHash,
  address: Address,
  {
    node,
    index,
    offset,
    path,
  }: {
    readonly node: Uint8Array;
    readonly index: number;
    readonly offset: number;
    readonly path: Uint8Array;
  },
): Uint8Array {
  const n = node.length;
  let current = node;
  for (let level = 0; level < path.length / n; level++) {
    const sibling = path.subarray(level * n, (level + 1) * n);
    const isRight = Math.floor(index / 2 ** level) % 2 === 1;
    const position = { middle: level + 1, last: Math.floor((offset + index) / 2 ** (level + 1)) };
    const pair = isRight ? [sibling, current] : [current, sibling];
    current = hash.run({ ...address, ...position }, Buffer.concat(pair), true);
  }
  return current;
}

/** Returns the digits of the value and of its checksum in base 16 (FIPS 205 §5.3). */
function chainLengths(value: Uint8Array, n: number): readonly number[] {
  const lengths = digits(value, 4, 2 * n);
  const checksum = lengths.reduce((sum, length) => sum + 15 - length, 0);
  return [...lengths, checksum >> 8, (checksum >> 4) & 15, checksum & 15];
}

/** Returns the first `count` digits in base 2^bits (FIPS 205 §4.4). */
function digits(bytes: Uint8Array, bits: number, count: number): readonly number[] {
  const out: number[] = [];
  let [at, available, total] = [0, 0, 0];
  while (out.length < count) {
    while (available < bits) {
      total = ((total << 8) | (bytes[at++] ?? 0)) & 0xff_ffff;
      available += 8;
    }
    available -= bits;
    out.push((total >> available) & (2 ** bits - 1));
  }
  return out;
}

/** Two blocks of MGF1 (RFC 8017 appendix B.2.1), enough for every parameter set. */
const maskBytes = (seed: Uint8Array, hash: "sha256" | "sha512", digest: SlhDsaDigest) =>
  Buffer.concat(
    [0, 1].map((counter) => digest(hash, Buffer.concat([seed, Uint8Array.of(0, 0, 0, counter)]))),
  );

const parseNumber = (bytes: Uint8Array): bigint => BigInt(`0x${bytes.toHex()}`);

/** Base-16 digits of a value and three of its checksum. */
const chainCount = (n: number): number => 2 * n + 3;

/** Length of a compressed address (FIPS 205 §11.2). */
const addressBytes = 22;
/** Types of addresses (FIPS 205, table 1). */
const [wotsHash, wotsKey, hashTree, forsTree, forsRoots] = [0, 1, 2, 3, 4];
