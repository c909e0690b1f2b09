/** SubjectPublicKeyInfo: what kind of key it is, its numbers, its digests (RFC 5280 §4.1.2.7). */

import { type Cursor, DerError, openSequence } from "#core/asn1/cursor.ts";
import { bitString, integer, nullElement, oid, sequence, unsignedInteger } from "#core/asn1/der.ts";
import { oids } from "#core/asn1/oids.ts";
import { tags } from "#core/asn1/tags.ts";
import { sha256, sha256Hex } from "#core/crypto.ts";
import { refuse } from "#core/problems.ts";

import { type KeyType, type SignatureName, schemeOf } from "./algorithms.ts";

/** A parsed public key; `keyType` is undefined for keys of a size or curve pkid does not make. */
export type PublicKey = {
  /** SubjectPublicKeyInfo, DER. */
  readonly spki: Uint8Array;
  readonly keyType: KeyType | undefined;
} & (
  | {
      readonly family: "rsa";
      readonly modulus: bigint;
      readonly exponent: bigint;
      readonly bits: number;
    }
  | {
      readonly family: "ec";
      readonly curve: string;
      readonly point: Uint8Array;
      readonly bits: number;
    }
  | { readonly family: "ed25519"; readonly point: Uint8Array }
  | { readonly family: "ml-dsa" | "slh-dsa"; readonly raw: Uint8Array }
  | { readonly family: "unknown"; readonly oid: string }
);

/**
 * Reads a SubjectPublicKeyInfo; throws DerError for what is not one. `curve` is `P-256`, `P-384`,
 * `P-521` or an OID. The algorithm's parameters must be those of its RFC; whether the key is any
 * good is for the key checks to say.
 */
export function parsePublicKey(spki: Uint8Array): PublicKey {
  const { algorithm, bits } = openSpki(spki);
  const dotted = algorithm.oid();
  const key = readKey(spki, dotted, algorithm, bits);
  if (key.family !== "unknown") algorithm.finish();
  return key;
}

/** The content of the subjectPublicKey BIT STRING without the unused-bits octet. */
export const subjectPublicKeyBits = (spki: Uint8Array): Uint8Array => openSpki(spki).bits;

/**
 * Lower hex SHA-256 of every SubjectPublicKeyInfo that a list may know the key by, its own first:
 * an RSA key with another exponent than 65537 is factored together with the one that has it. A key
 * that cannot be read has its own alone.
 */
export function keyDigests(spki: Uint8Array): readonly string[] {
  const own = spkiSha256(spki);
  try {
    const key = parsePublicKey(spki);
    if (key.family !== "rsa" || key.exponent === commonExponent) return [own];
    return [own, spkiSha256(commonRsaSpki(key.modulus))];
  } catch (error) {
    if (error instanceof DerError) return [own];
    throw error;
  }
}

/** `SHA256:` and unpadded base64 of SHA-256 over the DER: the form answers carry. */
export const fingerprint = (spki: Uint8Array): string => fingerprintOf(sha256(spki).toHex());

/** The same of a digest in hex, as the store carries it. */
export const fingerprintOf = (hex: string): string =>
  `SHA256:${Uint8Array.fromHex(hex).toBase64({ omitPadding: true })}`;

/** Lower hex SHA-256 over the DER: the form the store carries. */
export const spkiSha256 = (spki: Uint8Array): string => sha256Hex(spki);

/**
 * Reads a fingerprint in hex (colons, blanks, any case) or `SHA256:<base64>`; gives lower hex,
 * refuses `bad_fingerprint`.
 */
export function parseFingerprint(text: string): string {
  if (text.length > 200) throw refuse("bad_fingerprint");
  const base64 = /^SHA256:([A-Za-z0-9+/]{43})=?$/i.exec(text.trim())?.[1];
  if (base64 !== undefined) return decodeDigest(base64);
  const hex = text.replace(/[:\s]/g, "").toLowerCase();
  if (!/^[0-9a-f]{64}$/.test(hex)) throw refuse("bad_fingerprint");
  return hex;
}

/** Lower hex of the first 20 octets of SHA-256 over the DER: `KeyRef.id`. */
export const keyIdOf = (spki: Uint8Array): string => sha256Hex(spki).slice(0, 40);

/**
 * True when a key of this family, and for ML-DSA and SLH-DSA of this parameter set, can make the
 * signature.
 */
export function signatureFits(key: PublicKey, signature: SignatureName): boolean {
  switch (key.family) {
    case "rsa":
      return schemeOf(signature).padding !== undefined;
    case "ec":
      return signature.startsWith("ecdsa-");
    case "ed25519":
    case "ml-dsa":
    case "slh-dsa":
      return signature === key.keyType;
    case "unknown":
      return false;
    default:
      return key satisfies never;
  }
}

function commonRsaSpki(modulus: bigint): Uint8Array {
  const digits = modulus.toString(16);
  const octets = Uint8Array.fromHex(digits.length % 2 === 0 ? digits : `0${digits}`);
  const numbers = sequence(unsignedInteger(octets), integer(Number(commonExponent)));
  return sequence(sequence(oid(oids.rsaEncryption), nullElement()), bitString(numbers));
}

function openSpki(spki: Uint8Array): { readonly algorithm: Cursor; readonly bits: Uint8Array } {
  const outer = openSequence(spki);
  const algorithm = outer.enter(tags.sequence);
  const bits = outer.wholeBits();
  outer.finish();
  return { algorithm, bits };
}

function readKey(spki: Uint8Array, dotted: string, algorithm: Cursor, bits: Uint8Array): PublicKey {
  switch (dotted) {
    case oids.rsaEncryption:
      algorithm.null(); // RFC 3279 §2.3.1: the parameters are NULL, not absent.
      return readRsaKey(spki, bits);
    case oids.ecPublicKey:
      return readEcKey(spki, algorithm.oid(), bits);
    case oids.ed25519:
      return { spki, keyType: "ed25519", family: "ed25519", point: bits };
    case oids.mlDsa44:
      return { spki, keyType: "ml-dsa-44", family: "ml-dsa", raw: bits };
    case oids.mlDsa65:
      return { spki, keyType: "ml-dsa-65", family: "ml-dsa", raw: bits };
    case oids.mlDsa87:
      return { spki, keyType: "ml-dsa-87", family: "ml-dsa", raw: bits };
    case oids.slhDsa128s:
      return { spki, keyType: "slh-dsa-sha2-128s", family: "slh-dsa", raw: bits };
    case oids.slhDsa192s:
      return { spki, keyType: "slh-dsa-sha2-192s", family: "slh-dsa", raw: bits };
    case oids.slhDsa256s:
      return { spki, keyType: "slh-dsa-sha2-256s", family: "slh-dsa", raw: bits };
    default:
      return { spki, keyType: undefined, family: "unknown", oid: dotted };
  }
}

function readRsaKey(spki: Uint8Array, key: Uint8Array): PublicKey {
  const numbers = openSequence(key);
  const modulus = positive(numbers.unsigned());
  const exponent = positive(numbers.unsigned());
  numbers.finish();
  const bits = modulus.length * 8 - Math.clz32(modulus[0] ?? 0) + 24;
  return {
    spki,
    family: "rsa",
    keyType: rsaKeyTypes.get(bits),
    bits,
    modulus: BigInt(`0x${modulus.toHex()}`),
    exponent: BigInt(`0x${exponent.toHex()}`),
  };
}

function readEcKey(spki: Uint8Array, curve: string, point: Uint8Array): PublicKey {
  const known = curves.get(curve);
  if (known) {
    const { curve: name, bits, keyType } = known;
    return { spki, family: "ec", point, curve: name, bits, keyType };
  }
  // The size of a curve pkid does not know is taken from its point: 04 and two coordinates.
  const bits = Math.floor((point.length - 1) / 2) * 8;
  return { spki, family: "ec", point, curve, bits: Math.max(bits, 0), keyType: undefined };
}

function positive(magnitude: Uint8Array): Uint8Array {
  if (magnitude[0] === 0) throw new DerError("a number of an RSA key is zero");
  if (magnitude.length > rsaOctetsMax) throw new DerError("a number of an RSA key is too large");
  return magnitude;
}

function decodeDigest(base64: string): string {
  try {
    return Uint8Array.fromBase64(`${base64}=`, { lastChunkHandling: "strict" }).toHex();
  } catch {
    // 43 characters whose last one carries stray bits.
    throw refuse("bad_fingerprint");
  }
}

const commonExponent = 65_537n;

const curves: ReadonlyMap<string, { curve: string; bits: number; keyType: KeyType }> = new Map([
  [oids.p256, { curve: "P-256", bits: 256, keyType: "ecdsa-p256" }],
  [oids.p384, { curve: "P-384", bits: 384, keyType: "ecdsa-p384" }],
  [oids.p521, { curve: "P-521", bits: 521, keyType: "ecdsa-p521" }],
]);

const rsaKeyTypes: ReadonlyMap<number, KeyType> = new Map([
  [2048, "rsa-2048"],
  [3072, "rsa-3072"],
  [4096, "rsa-4096"],
]);

/** 16384 bits, beyond which an answer would cost more than it is worth. */
const rsaOctetsMax = 2048;
