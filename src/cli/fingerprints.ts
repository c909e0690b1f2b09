/** The digest by which people and other tools know a certificate. */

import { sha256 } from "#core/crypto.ts";

/**
 * SHA-256 over the DER as OpenSSL and browsers write it: pairs of upper-case hex digits with
 * colons.
 */
export const certificateFingerprint = (der: Uint8Array): string => colonHex(sha256(der));

/** Pairs of upper-case hex digits with colons. */
export const colonHex = (octets: Uint8Array): string =>
  (octets.toHex().toUpperCase().match(/../g) ?? []).join(":");

/**
 * Lower hex of a SHA-256 in any usual spelling: hex with or without colons or blanks, or with
 * `SHA256:`; undefined for else.
 */
export function readFingerprint(text: string): string | undefined {
  const hex = text
    .trim()
    .replace(/^sha-?256(:|=| fingerprint=)/i, "")
    .replace(/[:\s]/g, "")
    .toLowerCase();
  return /^[0-9a-f]{64}$/.test(hex) ? hex : undefined;
}
