/**
 * Cross certificates in the database: their own facts, joined with the rows of their certificates.
 */

import { and, asc, desc, eq, type SQL } from "drizzle-orm";

import type { CaReads, CaWrites, CrossSignRecord } from "#domain/authorities/store.ts";
import {
  counted,
  inserter,
  olderThan,
  pageOf,
  selector,
  type Connection,
} from "#adapters/db/engine/connection.ts";

/**
 * Reads of cross certificates; a status changed by revocation shows at once, for it is read from
 * the one row.
 */
export function crossSignReads(
  connection: Connection,
): Pick<CaReads, "crossSigns" | "crossSign" | "crossSignsOf"> {
  const { db, t } = connection;
  const x = t.crossSigns;
  const joined = (where: SQL | undefined) => {
    const same = and(eq(t.certificates.caId, x.issuer), eq(t.certificates.serial, x.serial));
    const both = db.select({ facts: x, row: t.certificates }).from(x);
    return both.innerJoin(t.certificates, same).where(where);
  };
  const first = selector(connection, x, "where subject_ca = %1 limit 1");
  return {
    crossSigns: async (issuer, limit, after) => {
      const where = eq(x.issuer, issuer);
      const found = await joined(and(where, olderThan(x.createdAt, x.id, after)))
        .orderBy(desc(x.createdAt), desc(x.id))
        .limit(limit + 1);
      const [sum] = await db.select({ total: counted }).from(x).where(where);
      const keyOf = (cross: CrossSignRecord) => ({ at: cross.createdAt, id: cross.id });
      return pageOf(found.map(record), limit, sum?.total ?? 0, keyOf);
    },
    crossSign: async (id) => {
      const [found] = await joined(eq(x.id, id));
      return found && record(found);
    },
    crossSignsOf: async (subject) => {
      // Asked with every chain that is handed out, and nearly always there are none.
      if ((await first([subject])).length === 0) return [];
      const found = joined(eq(x.subjectCa, subject)).orderBy(asc(x.createdAt), asc(x.id));
      return (await found.limit(rowsMax)).map(record);
    },
  };
}

/** The one write: its certificate is stored by the same unit. */
export function crossSignWrites(connection: Connection): Pick<CaWrites, "insertCrossSign"> {
  const insert = inserter(connection, connection.t.crossSigns);
  return {
    insertCrossSign: async (facts) => {
      await insert(facts);
    },
  };
}

interface Joined {
  readonly facts: Connection["t"]["crossSigns"]["$inferSelect"];
  readonly row: Connection["t"]["certificates"]["$inferSelect"];
}

/**
 * Only `crossSignWrites` and `certificateWrites` fill the tables with the closed words the record's
 * types name.
 */
function record({ facts, row }: Joined): CrossSignRecord {
  const { tenant, subject, certificate, notBefore, notAfter, requestedBy } = row;
  return {
    ...facts,
    subjectCa: facts.subjectCa ?? undefined,
    revoked: row.status === "revoked",
    tenant,
    subject,
    certificate,
    notBefore,
    notAfter,
    requestedBy,
  } as CrossSignRecord; // See above.
}

const rowsMax = 100;
