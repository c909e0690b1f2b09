/**
 * The inventory on SQLite, whose queries hold the thread they run on: found by index, else walked
 * in short slices. The newest rows, which no index holds yet, are always walked.
 */

import { and, desc, eq, gte, inArray, lt, type SQL, sql } from "drizzle-orm";

import { findSerials } from "#core/ids.ts";
import type { Page, PageKey } from "#domain/page.ts";
import type { CertificateFilter } from "#domain/certificates/store.ts";
import { breath, counted, type Connection } from "#adapters/db/engine/connection.ts";
import { foldedThrough, inIndexes, newestAbove } from "#adapters/db/engine/folds.ts";

import { countLeaves, countSerials, leavesOf } from "./certificate-counts.ts";
import { hasTrigrams, matching } from "./inventory-filter.ts";
import { type SerialRange, serialRanges } from "./serial-ranges.ts";
import { TextTotals } from "./text-totals.ts";

type Row = Connection["t"]["certificates"]["$inferSelect"];

/** How much one query may look at. */
export interface SliceLimits {
  /** Rows that are sorted and read as a whole. */
  readonly few: number;
  /**
   * Least width of a slice, where it begins: with an index that selects, and where every row is
   * looked at.
   */
  readonly indexed: number;
  readonly scanned: number;
  /** Entries of the expiry index counted at once. */
  readonly counted: number;
}

/**
 * Rows a filter selects, last stored first; the walk lets others run between slices of a few
 * milliseconds.
 */
export function slicedInventory(connection: Connection, limits: SliceLimits = sliceLimits) {
  const { db, t } = connection;
  const searching = async (filter: CertificateFilter) => {
    const mark = await foldedThrough(connection, "certificates");
    return new Search({ connection, filter, limits, mark });
  };
  const totals = new TextTotals(connection, async (filter, low, high) =>
    (await searching(filter)).total(low, high),
  );
  return async (
    filter: CertificateFilter,
    limit: number,
    after: PageKey | undefined,
  ): Promise<Page<Row>> => {
    const search = await searching(filter);
    const few = await search.few();
    const known = few === undefined ? await totals.known(filter) : undefined;
    const below = after?.at ?? (known === undefined ? await search.end() : known.through + 1);
    const wanted = {
      below,
      limit: limit + 1,
      known: after === undefined ? known?.total : undefined,
    };
    const newest = few === undefined ? await search.newest(wanted) : search.among(few, wanted);
    const whole = after === undefined && newest.length <= limit ? newest.length : undefined;
    if (known !== undefined && whole !== undefined) totals.learn(filter, known, whole);
    const total = () => totals.of(filter);
    const deps = { search, few, after, whole, known: known?.total, total };
    const [sum, dear] = await totalOf(deps);
    const kept = newest.slice(0, limit);
    const rows = await db
      .select()
      .from(t.certificates)
      .where(inArray(t.certificates.ordinal, listed(kept)))
      .orderBy(desc(t.certificates.ordinal));
    const next = newest.length > limit ? { at: kept.at(-1) ?? 0, id: dear } : undefined;
    return { items: rows, total: sum, next };
  };
}

interface TotalDeps {
  readonly search: Search;
  readonly few: readonly number[] | undefined;
  readonly after: PageKey | undefined;
  /** How many match, when a first page was walked to its end. */
  readonly whole: number | undefined;
  /** What is known to match now, without a walk. */
  readonly known: number | undefined;
  /** The same, counted when it is not known. */
  readonly total: () => Promise<number | undefined>;
}

/**
 * The total, and as text what the cursor keeps of it: one that was dear to count serves for the
 * whole walk.
 */
async function totalOf(deps: TotalDeps): Promise<readonly [total: number, kept: string]> {
  const { search, few, after, whole, known } = deps;
  if (few !== undefined) return [few.length, ""];
  const cheap = await search.countedTotal();
  if (cheap !== undefined) return [cheap, ""];
  if (known !== undefined) return [known, String(known)];
  if (after !== undefined && after.id !== "") return [Number(after.id), after.id];
  if (whole !== undefined) return [whole, ""];
  const total = (await deps.total()) ?? (await search.total(0, (await search.end()) - 1));
  return [total, String(total)];
}

/**
 * The rows of a page: below an ordinal, at most so many, and no more than are known to match at
 * all.
 */
interface Wanted {
  readonly below: number;
  readonly limit: number;
  readonly known: number | undefined;
}

interface SearchDeps {
  readonly connection: Connection;
  readonly filter: CertificateFilter;
  readonly limits: SliceLimits;
  /** Rows above it are looked at one by one, and it stays where it is for the whole search. */
  readonly mark: number;
}

class Search {
  readonly #connection: Connection;
  readonly #mark: number;
  readonly #filter: CertificateFilter;
  readonly #limits: SliceLimits;
  readonly #c: Connection["t"]["certificates"];

  constructor({ connection, filter, limits, mark }: SearchDeps) {
    this.#limits = limits;
    this.#mark = mark;
    this.#connection = connection;
    this.#filter = filter;
    this.#c = connection.t.certificates;
  }

  /** One past the last row stored. */
  async end(): Promise<number> {
    const [row] = await this.#connection.db.values<[number | null]>(
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
    const matched = and(inArray(ordinal, listed(found)), matching(this.#connection, this.#filter));
    const sorted = await this.#ordinals(
      sql`select ordinal from certificates not indexed where ${matched} order by ordinal desc`,
    );
    // Serials have an index that holds all of them.
    if (this.#filter.serialPrefix !== undefined) return sorted;
    const newest = await this.#newest();
    return newest.length > this.#limits.few ? undefined : [...newest, ...sorted];
  }

  /** Those that match and are in no index yet, newest first; no more than are few, and one. */
  async #newest(): Promise<readonly number[]> {
    const matched = matching(this.#connection, this.#filter, "compared");
    return this.#ordinals(
      sql`select ordinal from ${newestAbove("certificates", this.#mark)} and ${matched}
        order by ordinal desc limit ${this.#limits.few + 1}`,
    );
  }

  /** Those wanted of the few. */
  among(few: readonly number[], { below, limit }: Wanted): readonly number[] {
    return few.filter((ordinal) => ordinal < below).slice(0, limit);
  }

  /** Those wanted, newest first. */
  async newest({ below, limit: page, known = page }: Wanted): Promise<readonly number[]> {
    const limit = Math.min(page, known);
    const found: number[] = [];
    if (limit === 0) return found;
    const exact = await this.#bySerials();
    await this.#walk(below, async (low, high) => {
      const rows = this.#rows(low, high);
      // By the rows of the text index, which it gives in that order itself.
      const indexed = this.#byTrigrams && low <= this.#mark;
      const order = indexed ? sql`certificate_search.rowid` : sql`ordinal`;
      const more = await this.#ordinals(
        sql`select ordinal ${rows} order by ${order} desc limit ${limit - found.length}`,
      );
      const own = exact.filter((ordinal) => ordinal >= low && ordinal < high);
      found.push(...[...more, ...own].sort((a, b) => b - a));
      return found.length >= limit;
    });
    return found.slice(0, limit);
  }

  /** How many match, where counters or an index know; else undefined. */
  async countedTotal(): Promise<number | undefined> {
    const { status, text, serialPrefix, expiresBefore, profile } = this.#filter;
    const { spkiSha256, requestedBy } = this.#filter;
    const leaves = leavesOf(this.#filter);
    if (leaves !== undefined) return countLeaves(this.#connection, leaves, this.#limits.counted);
    const others = [status, text, expiresBefore, spkiSha256, requestedBy, profile];
    if (serialPrefix === undefined || others.some((other) => other !== undefined)) return undefined;
    return countSerials(this.#connection, this.#filter.caId, serialPrefix);
  }

  /** How many match with ordinals above `low` and up to `high`, counted row by row. */
  async total(low: number, high: number): Promise<number> {
    const exact = await this.#bySerials();
    const neighbours = this.#onlyText ? await this.#neighbours() : undefined;
    let total = exact.filter((ordinal) => ordinal > low && ordinal <= high).length;
    const step = async (from: number, below: number) => {
      const indexed = neighbours !== undefined && from <= this.#mark;
      const alone = indexed && !(await this.#mixed(neighbours, from, below));
      total += await this.#count(alone ? this.#found(from, below) : this.#rows(from, below));
      return false;
    };
    await this.#walk(high + 1, step, low + 1);
    return total;
  }

  /**
   * Rows of a range of ordinals on one side of the mark that match; below it text is found by its
   * trigrams when it has any.
   */
  #rows(low: number, high: number): SQL {
    const within = and(gte(this.#c.ordinal, low), lt(this.#c.ordinal, high));
    const newest = low > this.#mark;
    const search = newest && this.#byTrigrams ? "alike" : "compared";
    const compared = and(matching(this.#connection, this.#filter, search), within);
    if (newest) return sql`from certificates not indexed where ${compared}`;
    // The index of keys holds every row, and a planner would prefer one that does not.
    if (this.#filter.spkiSha256 !== undefined) return sql`from certificates where ${compared}`;
    if (!this.#byTrigrams) return sql`from certificates where ${inIndexes} and ${compared}`;
    return sql`from certificate_search cross join certificates on ordinal = certificate_search.rowid
      where ${this.#worded(low, high)} and ${matching(this.#connection, this.#filter, "found")}`;
  }

  /**
   * The same where every leaf is the CA's: looking at each row would cost three times as much as
   * finding it.
   */
  #found(low: number, high: number): SQL {
    return sql`from certificate_search where ${this.#worded(low, high)}`;
  }

  #worded(low: number, high: number): SQL {
    const phrase = `"${this.#filter.text?.toLowerCase().replaceAll('"', '""')}"`;
    return sql`certificate_search match ${phrase}
        and certificate_search.rowid >= ${low} and certificate_search.rowid < ${high}`;
  }

  /** True when the text decides alone, among the leaves of the CA. */
  get #onlyText(): boolean {
    const { profile, status, serialPrefix, expiresBefore, requestedBy } = this.#filter;
    const others = [profile, status, serialPrefix, expiresBefore, requestedBy];
    return this.#byTrigrams && others.every((other) => other === undefined);
  }

  /** The other CAs with leaves; undefined when they are too many to look at. */
  async #neighbours(): Promise<readonly string[] | undefined> {
    const found = await this.#connection.db.values<[string]>(
      sql`select distinct ca_id from certificate_counts where ca_id <> ${this.#filter.caId} limit ${neighboursMax + 1}`,
    );
    return found.length > neighboursMax ? undefined : found.map(([id]) => id);
  }

  /** True when leaves of others are among those ordinals. */
  async #mixed(neighbours: readonly string[], low: number, high: number): Promise<boolean> {
    const theirs = sql`${inIndexes} and ca_id in ${listed(neighbours)} and kind = 'leaf' and ordinal >= ${low} and ordinal < ${high}`;
    const found = await this.#ordinals(
      sql`select ordinal from certificates indexed by certificates_paging where ${theirs} limit 1`,
    );
    return found.length > 0;
  }

  get #byTrigrams(): boolean {
    const { text, spkiSha256 } = this.#filter;
    return text !== undefined && spkiSha256 === undefined && hasTrigrams(text);
  }

  /** Finds the rows whose whole serial the text may mean, unless its words find them already. */
  async #bySerials(): Promise<readonly number[]> {
    const { text = "" } = this.#filter;
    const found: number[] = [];
    for (const serial of this.#byTrigrams ? findSerials(text) : []) {
      const its = and(eq(this.#c.serial, serial), matching(this.#connection, this.#filter));
      const [ordinal] = await this.#ordinals(sql`select ordinal from certificates where ${its}`);
      if (ordinal === undefined) continue;
      const worded = await this.#count(this.#rows(ordinal, ordinal + 1));
      if (worded === 0) found.push(ordinal);
    }
    return found;
  }

  /** A query of ordinals by the index that may narrow the filter most. */
  #candidates(): SQL | undefined {
    const { caId, serialPrefix, status, expiresBefore, now } = this.#filter;
    if (serialPrefix !== undefined) {
      const ranges = sql.join(serialRanges(serialPrefix).map(rangeRow), sql`, `);
      const found = sql`certificates on ca_id = ${caId} and serial >= low and serial <= last`;
      return serialRanges(serialPrefix).length === 0
        ? sql`select ordinal from certificates where false`
        : sql`with ranges(low, last, digits) as (values ${ranges})
            select ordinal from ranges cross join ${found} where length(serial) = coalesce(digits, length(serial))`;
    }
    const statuses = storedStatuses(status);
    const bound = status === "expired" ? Math.min(now, expiresBefore ?? now) : expiresBefore;
    if (bound === undefined && statuses.includes("good")) return undefined;
    const index = sql`${inIndexes} and +ordinal <= ${this.#mark} and ca_id = ${caId} and kind = 'leaf' and status in ${statuses}`;
    const before = bound === undefined ? sql`` : sql`and not_after < ${bound}`;
    return sql`select ordinal from certificates indexed by certificates_expiry where ${index} ${before}`;
  }

  async #count(rows: SQL): Promise<number> {
    const [row] = await this.#connection.db.values<[number]>(sql`select ${counted} ${rows}`);
    return row?.[0] ?? 0;
  }

  async #ordinals(query: SQL): Promise<number[]> {
    return (await this.#connection.db.values<[number]>(query)).map(([ordinal]) => ordinal);
  }

  /**
   * Downwards from `below` to `end`, in slices as wide as their time allows, until `step` has
   * enough.
   */
  async #walk(
    below: number,
    step: (low: number, high: number) => Promise<boolean>,
    end = 0,
  ): Promise<void> {
    const indexed = this.#byTrigrams || this.#filter.spkiSha256 !== undefined;
    const least = indexed ? this.#limits.indexed : this.#limits.scanned;
    let width = least;
    let rate = Number.POSITIVE_INFINITY;
    for (let high = below; high > end; await breath()) {
      const newest = high > this.#mark + 1;
      // No slice reaches across the mark.
      const low = newest
        ? Math.max(end, this.#mark + 1, high - this.#limits.scanned)
        : Math.max(end, high - width);
      const begun = performance.now();
      if (await step(low, high)) return;
      const took = performance.now() - begun;
      const before = rate;
      rate = took / width;
      high = low;
      // What compares rows is no measure for what finds them.
      if (newest) continue;
      if (took < shortMs) width *= 4;
      // A query of many trigrams takes its time however narrow the slice: then wide ones cost no
      // more.
      else if (took < longMs || rate < before * 0.75) width *= 2;
      else width = Math.max(least, width >> 1);
    }
  }
}

const storedStatuses = (status: CertificateFilter["status"]): readonly string[] => {
  if (status === undefined) return ["good", "revoked", "held"];
  return [status === "expired" ? "good" : status];
};

const rangeRow = ({ low, last, digits }: SerialRange): SQL =>
  sql`(${low}, ${last}, ${digits ?? null})`;

/** A list of any length as one parameter, so that one statement serves all. */
const listed = (values: readonly (number | string)[]): SQL =>
  sql`(select value from json_each(${JSON.stringify(values)}))`;

const sliceLimits: SliceLimits = { few: 5000, indexed: 32_768, scanned: 2048, counted: 20_000 };
/** CAs whose leaves are looked for before a slice is counted. */
const neighboursMax = 50;
const shortMs = 2;
const longMs = 8;
