/** Which partition of a sharded CRL a serial belongs to (CRL-8). */

import { sha256 } from "#core/crypto.ts";
import { type Serial, serialToBytes } from "#core/ids.ts";

/**
 * SHA-256 over the minimal big-endian octets of the serial, as one unsigned integer, modulo
 * `count`.
 */
export function partitionOf(serial: Serial, count: number): number {
  // `count` is at most 1024, so no intermediate value leaves 20 bits.
  return sha256(serialToBytes(serial)).reduce((rest, octet) => (rest * 256 + octet) % count, 0);
}
