/** Hands out the access log as a whole, which is an event of its own. */

import { type Instant, timestamp } from "#core/time.ts";
import { authorOf, type Origin } from "#domain/actor.ts";
import type { Clock } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";
import type { AccessLogFilter, LoggedRequest } from "./store.ts";

/** Most rows one export has. */
export const exportedRowsMax = 100_000;

/**
 * Newest first, at most `exportedRowsMax`; `each` is given the rows page by page. Records
 * `audit.export` with the time span asked for and the number of rows, and only when that is durable
 * resolves with the number.
 */
export async function exportAccessLog(
  deps: { readonly store: Store; readonly clock: Clock },
  origin: Origin,
  filter: AccessLogFilter,
  each: (rows: readonly LoggedRequest[]) => void,
): Promise<number> {
  const { store, clock } = deps;
  let rows = 0;
  for (let after: Parameters<typeof store.read.accessLog.page>[2]; ; ) {
    const limit = Math.min(pageRows, exportedRowsMax - rows);
    const page = await store.read.accessLog.page(filter, limit, after);
    rows += page.items.length;
    each(page.items);
    after = page.next;
    if (after === undefined || rows >= exportedRowsMax) break;
  }
  const detail = { kind: "access_log", from: named(filter.from), to: named(filter.to), rows };
  const author = authorOf(origin, undefined);
  const event = { ...author, action: "audit.export", result: "success", detail } as const;
  const now = clock.now();
  await store.atomically(async (tx) => void (await tx.audit.appendEvent(event, now)));
  return rows;
}

const named = (at: Instant | undefined) => (at === undefined ? undefined : timestamp(at));
const pageRows = 500;
