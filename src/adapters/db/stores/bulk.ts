/** Bulk issue in the database. */

import { and, asc, eq, gt } from "drizzle-orm";

import { caId, type Serial } from "#core/ids.ts";
import type { Instant } from "#core/time.ts";
import type { BulkItem, BulkReads, BulkWrites } from "#domain/certificates/bulk-store.ts";
import { inserter, type Connection } from "#adapters/db/engine/connection.ts";

/** Operations and their items as last committed. */
export function bulkReads({ db, t }: Connection): BulkReads {
  const { bulkItems, bulkOperations } = t;
  return {
    operation: async ({ lineage, id }) => {
      const [row] = await db
        .select()
        .from(bulkOperations)
        .where(and(eq(bulkOperations.lineage, lineage), eq(bulkOperations.id, id)));
      if (row === undefined) return undefined;
      // Only `bulkWrites` fills the table, with an instant.
      return { ...row, lineage: caId(row.lineage), createdAt: row.createdAt as Instant };
    },
    issued: async ({ lineage, id }, limit, after) => {
      const its = and(eq(bulkItems.lineage, lineage), eq(bulkItems.operation, id));
      const rest = and(its, gt(bulkItems.position, after));
      const rows = db.select().from(bulkItems).where(rest);
      const page = await rows.orderBy(asc(bulkItems.position)).limit(limit);
      return page.map(({ position, ...row }): BulkItem => {
        // Only `bulkWrites` fills the table, with serials.
        return { position, caId: caId(row.caId), serial: row.serial as Serial };
      });
    },
  };
}

/** Bulk writes of a unit. */
export function bulkWrites(connection: Connection): BulkWrites {
  const insertOperation = inserter(connection, connection.t.bulkOperations, "skip");
  const insertItem = inserter(connection, connection.t.bulkItems, "skip");
  return {
    begin: async (operation) => (await insertOperation(operation)) === 1,
    settle: async ({ lineage, id: operation }, item) =>
      (await insertItem({ lineage, operation, ...item })) === 1,
  };
}
