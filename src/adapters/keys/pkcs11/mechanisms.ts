/**
 * How a signature is asked from a token: the digest is ours, the token applies the bare key
 * operation.
 */

import { hash as digestOf } from "node:crypto";

import { DerWriter, headerOctetsMax } from "#core/asn1/der-writer.ts";
import { tags } from "#core/asn1/tags.ts";
import { type KeyType, keyTypes, type SignatureName, schemeOf } from "#core/x509/algorithms.ts";

import { ckgMgf1, ckm } from "./ck.ts";
import type { Mechanism } from "./module.ts";

/**
 * What goes to C_SignInit and C_Sign, and how its answer becomes a signature as X.509 carries it.
 */
export interface HsmTokenSignature {
  readonly mechanism: Mechanism;
  readonly input: Buffer;
  readonly finish: (value: Buffer) => Uint8Array;
}

/**
 * Prepares one signature; the raw mechanisms used are the only ones all known tokens have in
 * common.
 */
export function hsmTokenSignature(
  keyType: KeyType,
  algorithm: SignatureName,
  message: Uint8Array,
): HsmTokenSignature {
  const { hash, padding } = schemeOf(algorithm);
  // RFC 8032: Ed25519 takes the message itself.
  if (hash === undefined || hash === "sha1") {
    return { mechanism: { mechanism: ckm.eddsa }, input: Buffer.from(message), finish: copied };
  }
  const digest = digestOf(hash, message, "buffer");
  if (padding === "pkcs1") {
    const input = Buffer.concat([digestInfo[hash], digest]);
    return { mechanism: { mechanism: ckm.rsaPkcs }, input, finish: copied };
  }
  if (padding === "pss") {
    // RFC 4055 §3.1: the salt is as long as the hash.
    const parameter = {
      type: ckParamsRsaPss,
      hashAlg: ckm[hash],
      mgf: ckgMgf1[hash],
      saltLen: digest.length,
    };
    return { mechanism: { mechanism: ckm.rsaPkcsPss, parameter }, input: digest, finish: copied };
  }
  // FIPS 186-5 §6.4.1: a digest longer than the order counts with its leftmost bits.
  const input = digest.subarray(0, Math.ceil(keyTypes[keyType][1] / 8));
  return { mechanism: ecdsa, input, finish: ecdsaDer };
}

/** r and s side by side, as tokens give them, into the SEQUENCE of RFC 3279 §2.2.3. */
export function ecdsaDer(value: Buffer): Uint8Array {
  const out = new DerWriter(value.length + ecdsaSpareOctets);
  const half = value.length / 2;
  writeUnsigned(out, value, half, value.length);
  writeUnsigned(out, value, 0, half);
  out.wrap(tags.sequence, 0);
  return out.finish();
}

/** INTEGER of the magnitude between two offsets. */
function writeUnsigned(out: DerWriter, octets: Uint8Array, from: number, to: number): void {
  const end = out.mark;
  let first = from;
  while (first < to - 1 && octets[first] === 0) first += 1;
  out.write(octets.subarray(first, to));
  if ((octets[first] ?? 0) >= 0x80) out.write(zero);
  out.wrap(tags.integer, end);
}

const ecdsa: Mechanism = { mechanism: ckm.ecdsa };

/** The answer lies in a buffer that the next operation overwrites. */
const copied = (value: Buffer): Uint8Array => Buffer.from(value);

const zero = Uint8Array.of(0);
/** Headers and signs of two integers and the sequence of them. */
const ecdsaSpareOctets = 3 * headerOctetsMax + 2;

/** RFC 8017 §9.2, note 1: everything of the DigestInfo before the digest. */
const digestInfo = {
  sha256: Buffer.from("3031300d060960864801650304020105000420", "hex"),
  sha384: Buffer.from("3041300d060960864801650304020205000430", "hex"),
  sha512: Buffer.from("3051300d060960864801650304020305000440", "hex"),
} as const;
/** CK_PARAMS_RSA_PSS of pkcs11js: which structure the parameter becomes. */
const ckParamsRsaPss = 5;
