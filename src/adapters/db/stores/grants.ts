/** Grants on single CAs in the database. */

import { and, asc, eq, inArray, or } from "drizzle-orm";

import type { AccessReads, AccessWrites, GrantRecord } from "#domain/access/store.ts";
import { inserter, type Connection } from "#adapters/db/engine/connection.ts";

type GrantReads = Pick<AccessReads, "grantsOn" | "grantsTo">;
type GrantWrites = Pick<AccessWrites, "grant" | "revokeGrant">;

/** Grants as last committed, oldest first. */
export function grantReads({ db, t }: Connection): GrantReads {
  const { grants } = t;
  return {
    grantsOn: async (lineage) => {
      const rows = db.select().from(grants).where(eq(grants.lineage, lineage));
      return (await rows.orderBy(asc(grants.createdAt), asc(grants.id))).map(record);
    },
    grantsTo: async (names) => {
      const of = (type: "user" | "group") => {
        const ids = names.filter((name) => name.type === type).map(({ id }) => id);
        const among = and(eq(grants.entityType, type), inArray(grants.entityId, ids));
        return ids.length === 0 ? undefined : among;
      };
      const named = or(of("user"), of("group"));
      if (named === undefined) return [];
      const rows = db.select().from(grants).where(named);
      return (await rows.orderBy(asc(grants.createdAt), asc(grants.id))).map(record);
    },
  };
}

/** Grant writes of a unit. */
export function grantWrites(connection: Connection): GrantWrites {
  const { db, t } = connection;
  const { grants } = t;
  const insert = inserter(connection, grants, "skip");
  const identity = (one: Parameters<GrantWrites["revokeGrant"]>[0]) =>
    and(
      eq(grants.caId, one.ca),
      eq(grants.entityType, one.type),
      eq(grants.entityId, one.id),
      eq(grants.role, one.role),
      eq(grants.scope, one.scope),
    );
  return {
    grant: async ({ grantId, ca, type, id, ...facts }) => {
      const row = { ...facts, id: grantId, caId: ca, entityType: type, entityId: id };
      if ((await insert(row)) === 1) return undefined;
      const [present] = await db
        .select()
        .from(grants)
        .where(identity({ ...facts, ca, type, id }));
      return present && record(present);
    },
    revokeGrant: async (one) => {
      const [gone] = await db.delete(grants).where(identity(one)).returning();
      return gone && record(gone);
    },
  };
}

/** Only `grant` fills the table, so its texts are the closed words the record's type names. */
function record(row: Connection["t"]["grants"]["$inferSelect"]): GrantRecord {
  const { id: grantId, caId, entityType, entityId, ...facts } = row;
  // See above.
  return { ...facts, grantId, ca: caId, type: entityType, id: entityId } as GrantRecord;
}
