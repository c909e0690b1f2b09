/**
 * The id a CA gets whose creation was approved: the same however often the approval is carried out.
 */

import { sha256 } from "#core/crypto.ts";
import { type CaId, caId, uuidText } from "#core/ids.ts";

/**
 * The CA id that belongs to one approval, and to nothing else (RFC 9562 §5.8: a version 8 UUID of a
 * hash).
 */
export function caIdFrom(approval: string): CaId {
  const digest = sha256(new TextEncoder().encode(`pkid/ca-of-approval/1\0${approval}`));
  const octets = digest.slice(0, 16);
  octets[6] = ((octets[6] ?? 0) & 0x0f) | 0x80;
  octets[8] = ((octets[8] ?? 0) & 0x3f) | 0x80;
  return caId(uuidText(octets));
}
