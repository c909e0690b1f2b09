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

/** Reads of `access_log`; on SQLite others have their turn between slices of `sliceRows` rows. */
export function accessLogReads(connection: Connection, sliceRows = usualSlice): AccessLogReads {
  return {
    page: async (filter, limit, after) => {
      const search = new Search(connection, filter, sliceRows);
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

/** Row numbers from `low` up to, not including, `high`. */
interface Slice {
  readonly low: number;
  readonly high: number;
}

class Search {
  readonly #connection: Connection;
  readonly #filter: AccessLogFilter;
  readonly #sliceRows: number;

  constructor(connection: Connection, filter: AccessLogFilter, sliceRows: number) {
    this.#connection = connection;
    this.#filter = filter;
    this.#sliceRows = connection.dialect === "sqlite" ? sliceRows : Number.MAX_SAFE_INTEGER;
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
    const { db, t } = this.#connection;
    const found = db
      .select()
      .from(t.accessLog)
      .where(this.#matching({ low, high: Math.min(high, below) }));
    const newest = await found.orderBy(desc(t.accessLog.id)).limit(limit);
    return newest.map((row) => ({ ...row, at: instant(row.at) }));
  }

  async count(slice: Slice): Promise<number> {
    const { db, t } = this.#connection;
    const [sum] = await db.select({ n: counted }).from(t.accessLog).where(this.#matching(slice));
    return sum?.n ?? 0;
  }

  #matching({ low, high }: Slice): SQL | undefined {
    const { accessLog: a } = this.#connection.t;
    const { subject, status, pathPrefix, from, to } = this.#filter;
    // The sign keeps SQLite from walking by the index of times, whose order is not the page's.
    const at = this.#connection.dialect === "sqlite" ? sql`+${a.at}` : sql`${a.at}`;
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

  /**
   * The row numbers that times leave. Rows are numbered when they are written, about a second after
   * their requests and by several processes, so numbers follow times only roughly; the margin is
   * more than all of them buffer.
   */
  async #bounds(): Promise<Slice | undefined> {
    const { accessLog: a } = this.#connection.t;
    const { from, to } = this.#filter;
    const first = await this.#edge(from === undefined ? undefined : gte(a.at, from), asc);
    const last = await this.#edge(to === undefined ? undefined : lt(a.at, to), desc);
    const lowest = await this.#edge(undefined, asc);
    const highest = await this.#edge(undefined, desc);
    if (first === undefined || last === undefined) return undefined;
    const margin = { low: first - marginRows, high: last + marginRows };
    return {
      low: Math.max(lowest ?? first, from === undefined ? first : margin.low),
      high: Math.min(highest ?? last, to === undefined ? last : margin.high) + 1,
    };
  }

  async #edge(where: SQL | undefined, order: typeof asc): Promise<number | undefined> {
    const { db, t } = this.#connection;
    const by = where === undefined ? [order(t.accessLog.id)] : [order(t.accessLog.at)];
    const found = db.select({ id: t.accessLog.id }).from(t.accessLog).where(where);
    return (await found.orderBy(...by).limit(1))[0]?.id;
  }
}

const usualSlice = 4000;
const marginRows = 100_000;
