/** How a signature is asked from a token: the digest is ours, the token applies the bare key operation. */

import { createHash } from "node:crypto";

import { type KeyType, keyTypes, type SignatureName, schemeOf } from "#core/x509/algorithms.ts";

import { ckgMgf1, ckm } from "./ck.ts";
import type { Mechanism } from "./module.ts";

/** What goes to C_SignInit and C_Sign, and how its answer becomes a signature as X.509 carries it. */
export interface TokenSignature {
  readonly mechanism: Mechanism;
  readonly input: Buffer;
  readonly finish: (value: Buffer) => Uint8Array;
}

/** Prepares one signature; the raw mechanisms used are the only ones all known tokens have in common. */
export function tokenSignature(
  keyType: KeyType,
  algorithm: SignatureName,
  message: Uint8Array,
): TokenSignature {
  const { hash, padding } = schemeOf(algorithm);
  // RFC 8032: Ed25519 takes the message itself.
  if (hash === undefined || hash === "sha1") {
    return { mechanism: { mechanism: ckm.eddsa }, input: Buffer.from(message), finish: copied };
  }
  const digest = createHash(hash).update(message).digest();
  if (padding === "pkcs1") {
    const input = Buffer.concat([digestInfo[hash], digest]);
    return { mechanism: { mechanism: ckm.rsaPkcs }, input, finish: copied };
  }
  if (padding === "pss") {
    // RFC 4055 §3.1: the salt is as long as the hash.
    const parameter = {
      type: ckParamsRsaPss,
      ...{ hashAlg: ckm[hash], mgf: ckgMgf1[hash], saltLen: digest.length },
    };
    return { mechanism: { mechanism: ckm.rsaPkcsPss, parameter }, input: digest, finish: copied };
  }
  // FIPS 186-5 §6.4.1: a digest longer than the order counts with its leftmost bits.
  const input = digest.subarray(0, Math.ceil(keyTypes[keyType][1] / 8));
  return { mechanism: { mechanism: ckm.ecdsa }, input, finish: ecdsaDer };
}

/** r and s side by side, as tokens give them, into the SEQUENCE of RFC 3279 §2.2.3. */
export function ecdsaDer(value: Buffer): Uint8Array {
  const half = value.length / 2;
  const body = Buffer.concat([
    derInteger(value.subarray(0, half)),
    derInteger(value.subarray(half)),
  ]);
  const head = body.length < 128 ? [0x30, body.length] : [0x30, 0x81, body.length];
  return Buffer.concat([Buffer.from(head), body]);
}

function derInteger(octets: Buffer): Buffer {
  let first = 0;
  while (first < octets.length - 1 && octets[first] === 0) first += 1;
  const digits = octets.subarray(first);
  const sign = (digits[0] ?? 0) >= 0x80 ? [0] : [];
  return Buffer.from([0x02, digits.length + sign.length, ...sign, ...digits]);
}

/** The answer lies in a buffer that the next operation overwrites. */
const copied = (value: Buffer): Uint8Array => Buffer.from(value);

/** RFC 8017 §9.2, note 1: everything of the DigestInfo before the digest. */
const digestInfo = {
  sha256: Buffer.from("3031300d060960864801650304020105000420", "hex"),
  sha384: Buffer.from("3041300d060960864801650304020205000430", "hex"),
  sha512: Buffer.from("3051300d060960864801650304020305000440", "hex"),
} as const;
/** CK_PARAMS_RSA_PSS of pkcs11js: which structure the parameter becomes. */
const ckParamsRsaPss = 5;
