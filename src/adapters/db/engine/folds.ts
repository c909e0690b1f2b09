/**
 * Taking new rows into indexes, counters and text index behind their commit, many at a time, and
 * the mark up to which that has been done. SQLite only: there each of them costs a commit a page.
 */

import { type SQL, Subquery, sql } from "drizzle-orm";
import type { SQLiteTable } from "drizzle-orm/sqlite-core";

import type { Connection, Counted } from "./connection.ts";

/** The tables whose rows are taken in later. */
export const foldedTables = ["certificates", "events"] as const;
export type FoldedTable = (typeof foldedTables)[number];

/**
 * The number up to which rows are taken in, as SQL that sees the state of its statement: what sums
 * a counter and the rows above its mark must see both at one moment.
 */
export const markOf = (table: FoldedTable): string =>
  `(select through from folds where name = '${table}')`;

/**
 * The same as last committed. It only grows, and rows up to it stay taken in: a mark read once
 * divides the rows of any later statement into two parts without a gap. Where nothing is deferred
 * it lies above every row.
 */
export async function foldedThrough(connection: Connection, table: FoldedTable): Promise<number> {
  if (connection.dialect === "postgres") return Number.MAX_SAFE_INTEGER;
  const row = await connection.row("select through from folds where name = ?", [table]);
  return Number(row?.[0] ?? 0);
}

/** A part of a table: what to read from, and which of its rows. */
export interface Part {
  readonly from: SQLiteTable | Subquery;
  readonly rows: SQL | undefined;
}

/**
 * All rows, in parts that do not overlap: those the indexes hold, and the newest, which are walked.
 * What is asked of both is together what is asked of the table, whatever is taken in meanwhile.
 */
export async function partsOf(connection: Connection, table: FoldedTable): Promise<Parts> {
  return divided(connection, table, await foldedThrough(connection, table));
}

type Parts = readonly [indexed: Part] | readonly [indexed: Part, newest: Part];

/** The parts below and above a mark that was read before. */
export function divided(
  { dialect, t }: Pick<Connection, "dialect" | "t">,
  table: FoldedTable,
  mark: number,
): Parts {
  if (dialect === "postgres") return [{ from: t[table], rows: undefined }];
  // The sign keeps SQLite from an index for the sake of this bound, which nearly all rows keep.
  const indexed = sql`${inIndexes} and +${numberOf[table]} <= ${mark}`;
  // Under the name of the table, so that its columns are read from it as they are.
  const newest = new Subquery(sql`select * from ${newestAbove(table, mark)}`, {}, table);
  return [
    { from: t[table], rows: indexed },
    { from: newest, rows: undefined },
  ];
}

/**
 * The events of a certificate among those taken in: by its number, and those that had none when
 * they were taken in by what they name. Both indexes are named, since without statistics SQLite
 * may prefer that of an action, which can hold nearly all events; and it is one statement, since a
 * removed certificate's events go from one to the other.
 */
export const eventsNamed = (caId: string, serial: string): Subquery =>
  new Subquery(
    sql`select * from events indexed by events_numbered where folded and certificate_ordinal =
        (select ordinal from certificates where ca_id = ${caId} and serial = ${serial})
      union all
      select * from events indexed by events_certificate where folded
        and certificate_ordinal is null and serial <> '' and ca_id = ${caId} and serial = ${serial}`,
    {},
    "events",
  );

/** Literal, not a parameter: otherwise SQLite may not use a partial index. */
export const inIndexes = sql.raw("folded");

/** Counts certificates up, past every number a row had before: also one that was removed. */
export const ordinals: Counted = {
  column: "ordinal",
  first: `(select max(removed, coalesce((select max(ordinal) from certificates), 0)) + 1
    from folds where name = 'certificates')`,
};

/**
 * What to read the rows above a mark from: `<table> not indexed where …`, to go on with `and`. By
 * their numbers, whatever a planner without statistics may think of an index.
 */
export const newestAbove = (table: FoldedTable, mark: SQL | number): SQL =>
  sql`${sql.raw(`${table} not indexed`)} where ${numberOf[table]} > ${mark}`;

/**
 * Takes in the oldest rows that wait, at most so many of each table, within the caller's unit; true
 * when more are left.
 */
export async function foldSome(
  writer: Connection,
  rowsMax: number,
  tables: readonly FoldedTable[] = foldedTables,
): Promise<boolean> {
  let more = false;
  for (const table of tables) {
    const row = await writer.row(waiting[table], []);
    const [mark, last] = (row ?? []).map((value) => Number(value ?? 0));
    if (mark === undefined || last === undefined || last <= mark) continue;
    const through = Math.min(last, mark + rowsMax);
    for (const text of derived[table]) await writer.run(text, [mark, through]);
    await writer.run(marked[table], [mark, through]);
    await writer.run("update folds set through = ? where name = ?", [through, table]);
    more ||= through < last;
  }
  return more;
}

/**
 * Takes in all rows of a database that was loaded as a whole with its rows marked as taken in:
 * counters and text index, and where the marks are; within the caller's unit, before anything else
 * was taken in.
 */
export async function deriveFolded(writer: Connection): Promise<void> {
  for (const table of foldedTables) {
    const last = Number((await writer.row(waiting[table], []))?.[1] ?? 0);
    for (const text of derived[table]) await writer.run(text, [0, last]);
    await writer.run("update folds set through = ? where name = ?", [last, table]);
  }
}

/** How many numbers lie above the mark: at least as many as rows wait. */
export async function rowsWaiting(connection: Connection, table: FoldedTable): Promise<number> {
  const row = await connection.row(waiting[table], []);
  return Math.max(0, Number(row?.[1] ?? 0) - Number(row?.[0] ?? 0));
}

const numberOf = {
  certificates: sql.raw("certificates.ordinal"),
  events: sql.raw("events.seq"),
} as const;

const waiting = {
  certificates: `select ${markOf("certificates")}, (select max(ordinal) from certificates)`,
  events: `select ${markOf("events")}, (select max(seq) from events)`,
} as const;

const leaves =
  "from certificates not indexed where ordinal > ?1 and ordinal <= ?2 and kind = 'leaf'";
const add = "on conflict do update set number = number + excluded.number";

/**
 * What the triggers of the table keep current for rows that have been taken in: days since 1970
 * (UTC), hours for the ends of those that live.
 */
const derived = {
  certificates: [
    `insert into certificate_counts (ca_id, status, day, profile, number)
       select ca_id, status, not_after / 86400000, profile, count(*) ${leaves} group by 1, 2, 3, 4 ${add}`,
    `insert into tenant_counts (tenant, kind, slot, number)
       select tenant, 'issued', created_at / 86400000, count(*) ${leaves} group by 1, 3 ${add}`,
    `insert into tenant_counts (tenant, kind, slot, number)
       select tenant, 'living', not_after / 3600000, count(*) ${leaves} and status <> 'revoked'
       group by 1, 3 ${add}`,
    `insert into tenant_counts (tenant, kind, slot, number)
       select tenant, 'revoked', coalesce(revoked_at, created_at) / 86400000, count(*) ${leaves} and status = 'revoked'
       group by 1, 3 ${add}`,
    `insert into day_counts (ca_id, day, kind, number)
       select ca_id, created_at / 86400000, 'issued', count(*) ${leaves} group by 1, 2 ${add}`,
    `insert into day_counts (ca_id, day, kind, number)
       select ca_id, coalesce(revoked_at, created_at) / 86400000, 'revoked', count(*) ${leaves} and status = 'revoked'
       group by 1, 2 ${add}`,
    `insert into certificate_search (rowid, search) select ordinal, search ${leaves}`,
  ],
  events: [],
} as const;

/** After that the rows are taken in. */
const marked = {
  certificates:
    "update certificates not indexed set folded = 1 where ordinal > ?1 and ordinal <= ?2",
  // The look-up finds a certificate whether it has been taken in or not, and none for most others.
  events: `update events not indexed set folded = 1, certificate_ordinal =
       (select ordinal from certificates c where c.ca_id = events.ca_id and c.serial = events.serial)
     where seq > ?1 and seq <= ?2`,
} as const;
