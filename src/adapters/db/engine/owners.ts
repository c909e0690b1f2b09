/**
 * Whose open intents are left-overs: those of this store before its start, and of replicas that are
 * gone.
 */

import { type Column, type SQL, sql } from "drizzle-orm";

import type { Standing } from "#domain/store.ts";

import type { Connection } from "./connection.ts";

/**
 * First half of the two-part advisory lock every PostgreSQL store holds while it lives; the second
 * is its number.
 */
export const presenceClass = 0x706b6964;

/**
 * True for rows of `owner` itself and of stores that hold no presence lock any more; on SQLite for
 * every row.
 */
export function ownedByDead(
  connection: Connection,
  column: Column,
  owner: number,
): SQL | undefined {
  // The data-directory lock leaves no other store alive.
  if (connection.dialect === "sqlite") return undefined;
  return sql`(${column} = ${owner} or ${column} not in (
    select objid::bigint from pg_locks where locktype = 'advisory' and classid::bigint = ${presenceClass}
    and objsubid = 2 and granted and database = (select oid from pg_database where datname = current_database())))`;
}

/** Which of the stores that hold a presence lock now `owner` is; on SQLite there is no other. */
export async function standingOf(connection: Connection, owner: number): Promise<Standing> {
  if (connection.dialect === "sqlite") return { place: 0, count: 1 };
  const row = await connection.row(
    `select count(distinct objid) filter (where objid::bigint < $1),
     count(distinct objid) filter (where objid::bigint <> $2)
     from pg_locks where locktype = 'advisory' and classid::bigint = $3
     and objid::bigint <> 0 and objsubid = 2 and granted
     and database = (select oid from pg_database where datname = current_database())`,
    [owner, owner, presenceClass],
  );
  const [before, others] = row ?? [];
  return { place: Number(before ?? 0), count: Number(others ?? 0) + 1 };
}

/** How many stores of PostgreSQL but `owner` hold a presence lock now. */
export async function otherStores(connection: Connection, owner: number): Promise<number> {
  const row = await connection.row(
    `select count(distinct objid) from pg_locks where locktype = 'advisory' and classid::bigint = $1
     and objid::bigint not in (0, $2) and objsubid = 2 and granted
     and database = (select oid from pg_database where datname = current_database())`,
    [presenceClass, owner],
  );
  return Number(row?.[0] ?? 0);
}
