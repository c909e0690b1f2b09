/**
 * SLH-DSA with SHA2 and small signatures (FIPS 205, RFC 9909): what the runtime's cryptography
 * lacks, for verification.
 */

import {
  slh_dsa_sha2_128s,
  slh_dsa_sha2_192s,
  slh_dsa_sha2_256s,
} from "@noble/post-quantum/slh-dsa.js";

import {
  type SlhDsaDigest,
  slhDsaHash,
  slhDsaMessagePrefix,
  type SlhDsaSizes,
  verifySlhDsa,
} from "./slh-dsa-verify.ts";

/** The parameter sets, by the names of the key types. */
export const slhDsaSets = {
  "slh-dsa-sha2-128s": slh_dsa_sha2_128s,
  "slh-dsa-sha2-192s": slh_dsa_sha2_192s,
  "slh-dsa-sha2-256s": slh_dsa_sha2_256s,
} as const;

/** FIPS 205, table 2. */
const sizes = {
  "slh-dsa-sha2-128s": { n: 16, h: 63, d: 7, a: 12, k: 14 },
  "slh-dsa-sha2-192s": { n: 24, h: 63, d: 7, a: 14, k: 17 },
  "slh-dsa-sha2-256s": { n: 32, h: 64, d: 8, a: 14, k: 22 },
} as const satisfies Record<keyof typeof slhDsaSets, SlhDsaSizes>;

export type SlhDsaSet = keyof typeof slhDsaSets;

/** The parameter set of this name; undefined for the names of other keys and signatures. */
export const slhDsaSet = (name: string): SlhDsaSet | undefined =>
  name in slhDsaSets ? (name as SlhDsaSet) : undefined; // A key of the table.

/** Public key that is ready for verification. */
export class SlhDsaPublicKey {
  readonly set: SlhDsaSet;
  readonly #raw: Uint8Array;

  constructor(set: SlhDsaSet, raw: Uint8Array) {
    this.set = set;
    this.#raw = raw;
  }

  /** Hash of the message with the bytes of `messagePrefix` before it. */
  get hash(): "sha256" | "sha512" {
    return slhDsaHash(sizes[this.set]);
  }

  /** Returns the bytes that are hashed before the message. */
  messagePrefix(signature: Uint8Array): Uint8Array {
    return slhDsaMessagePrefix(sizes[this.set], this.#raw, signature);
  }

  /**
   * Verifies in steps: pure mode, empty context (RFC 9909 §3).
   *
   * @param messageDigest digest of prefix and message
   */
  verify(
    messageDigest: Uint8Array,
    signature: Uint8Array,
    digest: SlhDsaDigest,
  ): Generator<void, boolean> {
    const publicKey = this.#raw;
    return verifySlhDsa({ sizes: sizes[this.set], publicKey, signature, messageDigest, digest });
  }
}

/**
 * The key in a SubjectPublicKeyInfo of exactly the right length; undefined for every other kind of
 * key.
 */
export function readSlhDsaKey(spki: Uint8Array): SlhDsaPublicKey | undefined {
  for (const [set, head] of heads) {
    if (spki.length !== head.length + rawOctets(set)) continue;
    if (head.every((octet, at) => spki[at] === octet)) {
      return new SlhDsaPublicKey(set, spki.slice(head.length));
    }
  }
  return undefined;
}

/**
 * SubjectPublicKeyInfo, DER: the raw key behind an AlgorithmIdentifier without parameters (RFC 9909
 * §4).
 */
export function slhDsaSpki(set: SlhDsaSet, raw: Uint8Array): Uint8Array {
  const head = heads.get(set) ?? [];
  return Uint8Array.of(...head, ...raw);
}

const rawOctets = (set: SlhDsaSet): number => slhDsaSets[set].lengths.publicKey ?? 0;

/**
 * All that stands before the raw key; the last arc of 2.16.840.1.101.3.4.3 tells the sets apart.
 */
const head = (raw: number, arc: number): readonly number[] => [
  0x30,
  raw + 16,
  0x30,
  0x0b,
  0x06,
  0x09,
  0x60,
  0x86,
  0x48,
  0x01,
  0x65,
  0x03,
  0x04,
  0x03,
  arc,
  0x03,
  raw + 1,
  0x00,
];

const heads: ReadonlyMap<SlhDsaSet, readonly number[]> = new Map<SlhDsaSet, readonly number[]>([
  ["slh-dsa-sha2-128s", head(32, 20)],
  ["slh-dsa-sha2-192s", head(48, 22)],
  ["slh-dsa-sha2-256s", head(64, 24)],
]);
