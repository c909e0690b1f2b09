/** Walks the audit chain from genesis in constant memory and names the first thing that is wrong. */

import { genesis, violation } from "#core/audit/chain.ts";
import { nextTurn } from "#core/turns.ts";
import type { Reads } from "#domain/store.ts";

export type ChainVerdict =
  | {
      readonly valid: true;
      readonly events: number;
      readonly headSeq: number;
      readonly headHash: string;
    }
  | {
      readonly valid: false;
      readonly brokenAtSeq: number;
      readonly reason: "gap" | "link" | "hash" | "truncated";
    };

/** AUD-6: sequence, links, recomputed hashes, and the stored head, which a cut tail no longer matches. */
export async function verifyChain(read: Reads): Promise<ChainVerdict> {
  // The head is read first: events appended while walking lie behind it and are checked too.
  const stored = await read.audit.eventHead();
  let head = genesis;
  let storedHashAt = stored.seq === 0 ? genesis.hash : undefined;
  for (;;) {
    const page = await read.audit.eventsAfter(head.seq, pageSize);
    for (const event of page) {
      const reason = violation(head, event);
      if (reason !== undefined) return { valid: false, brokenAtSeq: head.seq + 1, reason };
      head = { seq: event.seq, hash: event.hash };
      if (event.seq === stored.seq) storedHashAt = event.hash;
    }
    if (page.length < pageSize) break;
    // A store in this process answers at once: without a turn for others they would wait for the whole chain.
    await nextTurn();
  }
  if (head.seq < stored.seq) {
    return { valid: false, brokenAtSeq: head.seq + 1, reason: "truncated" };
  }
  if (storedHashAt !== stored.hash) {
    return { valid: false, brokenAtSeq: stored.seq, reason: "hash" };
  }
  return { valid: true, events: head.seq, headSeq: head.seq, headHash: head.hash };
}

const pageSize = 250;
