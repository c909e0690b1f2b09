/**
 * Revocations as people page through them: newest first, found by the first digits of a serial,
 * counted without a walk.
 */

import { and, desc, eq, inArray, sql } from "drizzle-orm";

import type {
  RevocationFilter,
  RevocationReads,
  RevocationRecord,
} from "#domain/revocation/store.ts";
import { counted, olderThan, pageOf, type Connection } from "#adapters/db/engine/connection.ts";

import { countedRanges, serialRanges, serialsBeginning } from "./serial-ranges.ts";

/** `record` makes a record of a row; at most `fewMax` rows are sorted as a whole. */
export function revokedList(
  connection: Connection,
  record: (row: Connection["t"]["revocations"]["$inferSelect"]) => RevocationRecord,
  fewMax = sortedMax,
): RevocationReads["page"] {
  const { db, t } = connection;
  const r = t.revocations;
  return async (filter, limit, after) => {
    const few = await fewOf(connection, filter, fewMax);
    // The sign keeps SQLite on the index by sequence, whose order is the page's.
    const serial = connection.dialect === "sqlite" ? sql`+${r.serial}` : sql`${r.serial}`;
    const found = await db
      .select()
      .from(r)
      .where(
        and(
          eq(r.caId, filter.caId),
          olderThan(r.sequence, r.serial, after),
          filter.serialPrefix === undefined
            ? undefined
            : serialsBeginning(serial, filter.serialPrefix),
          few && inArray(r.sequence, sql`(select value from json_each(${JSON.stringify(few)}))`),
        ),
      )
      .orderBy(desc(r.sequence), desc(r.serial))
      .limit(limit + 1);
    const total = few === undefined ? await totalOf(connection, filter) : few.length;
    const keyOf = (row: RevocationRecord) => ({ at: row.sequence, id: row.serial });
    return pageOf(found.map(record), limit, total, keyOf);
  };
}

/**
 * The sequence numbers of serials in these ranges where they are few. PostgreSQL plans by itself.
 */
async function fewOf(
  { db, dialect }: Connection,
  { caId, serialPrefix }: RevocationFilter,
  fewMax: number,
): Promise<readonly number[] | undefined> {
  if (serialPrefix === undefined || dialect === "postgres") return undefined;
  const ranges = serialRanges(serialPrefix);
  if (ranges.length === 0) return [];
  const rows = ranges.map(({ low, last, digits }) => sql`(${low}, ${last}, ${digits ?? null})`);
  const found = await db.values<[number]>(
    sql`with ranges(low, last, digits) as (values ${sql.join(rows, sql`, `)})
      select sequence from ranges cross join revocations on ca_id = ${caId} and serial >= low and serial <= last
      where length(serial) = coalesce(digits, length(serial)) limit ${fewMax + 1}`,
  );
  return found.length > fewMax ? undefined : found.map(([sequence]) => sequence);
}

/** Without a prefix a counter knows; with one each range is counted by the index. */
async function totalOf(
  { db, dialect, t }: Connection,
  { caId, serialPrefix }: RevocationFilter,
): Promise<number> {
  if (serialPrefix === undefined) {
    const k = t.revocationCounts;
    const [row] = await db.select({ number: k.number }).from(k).where(eq(k.caId, caId));
    return row?.number ?? 0;
  }
  const r = t.revocations;
  let total = 0;
  for (const range of countedRanges(dialect, sql`${r.serial}`, serialPrefix)) {
    const within = and(eq(r.caId, caId), range);
    const [row] = await db.select({ number: counted }).from(r).where(within);
    total += row?.number ?? 0;
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
  return total;
}

const sortedMax = 5000;
