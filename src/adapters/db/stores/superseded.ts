/**
 * Which certificates have a later one of the same identity (EXP-2), by an index and not by a walk.
 */

import { and, eq, inArray, sql } from "drizzle-orm";

import type { CaId } from "#core/ids.ts";
import type { Instant } from "#core/time.ts";
import type { CertificateReads } from "#domain/certificates/store.ts";
import type { Connection } from "#adapters/db/engine/connection.ts";
import { foldedThrough, inIndexes, newestRows } from "#adapters/db/engine/folds.ts";

/**
 * Of these serials of a CA, those that another good certificate of the lineage outlives. The newest
 * rows, in no index yet, are read once for all of them.
 */
export function supersededOf(connection: Connection): CertificateReads["superseded"] {
  const { db, t, dialect } = connection;
  const c = t.certificates;
  const indexed = dialect === "sqlite" ? sql`n.${inIndexes} and` : sql``;
  return async (ca, serials, now) => {
    if (serials.length === 0) return new Set();
    const mark = await foldedThrough(connection, "certificates");
    const later = sql`exists (select 1 from certificates n join cas b on b.id = n.ca_id
      where ${indexed} n.identity = certificates.identity and n.not_after > certificates.not_after
      and n.not_after >= ${now} and n.status = 'good' and n.kind = 'leaf'
      and b.lineage = (select a.lineage from cas a where a.id = certificates.ca_id))`;
    const named = and(eq(c.caId, ca), inArray(c.serial, [...serials]), sql`identity <> ''`);
    const rows = db.select({ serial: c.serial }).from(c).where(and(named, later));
    const found = new Set((await rows).map(({ serial }) => serial));
    if (dialect === "sqlite") {
      const asked = { serial: c.serial, identity: c.identity, notAfter: c.notAfter };
      const rest = await db.select(asked).from(c).where(named);
      const ends = await newestEnds(connection, { ca, mark, now }, rest);
      for (const { serial, identity, notAfter } of rest) {
        if ((ends.get(identity) ?? 0) > notAfter) found.add(serial);
      }
    }
    return new Set(serials.filter((serial) => found.has(serial)));
  };
}

/** The last end of the good certificates of the lineage above the mark, by identity. */
async function newestEnds(
  { db }: Connection,
  { ca, mark, now }: { readonly ca: CaId; readonly mark: number; readonly now: Instant },
  asked: readonly { readonly identity: string }[],
): Promise<ReadonlyMap<string, number>> {
  const identities = JSON.stringify(asked.map(({ identity }) => identity));
  const rows = await db.values<[string, number]>(
    sql`select identity, max(certificates.not_after) from certificates not indexed
      cross join cas b on b.id = certificates.ca_id
      where ${newestRows("certificates", mark)} and certificates.status = 'good' and kind = 'leaf'
      and certificates.not_after >= ${now} and identity in (select value from json_each(${identities}))
      and b.lineage = (select a.lineage from cas a where a.id = ${ca}) group by identity`,
  );
  return new Map(rows);
}
