/** Credentials of external account binding in the database; their keys are sealed elsewhere. */

import { and, desc, eq, gt, isNotNull, isNull, lte, ne, or, type SQL, sql } from "drizzle-orm";

import type { Instant } from "#core/time.ts";
import type { AcmeReads, AcmeWrites, EabRecord } from "#domain/acme/store.ts";
import {
  changer,
  counted,
  inserter,
  olderThan,
  pageOf,
  selector,
  type Connection,
} from "#adapters/db/engine/connection.ts";

import { within } from "./cas.ts";

/** Credentials as last committed. */
export function eabReads(connection: Connection): Pick<AcmeReads, "eab" | "eabs"> {
  const { db, t } = connection;
  const e = t.acmeEabs;
  const find = selector(connection, e, "where id = %1");
  return {
    eab: async (id) => {
      const [row] = await find([id]);
      return row && record(row);
    },
    eabs: async ({ reach, status, now }, limit, after) => {
      const its = status === undefined ? undefined : being(connection, status, now);
      const among = and(within({ tenant: e.tenant, ca: e.caId }, reach), its);
      const rows = await db
        .select()
        .from(e)
        .where(and(among, olderThan(e.createdAt, e.id, after)))
        .orderBy(desc(e.createdAt), desc(e.id))
        .limit(limit + 1);
      const [sum] = await db.select({ total: counted }).from(e).where(among);
      const keyOf = ({ createdAt: at, id }: EabRecord) => ({ at, id });
      return pageOf(rows.map(record), limit, sum?.total ?? 0, keyOf);
    },
  };
}

/** The changes of a unit. */
export function eabWrites(
  connection: Connection,
): Pick<AcmeWrites, "addEab" | "useEab" | "revokeEab"> {
  const insert = inserter(connection, connection.t.acmeEabs);
  const use = changer(
    connection,
    `update acme_eabs set uses = uses + 1, last_used_at = %1 where id = %2 and revoked_at is null
and (expires_at is null or expires_at > %3) and (max_uses = 0 or uses < max_uses)`,
  );
  const revoke = changer(
    connection,
    "update acme_eabs set revoked_at = %1, revoked_by = %2 where id = %3 and revoked_at is null",
  );
  return {
    addEab: async (eab) => {
      await insert(eab);
    },
    useEab: async (id, now) => (await use([now, id, now])) === 1,
    revokeEab: async (id, at, by) => (await revoke([at, by, id])) === 1,
  };
}

/** What ended it first counts: taken back, then past its end, then used up. */
function being(
  { t }: Connection,
  status: "active" | "exhausted" | "expired" | "revoked",
  now: Instant,
): SQL | undefined {
  const { revokedAt, expiresAt, maxUses, uses } = t.acmeEabs;
  const living = and(isNull(revokedAt), or(isNull(expiresAt), gt(expiresAt, now)));
  switch (status) {
    case "revoked":
      return isNotNull(revokedAt);
    case "expired":
      return and(isNull(revokedAt), lte(expiresAt, now));
    case "exhausted":
      return and(living, ne(maxUses, 0), sql`${uses} >= ${maxUses}`);
    case "active":
      return and(living, or(eq(maxUses, 0), sql`${uses} < ${maxUses}`));
    default:
      return status satisfies never;
  }
}

function record(row: Connection["t"]["acmeEabs"]["$inferSelect"]): EabRecord {
  return {
    ...row,
    profile: row.profile ?? undefined,
    expiresAt: row.expiresAt ?? undefined,
    lastUsedAt: row.lastUsedAt ?? undefined,
    revokedAt: row.revokedAt ?? undefined,
    revokedBy: row.revokedBy ?? undefined,
  } as EabRecord; // Only `eabWrites` fills the table.
}
