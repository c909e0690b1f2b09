/**
 * Keys that PKCS#12 makes of passphrases, and the ciphers they are for (RFC 7292 §5 and appendix B,
 * RFC 8018).
 */

import { createCipheriv, createDecipheriv, createHash, pbkdf2Sync } from "node:crypto";

import type { Cursor } from "#core/asn1/cursor.ts";
import { DerError, openSequence } from "#core/asn1/cursor.ts";
import { integer, nullElement, octetString, oid, sequence } from "#core/asn1/der.ts";
import { tags } from "#core/asn1/tags.ts";

/**
 * How the bags of a store are encrypted: as today's tools do it, or as those did that know nothing
 * else.
 */
export type BagCipher = "aes-256" | "3des";

/** Digests of macs and key derivations. */
export type StoreHash = "sha1" | "sha256" | "sha384" | "sha512";

/** What a key from the derivation of appendix B is for. */
export const purposes = { cipher: 1, iv: 2, mac: 3 } as const;

/** Appendix B.2: octets from a passphrase, written as B.1 has it. */
export function pkcs12Key(
  passphrase: string,
  salt: Uint8Array,
  of: {
    readonly hash: StoreHash;
    readonly iterations: number;
    readonly purpose: (typeof purposes)[keyof typeof purposes];
    readonly length: number;
  },
): Buffer {
  const block = of.hash === "sha1" || of.hash === "sha256" ? 64 : 128;
  const filled = (octets: Uint8Array) =>
    Buffer.alloc(Math.ceil(octets.length / block) * block).map(
      (_, at) => octets[at % octets.length] ?? 0,
    );
  const input = Buffer.concat([filled(salt), filled(bmpText(passphrase))]);
  const diversifier = Buffer.alloc(block, of.purpose);
  const parts: Buffer[] = [];
  for (let length = 0; length < of.length; ) {
    let digest = createHash(of.hash).update(diversifier).update(input).digest();
    for (let n = 1; n < of.iterations; n++) digest = createHash(of.hash).update(digest).digest();
    parts.push(digest);
    length += digest.length;
    addToBlocks(input, digest, block);
  }
  return Buffer.concat(parts).subarray(0, of.length);
}

/** An encrypted content with the AlgorithmIdentifier that says how. */
export interface Sealed {
  readonly algorithm: Uint8Array;
  readonly octets: Uint8Array;
}

/** Encrypts for a passphrase. */
export function seal(content: Uint8Array, passphrase: string, cipher: BagCipher): Sealed {
  const salt = crypto.getRandomValues(new Uint8Array(16));
  if (cipher === "3des") {
    const algorithm = sequence(oid(tripleDes), sequence(octetString(salt), integer(iterations)));
    const { key, iv } = tripleDesKeys(passphrase, salt, iterations);
    const sealing = createCipheriv("des-ede3-cbc", key, iv);
    return { algorithm, octets: Buffer.concat([sealing.update(content), sealing.final()]) };
  }
  const iv = crypto.getRandomValues(new Uint8Array(16));
  const key = pbkdf2Sync(passphrase, salt, iterations, 32, "sha256");
  const derivation = sequence(
    oid(pbkdf2),
    sequence(octetString(salt), integer(iterations), sequence(oid(hmacSha256), nullElement())),
  );
  const algorithm = sequence(
    oid(pbes2),
    sequence(derivation, sequence(oid(aes256), octetString(iv))),
  );
  const sealing = createCipheriv("aes-256-cbc", key, iv);
  return { algorithm, octets: Buffer.concat([sealing.update(content), sealing.final()]) };
}

/**
 * The iterations one store may cost, whatever it says and however many parts it has: they come from
 * whoever made it, and hold the shell. Throws DerError beyond them.
 */
export class Iterations {
  #left = iterationsMax;

  take(rounds: number): number {
    if (rounds < 1 || rounds > this.#left) throw new DerError("the iterations are out of range");
    this.#left -= rounds;
    return rounds;
  }
}

/**
 * Decrypts; undefined for another passphrase or an algorithm nobody uses any more. Throws DerError
 * for malformed DER.
 */
export function unseal(
  { algorithm, octets }: Sealed,
  passphrase: string,
  allowed: Iterations,
): Uint8Array | undefined {
  const opened = openSequence(algorithm);
  const name = opened.oid();
  const parameters = opened.enter(tags.sequence);
  const cipher = name === pbes2 ? readPbes2(parameters, passphrase, allowed) : undefined;
  const legacy = name === tripleDes ? readTripleDes(parameters, passphrase, allowed) : undefined;
  const chosen = cipher ?? legacy;
  if (chosen === undefined) return undefined;
  try {
    const opening = createDecipheriv(chosen.cipher, chosen.key, chosen.iv);
    return new Uint8Array(Buffer.concat([opening.update(octets), opening.final()]));
  } catch {
    return undefined; // The padding is wrong: so is the passphrase.
  }
}

function readPbes2(parameters: Cursor, passphrase: string, allowed: Iterations) {
  const derivation = parameters.enter(tags.sequence);
  if (derivation.oid() !== pbkdf2) return undefined;
  const values = derivation.enter(tags.sequence);
  const salt = values.octetString();
  const rounds = allowed.take(values.small());
  if (values.tag === tags.integer) values.small();
  const hash = values.finished ? "sha1" : prfs.get(values.enter(tags.sequence).oid());
  const scheme = parameters.enter(tags.sequence);
  const cipher = ciphers.get(scheme.oid());
  if (hash === undefined || cipher === undefined) return undefined;
  const key = pbkdf2Sync(passphrase, salt, rounds, cipher.length, hash);
  return { cipher: cipher.name, key, iv: scheme.octetString() };
}

function readTripleDes(parameters: Cursor, passphrase: string, allowed: Iterations) {
  const salt = parameters.octetString();
  const rounds = parameters.small();
  // Two blocks of the key and one of the vector.
  for (let block = 0; block < 3; block++) allowed.take(rounds);
  return { cipher: "des-ede3-cbc", ...tripleDesKeys(passphrase, salt, rounds) };
}

function tripleDesKeys(passphrase: string, salt: Uint8Array, rounds: number) {
  const of = { hash: "sha1", iterations: rounds } as const;
  return {
    key: pkcs12Key(passphrase, salt, { ...of, purpose: purposes.cipher, length: 24 }),
    iv: pkcs12Key(passphrase, salt, { ...of, purpose: purposes.iv, length: 8 }),
  };
}

/** Appendix B.1: UTF-16 with the high octet first, ended by a NUL. */
function bmpText(text: string): Uint8Array {
  const octets = Buffer.from(`${text}\0`, "utf16le");
  return new Uint8Array(octets.swap16());
}

/** Step 6 C of appendix B.2: each block of the input plus the digest plus one, modulo its size. */
function addToBlocks(input: Buffer, digest: Buffer, block: number): void {
  for (let start = 0; start < input.length; start += block) {
    let carry = 1;
    for (let at = block - 1; at >= 0; at--) {
      const sum = (input[start + at] ?? 0) + (digest[at % digest.length] ?? 0) + carry;
      input[start + at] = sum & 0xff;
      carry = sum >> 8;
    }
  }
}

/** Iterations of what is written here. */
export const iterations = 100_000;
const iterationsMax = 5_000_000;

const pbes2 = "1.2.840.113549.1.5.13";
const pbkdf2 = "1.2.840.113549.1.5.12";
const tripleDes = "1.2.840.113549.1.12.1.3";
const aes256 = "2.16.840.1.101.3.4.1.42";
const hmacSha256 = "1.2.840.113549.2.9";

const prfs: ReadonlyMap<string, StoreHash> = new Map<string, StoreHash>([
  ["1.2.840.113549.2.7", "sha1"],
  [hmacSha256, "sha256"],
  ["1.2.840.113549.2.10", "sha384"],
  ["1.2.840.113549.2.11", "sha512"],
]);
const ciphers: ReadonlyMap<string, { readonly name: string; readonly length: number }> = new Map([
  ["2.16.840.1.101.3.4.1.2", { name: "aes-128-cbc", length: 16 }],
  ["2.16.840.1.101.3.4.1.22", { name: "aes-192-cbc", length: 24 }],
  [aes256, { name: "aes-256-cbc", length: 32 }],
]);
