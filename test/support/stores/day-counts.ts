/** What the counters of days say, what they should say, and a database of before there were any. */

import type { DatabaseUnderTest } from "./stores.ts";

/** The counters of a database, and the same counted from its rows. */
export async function daysIn({ query }: Pick<DatabaseUnderTest, "query">) {
  const plain = (rows: readonly unknown[]) =>
    (rows as readonly Row[]) // The two queries below name these columns.
      .map(({ ca_id, day, kind, number }) => `${ca_id} ${day} ${kind} ${number}`)
      .sort();
  return { kept: plain(await query(kept)), real: plain(await query(real)) };
}

/** As the binary before the migration left it. */
export async function withoutDayCounts({ target, tamper }: DatabaseUnderTest): Promise<void> {
  const undone = target.startsWith("postgres") ? onPostgres : onSqlite;
  for (const text of undone) await tamper(text);
  await tamper("delete from schema_migrations where version > 12");
}

interface Row {
  readonly ca_id: string;
  readonly day: number;
  readonly kind: string;
  readonly number: number;
}

const kept = "select ca_id, day, kind, number from day_counts";
const real = `select ca_id, created_at / 86400000 as day, 'issued' as kind, count(*) as number
    from certificates where kind = 'leaf' group by 1, 2
  union all select ca_id, coalesce(revoked_at, created_at) / 86400000, 'revoked', count(*)
    from certificates where kind = 'leaf' and status = 'revoked' group by 1, 2`;
const onSqlite = ["drop trigger day_counts_revoked", "drop table day_counts"];
const onPostgres = [
  "drop trigger day_counts_added on certificates",
  "drop trigger day_counts_changed on certificates",
  "drop function day_counts_added",
  "drop function day_counts_changed",
  "drop table day_counts",
];
