/**
 * The access log as it is read: newest first, walked in slices, because a busy server has millions
 * of rows.
 */

import { and, asc, desc, eq, gte, lt, type SQL, sql } from "drizzle-orm";

import { instant } from "#core/time.ts";
import type { AccessLogFilter, AccessLogReads, LoggedRequest } from "#domain/audit/store.ts";
import type { PageKey } from "#domain/page.ts";
import {
  breath,
  counted,
  type Connection,
  startsWithExactly,
} from "#adapters/db/engine/connection.ts";

/** Row numbers from `low` up to, not including, `high`. */
export interface Slice {
  readonly low: number;
  readonly high: number;
}

/** Where rows are. A number is that of one row in one source. */
export interface RowSource {
  /** Holds every row that the times of the filter leave; undefined where there is none. */
  bounds(filter: AccessLogFilter): Promise<Slice | undefined>;
  /** At most `limit` matching rows of a slice, newest first. */
  rows(filter: AccessLogFilter, slice: Slice, limit: number): Promise<readonly LoggedRequest[]>;
  count(filter: AccessLogFilter, slice: Slice): Promise<number>;
}

/** Reads over all sources; others have their turn between slices of `sliceRows` rows. */
export function accessLogReads(
  sources: readonly RowSource[],
  sliceRows = usualSlice,
): AccessLogReads {
  return {
    page: async (filter, limit, after) => {
      const search = new Search(sources, filter, sliceRows);
      const items: LoggedRequest[] = [];
      let total = 0;
      const below = after?.at ?? Number.MAX_SAFE_INTEGER;
      const known = after === undefined || after.id === "" ? undefined : Number(after.id);
      await search.walk(known === undefined ? undefined : below, async (slice) => {
        if (items.length <= limit) {
          items.push(...(await search.rows(slice, below, limit + 1 - items.length)));
        }
        if (known === undefined) total += await search.count(slice);
        return known !== undefined && items.length > limit;
      });
      return paged(items, limit, known ?? total);
    },
  };
}

/** The total was dear to count, so the cursor carries it for the whole walk. */
function paged(items: readonly LoggedRequest[], limit: number, total: number) {
  const kept = items.slice(0, limit);
  const last = kept.at(-1);
  const next: PageKey | undefined =
    items.length > limit && last ? { at: last.id, id: String(total) } : undefined;
  return { items: kept, total, next };
}

class Search {
  readonly #sources: readonly RowSource[];
  readonly #filter: AccessLogFilter;
  readonly #sliceRows: number;

  constructor(sources: readonly RowSource[], filter: AccessLogFilter, sliceRows: number) {
    this.#sources = sources;
    this.#filter = filter;
    this.#sliceRows = sliceRows;
  }

  /**
   * Calls back with slices, newest first, until it is told to stop; begins below `below` when
   * given.
   */
  async walk(below: number | undefined, look: (slice: Slice) => Promise<boolean>): Promise<void> {
    const bounds = await this.#bounds();
    if (bounds === undefined) return;
    let high = Math.min(bounds.high, below ?? bounds.high);
    while (high > bounds.low) {
      const low = Math.max(bounds.low, high - this.#sliceRows);
      if (await look({ low, high })) return;
      high = low;
      await breath();
    }
  }

  /** At most `limit` matching rows of a slice below `below`, newest first. */
  async rows({ low, high }: Slice, below: number, limit: number): Promise<LoggedRequest[]> {
    const slice = { low, high: Math.min(high, below) };
    const found: LoggedRequest[] = [];
    for (const source of this.#sources) {
      found.push(...(await source.rows(this.#filter, slice, limit)));
    }
    return found.sort((a, b) => b.id - a.id).slice(0, limit);
  }

  async count(slice: Slice): Promise<number> {
    let sum = 0;
    for (const source of this.#sources) sum += await source.count(this.#filter, slice);
    return sum;
  }

  async #bounds(): Promise<Slice | undefined> {
    let all: Slice | undefined;
    for (const source of this.#sources) {
      const one = await source.bounds(this.#filter);
      all =
        all && one
          ? { low: Math.min(all.low, one.low), high: Math.max(all.high, one.high) }
          : (all ?? one);
    }
    return all;
  }
}

/** Rows by themselves, in the table `access_log`. */
export function singleRows(connection: Connection): RowSource {
  const { db, t } = connection;
  return {
    bounds: (filter) => boundsBy(filter, (edge) => edgeOfRows(connection, edge)),
    rows: async (filter, slice, limit) => {
      const found = db
        .select()
        .from(t.accessLog)
        .where(matching(connection, filter, slice));
      const newest = await found.orderBy(desc(t.accessLog.id)).limit(limit);
      return newest.map((row) => ({ ...row, at: instant(row.at) }));
    },
    count: async (filter, slice) => {
      const found = db.select({ n: counted }).from(t.accessLog);
      const [sum] = await found.where(matching(connection, filter, slice));
      return sum?.n ?? 0;
    },
  };
}

/** Asks for the number of one row: the first or last of all, or from or before a time. */
export type Edge =
  | { readonly end: "lowest" | "highest" }
  | { readonly from: number }
  | { readonly to: number };

/**
 * The row numbers that times leave. Rows are numbered when they are written, about a second after
 * their requests and by several processes, so numbers follow times only roughly; the margin is
 * more than all of them buffer.
 */
export async function boundsBy(
  { from, to }: AccessLogFilter,
  edge: (of: Edge) => Promise<number | undefined>,
): Promise<Slice | undefined> {
  const lowest = await edge({ end: "lowest" });
  const highest = await edge({ end: "highest" });
  const first = from === undefined ? lowest : await edge({ from });
  const last = to === undefined ? highest : await edge({ to });
  if (first === undefined || last === undefined) return undefined;
  return {
    low: Math.max(lowest ?? first, from === undefined ? first : first - marginRows),
    high: Math.min(highest ?? last, to === undefined ? last : last + marginRows) + 1,
  };
}

async function edgeOfRows({ db, t }: Connection, edge: Edge): Promise<number | undefined> {
  const { accessLog: a } = t;
  const found = db.select({ id: a.id }).from(a);
  const one =
    "end" in edge
      ? found.orderBy(edge.end === "lowest" ? asc(a.id) : desc(a.id))
      : "from" in edge
        ? found.where(sql`${a.at} >= ${edge.from}`).orderBy(asc(a.at))
        : found.where(sql`${a.at} < ${edge.to}`).orderBy(desc(a.at));
  return (await one.limit(1))[0]?.id;
}

function matching(
  { dialect, t: { accessLog: a } }: Connection,
  { subject, status, pathPrefix, from, to }: AccessLogFilter,
  { low, high }: Slice,
): SQL | undefined {
  // The sign keeps SQLite from walking by the index of times, whose order is not the page's.
  const at = dialect === "sqlite" ? sql`+${a.at}` : sql`${a.at}`;
  return and(
    gte(a.id, low),
    lt(a.id, high),
    subject === undefined ? undefined : eq(a.subject, subject),
    status === undefined ? undefined : eq(a.status, status),
    pathPrefix === undefined ? undefined : startsWithExactly(a.path, pathPrefix),
    from === undefined ? undefined : gte(at, from),
    to === undefined ? undefined : lt(at, to),
  );
}

const usualSlice = 4000;
const marginRows = 100_000;
