/**
 * Lists that may have a million rows: each is put together from parts of an index, which are read
 * and counted some rows at a time, so that others have their turn.
 */

import { and, asc, desc, eq, gt, type SQL, sql } from "drizzle-orm";
import type { SQLiteColumn, SQLiteTable } from "drizzle-orm/sqlite-core";

import type { PageKey } from "#domain/page.ts";
import { breath, counted, olderThan, type Connection } from "#adapters/db/engine/connection.ts";

/** Rows that lie together in an index, in the order of two columns. */
export interface Part {
  readonly table: SQLiteTable;
  /** What the index finds them by. */
  readonly where: SQL | undefined;
  readonly keys: readonly [SQLiteColumn, SQLiteColumn];
  /** Which of them count; all where it is undefined. */
  readonly keep?: SQL | undefined;
}

/** How many rows of a part count. */
export async function countOf(connection: Connection, part: Part): Promise<number> {
  const { db, dialect } = connection;
  const { table, where, keys, keep } = part;
  const [first, second] = keys;
  let total = 0;
  let behind: SQL | undefined;
  for (;;) {
    const rest = and(where, behind);
    const order = [asc(first), asc(second)] as const;
    const [end] =
      dialect === "postgres"
        ? []
        : await db
            .select({ first, second })
            .from(table)
            .where(rest)
            .orderBy(...order)
            .limit(1)
            .offset(countedAtOnce - 1);
    if (end === undefined) {
      const [last] = await db.select({ total: counted }).from(table).where(and(rest, keep));
      return total + (last?.total ?? 0);
    }
    total += keep === undefined ? countedAtOnce : await keptOf(connection, part, rest);
    behind = sql`(${first}, ${second}) > (${end.first}, ${end.second})`;
    await breath();
  }
}

/** Of the next rows those that count; a limit within, for SQLite looks for one end of a range. */
async function keptOf({ db }: Connection, part: Part, rest: SQL | undefined): Promise<number> {
  const { table, keys, keep } = part;
  const next = db
    .select({ kept: sql<number>`(${keep})`.as("kept") })
    .from(table)
    .where(rest)
    .orderBy(asc(keys[0]), asc(keys[1]))
    .limit(countedAtOnce)
    .as("next");
  const [row] = await db.select({ total: sql`sum(${next.kept})`.mapWith(Number) }).from(next);
  return row?.total ?? 0;
}

/**
 * The newest rows of all parts that lie behind `after`, as many as `limit`; the keys of parts are
 * when a row was made, and its id.
 */
export async function newestOf(
  connection: Connection,
  parts: readonly Part[],
  limit: number,
  after: PageKey | undefined,
): Promise<readonly PageKey[]> {
  const found: PageKey[] = [];
  for (const part of parts) found.push(...(await newestIn(connection, part, limit, after)));
  return found.sort((a, b) => b.at - a.at || (a.id < b.id ? 1 : -1)).slice(0, limit);
}

async function newestIn(
  { db, dialect }: Connection,
  { table, where, keys, keep }: Part,
  limit: number,
  after: PageKey | undefined,
): Promise<readonly PageKey[]> {
  const [at, id] = keys;
  const kept = keep === undefined ? sql<number>`1` : sql<number>`(${keep})`;
  const atOnce = keep === undefined ? limit : Math.max(limit, walkedAtOnce);
  const found: PageKey[] = [];
  for (let behind = after; ; ) {
    const rows: { at: unknown; id: unknown; kept: unknown }[] = await db
      .select({ at, id, kept })
      .from(table)
      .where(and(where, olderThan(at, id, behind)))
      .orderBy(desc(at), desc(id))
      .limit(atOnce);
    const walked = rows.map((row) => ({ at: Number(row.at), id: String(row.id), kept: row.kept }));
    found.push(...walked.filter((row) => Boolean(row.kept)));
    behind = walked.at(-1);
    if (found.length >= limit || walked.length < atOnce) return found.slice(0, limit);
    if (dialect === "sqlite") await breath();
  }
}

/** The pairs of values that two columns have, of which an index begins with both. */
export async function pairsOf(
  { db }: Connection,
  table: SQLiteTable,
  [first, second]: readonly [SQLiteColumn, SQLiteColumn],
): Promise<readonly (readonly [string, string])[]> {
  const next = async (where: SQL | undefined) => {
    const rows: { first: unknown; second: unknown }[] = await db
      .select({ first, second })
      .from(table)
      .where(where)
      .orderBy(asc(first), asc(second))
      .limit(1);
    return rows.map((row) => [String(row.first), String(row.second)] as const)[0];
  };
  const pairs: (readonly [string, string])[] = [];
  let pair = await next(undefined);
  while (pair !== undefined) {
    pairs.push(pair);
    const [one, other] = pair;
    // Beyond both at once SQLite would look at every row of the pair.
    const beside = await next(and(eq(first, one), gt(second, other)));
    pair = beside ?? (await next(gt(first, one)));
  }
  return pairs;
}

const countedAtOnce = 5000;
const walkedAtOnce = 500;
