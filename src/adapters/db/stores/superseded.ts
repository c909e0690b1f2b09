/**
 * Which certificates have a later one of the same identity (EXP-2), by an index and not by a walk.
 */

import { and, eq, inArray, type SQL, sql } from "drizzle-orm";

import type { CaId } from "#core/ids.ts";
import type { CertificateReads } from "#domain/certificates/store.ts";
import type { Connection } from "#adapters/db/engine/connection.ts";
import { inIndexes, markOf } from "#adapters/db/engine/folds.ts";

/** Of these serials of a CA, those that another good certificate of the lineage outlives. */
export function supersededOf(connection: Connection): CertificateReads["superseded"] {
  const { db, t } = connection;
  const c = t.certificates;
  return async (ca, serials) => {
    if (serials.length === 0) return new Set();
    const named = and(eq(c.caId, ca), inArray(c.serial, [...serials]));
    const rows = db
      .select({ serial: c.serial })
      .from(c)
      .where(and(named, outlived(connection, ca)));
    const found = new Set((await rows).map(({ serial }) => serial));
    return new Set(serials.filter((serial) => found.has(serial)));
  };
}

/**
 * True of a row of `certificates`, which is one of the CA's, when another good leaf of the lineage
 * with its identity ends strictly later (EXP-2). Canaries and what has no identity supersede
 * nothing.
 */
export function outlived({ dialect }: Pick<Connection, "dialect">, ca: CaId): SQL {
  const later = (among: SQL) => sql`exists (select 1 from certificates n
      where ${among} n.identity = certificates.identity and n.not_after > certificates.not_after
      and ${superseding("n", ca)})`;
  if (dialect === "postgres") return sql`(certificates.identity <> '' and ${later(sql``)})`;
  return sql`(certificates.identity <> ''
      and (${later(sql`n.${inIndexes} and`)} or ${newestLater(ca)}))`;
}

const superseding = (alias: "n" | "m", ca: CaId): SQL => {
  const one = sql.raw(alias);
  return sql`${one}.status = 'good' and ${one}.kind = 'leaf' and ${one}.marker <> 'canary'
      and ${one}.ca_id in (select b.id from cas b
        where b.lineage = (select a.lineage from cas a where a.id = ${ca}))`;
};

/**
 * The same among the rows no index holds yet. They are read once for all rows of the statement,
 * into a list of identities that only those which occur there look beyond.
 */
function newestLater(ca: CaId): SQL {
  const newest = sql`certificates as m not indexed
    where m.ordinal > ${sql.raw(markOf("certificates"))} and ${superseding("m", ca)}`;
  return sql`(certificates.identity in (select m.identity from ${newest})
    and certificates.not_after < (select last from
      (select m.identity as who, max(m.not_after) as last from ${newest} group by m.identity)
      where who = certificates.identity))`;
}
