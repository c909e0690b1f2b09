/** The inventory on SQLite, whose queries hold the thread they run on: found by index, else walked in short slices. */

import { and, desc, eq, gte, inArray, lt, type SQL, sql } from "drizzle-orm";

import type { Page, PageKey } from "#domain/authorities/store.ts";
import type { CertificateFilter } from "#domain/certificates/store.ts";
import { matching, serialIn } from "./inventory-filter.ts";
import { type SerialRange, serialRanges } from "./serial-ranges.ts";
import { breath, counted, type Session, startsWith } from "./session.ts";

type Row = Session["t"]["certificates"]["$inferSelect"];

/** How much one query may look at. */
export interface SliceLimits {
  /** Rows that are sorted and read as a whole. */
  readonly few: number;
  /** Least width of a slice, where it begins: with an index that selects, and where every row is looked at. */
  readonly indexed: number;
  readonly scanned: number;
  /** Entries of the expiry index counted at once. */
  readonly counted: number;
}

/** Rows a filter selects, last stored first; the walk lets others run between slices of a few milliseconds. */
export function slicedInventory(session: Session, limits: SliceLimits = sliceLimits) {
  const { db, t } = session;
  return async (
    filter: CertificateFilter,
    limit: number,
    after: PageKey | undefined,
  ): Promise<Page<Row>> => {
    const search = new Search({ session, filter, limits });
    const few = await search.few();
    const below = after?.at ?? (await search.end());
    const newest =
      few === undefined
        ? await search.newest(below, limit + 1)
        : few.filter((ordinal) => ordinal < below).slice(0, limit + 1);
    const [total, dear] = await totalOf(search, few, after, newest.length <= limit && newest);
    const kept = newest.slice(0, limit);
    const rows = await db
      .select()
      .from(t.certificates)
      .where(inArray(t.certificates.ordinal, listed(kept)))
      .orderBy(desc(t.certificates.ordinal));
    const next = newest.length > limit ? { at: kept.at(-1) ?? 0, id: dear } : undefined;
    return { items: rows, total, next };
  };
}

/** The total, and as text what the cursor keeps of it: one that was dear to count serves for the whole walk. */
async function totalOf(
  search: Search,
  few: readonly number[] | undefined,
  after: PageKey | undefined,
  whole: false | readonly number[],
): Promise<readonly [total: number, kept: string]> {
  if (few !== undefined) return [few.length, ""];
  const cheap = await search.countedTotal();
  if (cheap !== undefined) return [cheap, ""];
  if (after !== undefined && after.id !== "") return [Number(after.id), after.id];
  // The first page was walked to its end: everything has been seen.
  if (after === undefined && whole !== false) return [whole.length, ""];
  const total = await search.total();
  return [total, String(total)];
}

interface SearchDeps {
  readonly session: Session;
  readonly filter: CertificateFilter;
  readonly limits: SliceLimits;
}

class Search {
  readonly #session: Session;
  readonly #filter: CertificateFilter;
  readonly #limits: SliceLimits;
  readonly #c: Session["t"]["certificates"];

  constructor({ session, filter, limits }: SearchDeps) {
    this.#limits = limits;
    this.#session = session;
    this.#filter = filter;
    this.#c = session.t.certificates;
  }

  /** One past the last row stored. */
  async end(): Promise<number> {
    const [row] = await this.#session.db.values<[number | null]>(
      sql`select max(ordinal) from certificates`,
    );
    return (row?.[0] ?? 0) + 1;
  }

  /** All that match, newest first, when an index narrows them down to few; else undefined. */
  async few(): Promise<readonly number[] | undefined> {
    const candidates = this.#candidates();
    if (candidates === undefined) return undefined;
    const found = await this.#ordinals(sql`${candidates} limit ${this.#limits.few + 1}`);
    if (found.length > this.#limits.few) return undefined;
    const { ordinal } = this.#c;
    const matched = and(inArray(ordinal, listed(found)), matching(this.#session, this.#filter));
    return this.#ordinals(
      sql`select ordinal from certificates where ${matched} order by ordinal desc`,
    );
  }

  /** At most `limit` that match below an ordinal, newest first. */
  async newest(below: number, limit: number): Promise<readonly number[]> {
    const found: number[] = [];
    const exact = await this.#bySerial();
    await this.#walk(below, async (low, high) => {
      const rows = this.#rows(low, high);
      const more = await this.#ordinals(
        sql`select ordinal ${rows} order by ordinal desc limit ${limit - found.length}`,
      );
      const own = exact !== undefined && exact >= low && exact < high ? [exact] : [];
      found.push(...[...more, ...own].sort((a, b) => b - a));
      return found.length >= limit;
    });
    return found.slice(0, limit);
  }

  /** How many match, where counters or an index know; else undefined. */
  async countedTotal(): Promise<number | undefined> {
    const { status, text, serialPrefix, expiresBefore, spkiSha256, profile } = this.#filter;
    if (text !== undefined || expiresBefore !== undefined || spkiSha256 !== undefined) return;
    if (serialPrefix !== undefined) {
      const alone = status === undefined && profile === undefined;
      return alone ? this.#serialsWith(serialPrefix) : undefined;
    }
    if (status !== "good" && status !== "expired") return this.#kept(status);
    if (profile !== undefined) return undefined;
    const expired = await this.#expired();
    return status === "expired" ? expired : (await this.#kept("good")) - expired;
  }

  /** How many match, counted row by row. */
  async total(): Promise<number> {
    let total = (await this.#bySerial()) === undefined ? 0 : 1;
    await this.#walk(await this.end(), async (low, high) => {
      total += await this.#count(this.#rows(low, high));
      return false;
    });
    return total;
  }

  /** Rows of a range of ordinals that match; text is found by its trigrams when it has any. */
  #rows(low: number, high: number): SQL {
    const within = and(gte(this.#c.ordinal, low), lt(this.#c.ordinal, high));
    if (!this.#byTrigrams) {
      return sql`from certificates where ${and(matching(this.#session, this.#filter), within)}`;
    }
    const phrase = `"${this.#filter.text?.toLowerCase().replaceAll('"', '""')}"`;
    return sql`from certificate_search cross join certificates on ordinal = certificate_search.rowid
      where certificate_search match ${phrase}
        and certificate_search.rowid >= ${low} and certificate_search.rowid < ${high}
        and ${matching(this.#session, this.#filter, false)}`;
  }

  get #byTrigrams(): boolean {
    const { text, spkiSha256 } = this.#filter;
    return text !== undefined && spkiSha256 === undefined && [...text].length >= 3;
  }

  /** The row whose whole serial the text spells, when its words do not find it already. */
  async #bySerial(): Promise<number | undefined> {
    const { text = "" } = this.#filter;
    const serial = this.#byTrigrams ? serialIn(text) : undefined;
    if (serial === undefined) return undefined;
    const its = and(eq(this.#c.serial, serial), matching(this.#session, this.#filter));
    const [ordinal] = await this.#ordinals(sql`select ordinal from certificates where ${its}`);
    if (ordinal === undefined) return undefined;
    const worded = await this.#count(this.#rows(ordinal, ordinal + 1));
    return worded === 0 ? ordinal : undefined;
  }

  /** A query of ordinals by the index that may narrow the filter most. */
  #candidates(): SQL | undefined {
    const { caId, serialPrefix, status, expiresBefore, now } = this.#filter;
    if (serialPrefix !== undefined) {
      const ranges = sql.join(serialRanges(serialPrefix).map(rangeRow), sql`, `);
      const found = sql`certificates on ca_id = ${caId} and serial >= low and serial < high`;
      return serialRanges(serialPrefix).length === 0
        ? sql`select ordinal from certificates where false`
        : sql`with ranges(low, high, digits) as (values ${ranges})
            select ordinal from ranges cross join ${found} where length(serial) = coalesce(digits, length(serial))`;
    }
    const statuses = storedStatuses(status);
    const bound = status === "expired" ? Math.min(now, expiresBefore ?? now) : expiresBefore;
    if (bound === undefined && statuses.includes("good")) return undefined;
    const index = sql`ca_id = ${caId} and kind = 'leaf' and status in ${statuses}`;
    const before = bound === undefined ? sql`` : sql`and not_after < ${bound}`;
    return sql`select ordinal from certificates indexed by certificates_expiry where ${index} ${before}`;
  }

  async #kept(status: "revoked" | "held" | "good" | undefined): Promise<number> {
    const { caId, profile } = this.#filter;
    const those = sql`from certificate_counts where ca_id = ${caId}
      and profile = coalesce(${profile ?? null}, profile) and status = coalesce(${status ?? null}, status)`;
    const [row] = await this.#session.db.values<[number | null]>(sql`select sum(number) ${those}`);
    return row?.[0] ?? 0;
  }

  async #expired(): Promise<number> {
    const { caId, now } = this.#filter;
    const good = sql`from certificates indexed by certificates_expiry where ca_id = ${caId} and kind = 'leaf' and status = 'good'`;
    let total = 0;
    for (let from = 0; from < now; await breath()) {
      const [row] = await this.#session.db.values<[number]>(
        sql`select not_after ${good} and not_after >= ${from} and not_after < ${now} order by not_after limit 1 offset ${this.#limits.counted}`,
      );
      // A slice of one instant alone would never end.
      const to = row === undefined ? now : Math.max(row[0], from + 1);
      total += await this.#count(sql`${good} and not_after >= ${from} and not_after < ${to}`);
      from = to;
    }
    return total;
  }

  async #serialsWith(prefix: string): Promise<number> {
    const { caId } = this.#filter;
    let total = 0;
    for (const range of serialRanges(prefix)) {
      total += await this.#count(
        sql`from certificates where ca_id = ${caId} and ${inRange(range)}`,
      );
      await breath();
    }
    const { serial, serialHex } = this.#c;
    const hex = prefix.startsWith("0x");
    const begins = hex ? startsWith(serialHex, prefix.slice(2)) : startsWith(serial, prefix);
    // The index does not know kinds, and all kinds but leaves are few.
    return (
      total -
      (await this.#count(
        sql`from certificates indexed by certificates_paging where ca_id = ${caId} and kind in ('ca', 'responder', 'serving') and ${begins}`,
      ))
    );
  }

  async #count(rows: SQL): Promise<number> {
    const [row] = await this.#session.db.values<[number]>(sql`select ${counted} ${rows}`);
    return row?.[0] ?? 0;
  }

  async #ordinals(query: SQL): Promise<number[]> {
    return (await this.#session.db.values<[number]>(query)).map(([ordinal]) => ordinal);
  }

  /** Downwards from `below`, in slices as wide as their time allows, until `step` has enough. */
  async #walk(below: number, step: (low: number, high: number) => Promise<boolean>): Promise<void> {
    const indexed = this.#byTrigrams || this.#filter.spkiSha256 !== undefined;
    const least = indexed ? this.#limits.indexed : this.#limits.scanned;
    let width = least;
    for (let high = below; high > 0; await breath()) {
      const low = Math.max(0, high - width);
      const begun = performance.now();
      if (await step(low, high)) return;
      const took = performance.now() - begun;
      if (took < shortMs) width *= 4;
      else if (took > longMs) {
        // A query of many trigrams takes its time however narrow the slice: it would never end in ever narrower ones.
        width = Math.max(least, width >> 1);
      }
      high = low;
    }
  }
}

const storedStatuses = (status: CertificateFilter["status"]): readonly string[] => {
  if (status === undefined) return ["good", "revoked", "held"];
  return [status === "expired" ? "good" : status];
};

const rangeRow = ({ low, high, digits }: SerialRange): SQL =>
  sql`(${low}, ${high}, ${digits ?? null})`;

const inRange = ({ low, high, digits }: SerialRange): SQL =>
  sql`serial >= ${low} and serial < ${high} and length(serial) = coalesce(${digits ?? null}, length(serial))`;

/** A list of any length as one parameter, so that one statement serves all. */
const listed = (ordinals: readonly number[]): SQL =>
  sql`(select value from json_each(${JSON.stringify(ordinals)}))`;

const sliceLimits: SliceLimits = { few: 5000, indexed: 32_768, scanned: 2048, counted: 20_000 };
const shortMs = 2;
const longMs = 8;
