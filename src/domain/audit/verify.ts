/**
 * Walks the audit chain from genesis in constant memory and names the first thing that is wrong.
 */

import { type AuditEvent, genesis, violation } from "#core/audit/chain.ts";
import { Problem, refuse } from "#core/problems.ts";
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

/**
 * AUD-6: sequence, links, recomputed hashes, and the stored head, which a cut tail no longer
 * matches. Refuses `storage_unavailable` naming the first event that cannot be read, which is not
 * known to be broken.
 */
export async function verifyChain(read: Reads): Promise<ChainVerdict> {
  // The head is read first: events appended while walking lie behind it and are checked too.
  const stored = await read.audit.eventHead();
  let head = genesis;
  let storedHashAt = stored.seq === 0 ? genesis.hash : undefined;
  for (;;) {
    const page = await readable(read, head.seq);
    for (const event of page) {
      const reason = violation(head, event);
      if (reason !== undefined) return { valid: false, brokenAtSeq: head.seq + 1, reason };
      head = { seq: event.seq, hash: event.hash };
      if (event.seq === stored.seq) storedHashAt = event.hash;
    }
    if (page.length < pageSize) break;
    // A store in this process answers at once: without a turn for others they would wait for the
    // whole chain.
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

/**
 * The next events; when their page cannot be read, the ones before the first that cannot, each by
 * itself.
 */
async function readable(read: Reads, after: number): Promise<readonly AuditEvent[]> {
  try {
    return await read.audit.eventsAfter(after, pageSize);
  } catch (error) {
    if (!(error instanceof Problem && error.code === "storage_unavailable")) throw error;
    let last = after;
    for (let n = 0; n < pageSize; n++) last = (await nextAfter(read, last, error.message)) ?? last;
    throw error; // Each could be read by itself: it was a passing fault.
  }
}

/** The sequence number of the next event; undefined at the end. */
async function nextAfter(read: Reads, after: number, why: string): Promise<number | undefined> {
  try {
    return (await read.audit.eventsAfter(after, 1))[0]?.seq;
  } catch {
    // Told as the refusal it is, with the event that a person will look for.
    throw refuse(
      "storage_unavailable",
      { retry_after: retrySeconds },
      `Event ${after + 1} cannot be read; those before it were. ${why}`,
    );
  }
}

const pageSize = 250;
const retrySeconds = 60;
