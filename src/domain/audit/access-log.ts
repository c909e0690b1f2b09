/** Hands out the access log as a whole, which is an event of its own. */

import type { Origin } from "#domain/actor.ts";
import type { Clock } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";
import { recordExport } from "./exports.ts";
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
  const { store } = deps;
  let rows = 0;
  for (let after: Parameters<typeof store.read.accessLog.page>[2]; ; ) {
    const limit = Math.min(pageRows, exportedRowsMax - rows);
    const page = await store.read.accessLog.page(filter, limit, after);
    rows += page.items.length;
    each(page.items);
    after = page.next;
    if (after === undefined || rows >= exportedRowsMax) break;
  }
  await recordExport(deps, origin, { kind: "access_log", from: filter.from, to: filter.to, rows });
  return rows;
}

const pageRows = 500;
