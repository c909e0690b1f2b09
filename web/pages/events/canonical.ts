/** The octets of an event that its hash is over, as the page itself makes them (AUD-2). */

import type { FeedEvent } from "#web/feed.ts";

/** The hashed members in their order; absent ones are empty. */
export const hashedMembers = [
  "prev_hash",
  "id",
  "timestamp",
  "actor",
  "actor_name",
  "actor_roles",
  "action",
  "result",
  "tenant",
  "ca_id",
  "serial",
  "target",
  "target_name",
  "detail",
  "ip",
] as const;

/**
 * `pkid/audit/1`, a zero octet, the number as 64 bits, then each member as its length in 32 bits
 * and its UTF-8.
 */
export function canonicalOctets(event: FeedEvent): Uint8Array<ArrayBuffer> {
  const texts = hashedMembers.map((name) => utf8.encode(event[name] ?? ""));
  const octets = new Uint8Array(texts.reduce((sum, { length }) => sum + 4 + length, 21));
  const view = new DataView(octets.buffer);
  octets.set(utf8.encode("pkid/audit/1\0"));
  view.setBigUint64(13, BigInt(event.seq));
  let end = 21;
  for (const text of texts) {
    view.setUint32(end, text.length);
    octets.set(text, end + 4);
    end += 4 + text.length;
  }
  return octets;
}

/** Lower hex SHA-256 over them. */
export async function hashOf(event: FeedEvent): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", canonicalOctets(event)));
  return Array.from(digest, (octet) => octet.toString(16).padStart(2, "0")).join("");
}

const utf8 = new TextEncoder();
