/**
 * The leading 48 bits of the SHA-256 of a certificate, a whole number every layer holds exactly: an
 * index of them is an eighth of one of digests in hex, and of a million certificates hardly two
 * share one. Whoever finds a row by it digests the certificate itself before it counts as found.
 */

import { sha256Hex } from "#core/crypto.ts";

/** Of a digest in lower hex. */
export const digestHead = (sha256: string): number => Number.parseInt(sha256.slice(0, 12), 16);

/** Of a certificate in DER; null for a tombstone, of which there is none. */
export const digestHeadOf = (der: Uint8Array): number | null =>
  der.length === 0 ? null : digestHead(sha256Hex(der));
