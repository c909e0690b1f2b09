/** How many certificates a text finds: counted once, then kept current by what was stored since. */

import { and, eq, gt, lte, type SQL, sql } from "drizzle-orm";

import type { CertificateFilter } from "#domain/certificates/store.ts";
import { counted, type Connection } from "#adapters/db/engine/connection.ts";
import { markOf, newestAbove, partsOf } from "#adapters/db/engine/folds.ts";

/** Counts rows a filter selects with ordinals above `low` and up to `high`. */
export type CountRows = (filter: CertificateFilter, low: number, high: number) => Promise<number>;

/**
 * The rows of a CA at one moment: all with ordinals up to `through`, of which there were so many.
 */
interface Inventory {
  readonly through: number;
  readonly rows: number;
}

/** What is known of a filter at that moment. */
interface Known extends Inventory {
  readonly total: number | undefined;
}

/**
 * The exact total of filters whose matches never change: text and profile of a certificate stay
 * what they were stored as. A total counted once is added to by counting only newer rows; when rows
 * have been removed it is counted anew.
 */
export class TextTotals {
  readonly #connection: Connection;
  readonly #count: CountRows;
  readonly #kept = new Map<string, Inventory & { readonly total: number }>();

  constructor(connection: Connection, count: CountRows) {
    this.#connection = connection;
    this.#count = count;
  }

  /** The total now; undefined for filters that ask for what does change. */
  async of(filter: CertificateFilter): Promise<number | undefined> {
    const known = await this.known(filter);
    if (known === undefined) return undefined;
    const total = known.total ?? (await this.#count(filter, 0, known.through));
    this.learn(filter, known, total);
    return total;
  }

  /**
   * The total where it has been counted before, and the rows it stands for; undefined as for `of`.
   */
  async known(filter: CertificateFilter): Promise<Known | undefined> {
    const key = keyOf(filter);
    if (key === undefined) return undefined;
    const now = await this.#inventory(filter);
    const kept = this.#kept.get(key);
    if (kept === undefined || !(await this.#stands(filter, kept, now))) {
      return { ...now, total: undefined };
    }
    const total = kept.total + (await this.#count(filter, kept.through, now.through));
    this.learn(filter, now, total);
    return { ...now, total };
  }

  /** Keeps a total that was counted over these rows; the one asked for longest ago leaves. */
  learn(filter: CertificateFilter, { through, rows }: Inventory, total: number): void {
    const key = keyOf(filter);
    if (key === undefined) return;
    this.#kept.delete(key);
    this.#kept.set(key, { total, through, rows });
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > keptMax && oldest !== undefined) this.#kept.delete(oldest);
  }

  /** The last row stored and the number of the CA's rows, as one statement sees them. */
  async #inventory({ caId }: CertificateFilter): Promise<Inventory> {
    const c = this.#connection.t.certificates;
    const k = this.#connection.t.certificateCounts;
    const sum = sql`coalesce(sum(${k.number}), 0)`;
    const [row] = await this.#connection.db
      .select({
        through: sql<number | null>`(select max(${c.ordinal}) from ${c})`,
        rows: sql<number>`${sum} + ${this.#waiting(caId)}`,
      })
      .from(k)
      .where(eq(k.caId, caId));
    return { through: Number(row?.through ?? 0), rows: Number(row?.rows ?? 0) };
  }

  /** The number of those that no counter holds yet. */
  #waiting(caId: string): SQL {
    if (this.#connection.dialect === "postgres") return sql`0`;
    const above = newestAbove("certificates", sql.raw(markOf("certificates")));
    return sql`(select count(*) from ${above} and ca_id = ${caId} and kind = 'leaf')`;
  }

  /** True while every row counted then is there still. */
  async #stands({ caId }: CertificateFilter, kept: Inventory, now: Inventory): Promise<boolean> {
    if (kept.through === now.through) return kept.rows === now.rows;
    const c = this.#connection.t.certificates;
    const newer = and(gt(c.ordinal, kept.through), lte(c.ordinal, now.through));
    const leaves = and(eq(c.caId, caId), eq(c.kind, "leaf"), newer);
    let expected = kept.rows;
    for (const { from, rows } of await partsOf(this.#connection, "certificates")) {
      const added = this.#connection.db.select({ number: counted }).from(from);
      expected += (await added.where(and(rows, leaves)))[0]?.number ?? 0;
    }
    return expected === now.rows;
  }
}

function keyOf(filter: CertificateFilter): string | undefined {
  const { caId, text, profile, status, expiresBefore, serialPrefix } = filter;
  const { spkiSha256, requestedBy } = filter;
  const others = [status, expiresBefore, serialPrefix, spkiSha256, requestedBy];
  if (text === undefined || others.some((other) => other !== undefined)) return undefined;
  return JSON.stringify([caId, text.toLowerCase(), profile]);
}

const keptMax = 500;
