/** Bulk issue in the database. */

import { and, asc, eq, gt } from "drizzle-orm";

import { caId, type Serial } from "#core/ids.ts";
import type { Instant } from "#core/time.ts";
import type { BulkItem, BulkReads, BulkWrites } from "#domain/certificates/bulk-store.ts";
import { inserter, type Session } from "./session.ts";

/** Operations and their items as last committed. */
export function bulkReads({ db, t }: Session): BulkReads {
  const { bulkItems, bulkOperations } = t;
  return {
    operation: async (id) => {
      const [row] = await db.select().from(bulkOperations).where(eq(bulkOperations.id, id));
      if (row === undefined) return undefined;
      // Only `bulkWrites` fills the table, with an instant.
      return { ...row, lineage: caId(row.lineage), createdAt: row.createdAt as Instant };
    },
    issued: async (operation, limit, after) => {
      const rest = and(eq(bulkItems.operation, operation), gt(bulkItems.position, after));
      const rows = db.select().from(bulkItems).where(rest);
      const page = await rows.orderBy(asc(bulkItems.position)).limit(limit);
      return page.map(
        // Only `bulkWrites` fills the table, with serials.
        ({ position, ...row }): BulkItem => ({
          ...{ position, caId: caId(row.caId), serial: row.serial as Serial },
        }),
      );
    },
  };
}

/** Bulk writes of a unit. */
export function bulkWrites(session: Session): BulkWrites {
  const insertOperation = inserter(session, session.t.bulkOperations, "skip");
  const insertItem = inserter(session, session.t.bulkItems, "skip");
  return {
    begin: async (operation) => (await insertOperation(operation)) === 1,
    settle: async (operation, item) => (await insertItem({ operation, ...item })) === 1,
  };
}
