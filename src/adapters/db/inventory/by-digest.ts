/**
 * The certificate of a CA with a SHA-256. The index knows only how that begins; whoever asks
 * digests what is found here. It names its serial, so a CA has at most one.
 */

import { and, getTableColumns, inArray, sql, Subquery } from "drizzle-orm";

import type { CertificateFilter } from "#domain/certificates/store.ts";
import type { Connection } from "#adapters/db/engine/connection.ts";
import { foldedThrough, inIndexes, newestAbove } from "#adapters/db/engine/folds.ts";
import { digestHead } from "#adapters/db/tables/digest-head.ts";

import { matching } from "./inventory-filter.ts";

type Row = Connection["t"]["certificates"]["$inferSelect"];

/** Rows a filter selects whose digest begins as this one does. */
export async function beginningAlike(
  connection: Connection,
  filter: CertificateFilter,
  sha256: string,
): Promise<readonly Row[]> {
  const { db, dialect, t } = connection;
  const ordinals = await ordinalsOf(connection, digestHead(sha256));
  if (ordinals.length === 0) return [];
  const those = inArray(t.certificates.ordinal, [...ordinals]);
  // By their numbers: without statistics SQLite may prefer an index that holds all of the CA.
  const from =
    dialect === "postgres"
      ? t.certificates
      : new Subquery(
          sql`select * from certificates not indexed where ${those}`,
          {},
          "certificates",
        );
  return db
    .select(getTableColumns(t.certificates))
    .from(from)
    .where(and(those, matching(connection, filter, "compared")));
}

/** Of any CA; SQLite is told the index, and walks the newest rows, which it does not hold. */
async function ordinalsOf(connection: Connection, head: number): Promise<readonly number[]> {
  const { db, dialect, t } = connection;
  const { ordinal, digestHead: its } = t.certificates;
  if (dialect === "postgres") {
    const rows = await db.select({ ordinal }).from(t.certificates).where(sql`${its} = ${head}`);
    return rows.map((row) => row.ordinal);
  }
  const mark = await foldedThrough(connection, "certificates");
  const found = await db.values<[number]>(
    sql`select ordinal from certificates indexed by certificates_digest
        where ${inIndexes} and digest_head = ${head}
      union select ordinal from ${newestAbove("certificates", mark)} and digest_head = ${head}`,
  );
  return found.map(([number]) => number);
}
