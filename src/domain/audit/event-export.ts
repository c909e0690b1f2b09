/** Hands out the audit chain, or a part of it, as a whole; that is an event of its own. */

import type { AuditEvent } from "#core/audit/chain.ts";
import type { Instant } from "#core/time.ts";
import { nextTurn } from "#core/turns.ts";
import type { Origin } from "#domain/actor.ts";
import type { Clock } from "#domain/ports.ts";
import type { Reads, Store } from "#domain/store.ts";
import { recordExport } from "./exports.ts";

/** Which events: from the first that is not older than `from`, up to the last before `to`. */
export interface EventSpan {
  readonly from?: Instant | undefined;
  readonly to?: Instant | undefined;
}

/**
 * The events of a span, oldest first and in pages, as far as the chain reaches now. They are one
 * piece of the chain without a gap, so that whoever has it can recompute every link: where the
 * clock was set back in between, some bear a time outside the span. `audit.export` is durable
 * before this resolves, so nothing is handed out unrecorded, and is not part of what is.
 */
export async function exportEvents(
  deps: { readonly store: Store; readonly clock: Clock },
  origin: Origin,
  span: EventSpan,
): Promise<AsyncGenerator<readonly AuditEvent[]>> {
  const { read } = deps.store;
  const last = await lastOf(read, span);
  const first = await firstOf(read, span);
  const rows = Math.max(0, last - first + 1);
  await recordExport(deps, origin, { kind: "events", ...span, rows });
  return pagesOf(read, first, last);
}

/** One more page whenever the last was taken, and a turn for others after each. */
async function* pagesOf(read: Reads, first: number, last: number) {
  for (let next = first; next <= last; ) {
    const wanted = Math.min(pageRows, last - next + 1);
    const page = await read.audit.eventsAfter(next - 1, wanted);
    const end = page.at(-1);
    // What was cut off behind pkid's back is missing here too, and whoever verifies finds it.
    if (end === undefined) return;
    yield page.filter(({ seq }) => seq <= last);
    next = end.seq + 1;
    await nextTurn();
  }
}

/** The number of the newest event before the end of the span; 0 when there is none. */
async function lastOf({ audit }: Reads, { to }: EventSpan): Promise<number> {
  if (to === undefined) return (await audit.eventHead()).seq;
  return (await audit.events({ reach: "platform", to }, 1)).items[0]?.seq ?? 0;
}

/** The number of the first event that is not older than the beginning of the span. */
async function firstOf({ audit }: Reads, { from }: EventSpan): Promise<number> {
  if (from === undefined) return 1;
  const older = await audit.events({ reach: "platform", to: from }, 1);
  let first = (older.items[0]?.seq ?? 0) + 1;
  // Where the clock was set back, not all that come before an older one are older.
  for (let younger = first - 1 - older.total; younger > 0; ) {
    const { items } = await audit.events({ reach: "platform", from }, pageRows, first);
    const end = items.at(-1);
    if (end === undefined) break;
    first = end.seq;
    younger -= items.length;
  }
  return first;
}

/** A page is read and written well within a turn. */
const pageRows = 250;
