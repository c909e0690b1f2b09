/**
 * The audit chain: canonical bytes of an event, its hash, and the walk that finds the first broken
 * link.
 */

import { sha256Hex } from "#core/crypto.ts";

/** An event with its place in the chain; texts are exactly what is stored and hashed. */
export interface AuditEvent {
  readonly seq: number;
  readonly id: string;
  /** RFC 3339 with six fraction digits; the stored text is what is hashed. */
  readonly timestamp: string;
  readonly actor: string;
  readonly actorName: string;
  readonly actorRoles: string;
  readonly action: string;
  readonly result: string;
  readonly tenant: string;
  readonly caId: string;
  readonly serial: string;
  readonly target: string;
  readonly targetName: string;
  readonly detail: string;
  readonly ip: string;
  /** Correlation only; never hashed. */
  readonly requestId: string;
  readonly prevHash: string;
  readonly hash: string;
}

/** Where a chain ends: its last sequence number and hash (0 and 64 zeros while empty). */
export interface ChainHead {
  readonly seq: number;
  readonly hash: string;
}

/** The head of a chain without events. */
export const genesis: ChainHead = { seq: 0, hash: "0".repeat(64) };

/** Lower hex SHA-256 over the canonical bytes (AUD-2). */
export function eventHash(event: Omit<AuditEvent, "hash" | "requestId">): string {
  return chainedHash("pkid/audit/1", event.seq, [
    event.prevHash,
    event.id,
    event.timestamp,
    event.actor,
    event.actorName,
    event.actorRoles,
    event.action,
    event.result,
    event.tenant,
    event.caId,
    event.serial,
    event.target,
    event.targetName,
    event.detail,
    event.ip,
  ]);
}

/**
 * Lower hex SHA-256 over `label`, a zero octet, `number` as unsigned 64-bit big-endian, then each
 * text as unsigned 32-bit big-endian length and UTF-8 octets. Audit chain and sign ledger share
 * this form.
 */
export function chainedHash(label: string, number: number, texts: readonly string[]): string {
  // A code unit of UTF-16 takes three octets at most; counting them takes longer than the room.
  let room = label.length + 9;
  for (const text of texts) room += 4 + 3 * text.length;
  const octets = Buffer.allocUnsafe(room);
  let end = octets.write(label, 0, "latin1");
  end = octets.writeUInt8(0, end);
  end = octets.writeBigUInt64BE(BigInt(number), end);
  for (const text of texts) {
    const length = octets.write(text, end + 4, "utf8");
    octets.writeUInt32BE(length, end);
    end += 4 + length;
  }
  return sha256Hex(octets.subarray(0, end));
}

/**
 * What is wrong with `event` as the successor of `head`, or undefined when it links and recomputes.
 */
export function violation(head: ChainHead, event: AuditEvent): "gap" | "link" | "hash" | undefined {
  if (event.seq !== head.seq + 1) return "gap";
  if (event.prevHash !== head.hash) return "link";
  return eventHash(event) === event.hash ? undefined : "hash";
}
