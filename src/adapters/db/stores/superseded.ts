/**
 * Which certificates have a later one of the same identity (EXP-2), by an index and not by a walk.
 */

import { and, eq, inArray, type SQL, sql } from "drizzle-orm";

import type { CaId, Serial } from "#core/ids.ts";
import type { Instant } from "#core/time.ts";
import type { CertificateReads } from "#domain/certificates/store.ts";
import type { Connection } from "#adapters/db/engine/connection.ts";
import { inIndexes, markOf } from "#adapters/db/engine/folds.ts";

/** Of these serials of a CA, those that another good certificate of the lineage outlives. */
export function supersededOf({ db, t, dialect }: Connection): CertificateReads["superseded"] {
  const c = t.certificates;
  return async (ca, serials, now) => {
    if (serials.length === 0) return new Set();
    const later = (
      among: SQL,
    ) => sql`exists (select 1 from certificates n join cas b on b.id = n.ca_id
      where ${among} n.identity = certificates.identity and n.not_after > certificates.not_after
      and n.not_after >= ${now} and n.status = 'good' and n.kind = 'leaf'
      and b.lineage = (select a.lineage from cas a where a.id = certificates.ca_id))`;
    const outlived =
      dialect === "sqlite"
        ? sql`(${later(sql`n.${inIndexes} and`)} or ${newestLater(ca, serials, now)})`
        : later(sql``);
    const named = and(eq(c.caId, ca), inArray(c.serial, [...serials]), sql`identity <> ''`);
    const rows = db.select({ serial: c.serial }).from(c).where(and(named, outlived));
    const found = new Set((await rows).map(({ serial }) => serial));
    return new Set(serials.filter((serial) => found.has(serial)));
  };
}

/**
 * The same among the rows no index holds yet: they are read once for all serials, and those of
 * other identities left out.
 */
function newestLater(ca: CaId, serials: readonly Serial[], now: Instant): SQL {
  const identities = sql`select identity from certificates
    where ca_id = ${ca} and serial in ${[...serials]} and identity <> ''`;
  const ends = sql`select m.identity, max(m.not_after) as last
    from certificates as m not indexed cross join cas b on b.id = m.ca_id
    where m.ordinal > ${sql.raw(markOf("certificates"))} and m.status = 'good' and m.kind = 'leaf'
    and m.not_after >= ${now} and m.identity in (${identities})
    and b.lineage = (select a.lineage from cas a where a.id = ${ca}) group by m.identity`;
  return sql`exists (select 1 from (${ends}) newest
    where newest.identity = certificates.identity and newest.last > certificates.not_after)`;
}
