/**
 * Which certificates have a later one of the same identity (EXP-2), by an index and not by a walk.
 */

import { and, eq, inArray, sql } from "drizzle-orm";

import type { CertificateReads } from "#domain/certificates/store.ts";
import type { Connection } from "#adapters/db/engine/connection.ts";

/** Of these serials of a CA, those that another good certificate of the lineage outlives. */
export function supersededOf({ db, t }: Connection): CertificateReads["superseded"] {
  const c = t.certificates;
  return async (ca, serials, now) => {
    if (serials.length === 0) return new Set();
    const later = sql`exists (select 1 from certificates n join cas b on b.id = n.ca_id
      where n.identity = certificates.identity and n.not_after > certificates.not_after
      and n.not_after >= ${now} and n.status = 'good' and n.kind = 'leaf'
      and b.lineage = (select a.lineage from cas a where a.id = certificates.ca_id))`;
    const named = and(eq(c.caId, ca), inArray(c.serial, [...serials]), sql`identity <> ''`);
    const rows = db.select({ serial: c.serial }).from(c).where(and(named, later));
    const found = new Set((await rows).map(({ serial }) => serial));
    return new Set(serials.filter((serial) => found.has(serial)));
  };
}
