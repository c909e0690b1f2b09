/** Keys of transparency logs, and what they sign: RFC 6962 digitally-signed structures. */

import {
  createHash,
  importPublicKey,
  sha256,
  type VerificationKey,
  verifySignature,
} from "#core/crypto.ts";
import { parsePublicKey } from "#core/x509/public-keys.ts";

/** A log's key ready for verification. */
export interface LogKey {
  /** SHA-256 of the SubjectPublicKeyInfo. */
  readonly logId: Uint8Array;
  readonly family: "ec" | "rsa";
  readonly key: VerificationKey;
}

/**
 * Reads a SubjectPublicKeyInfo: ECDSA over P-256, or RSA of at least 2048 bits (RFC 6962 §2.1.4).
 * Throws otherwise.
 */
export function logKeyOf(spki: Uint8Array): LogKey {
  const key = parsePublicKey(spki);
  const fits =
    (key.family === "ec" && key.curve === "P-256") || (key.family === "rsa" && key.bits >= 2048);
  if (!fits) throw new RangeError("a log signs with ECDSA P-256 or RSA of at least 2048 bits");
  const family = key.family === "rsa" ? "rsa" : "ec";
  return { logId: sha256(spki), family, key: importPublicKey(spki) };
}

/** A signature as RFC 5246 §4.7 writes it: hash and signature algorithm, then the octets. */
export interface DigitallySigned {
  readonly hash: number;
  readonly algorithm: number;
  readonly signature: Uint8Array;
}

/** True when the log made it over `message`; SHA-256 only (RFC 6962 §2.1.4). */
export function signedByLog(
  { key, family }: LogKey,
  signed: DigitallySigned,
  message: Uint8Array,
): boolean {
  const expected = family === "ec" ? 3 : 1;
  if (signed.hash !== sha256Number || signed.algorithm !== expected) return false;
  const padding = family === "rsa" ? "pkcs1" : undefined;
  return verifySignature(key, { hash: "sha256", padding }, message, signed.signature);
}

/**
 * The four octets that name a log's key in a signed note: over name, line feed, type 5 and log id
 * (c2sp.org/static-ct-api).
 */
export const noteKeyId = (origin: string, logId: Uint8Array): Uint8Array =>
  createHash("sha256")
    .update(origin)
    .update(Uint8Array.of(0x0a, 5))
    .update(logId)
    .digest()
    .subarray(0, 4);

const sha256Number = 4;
