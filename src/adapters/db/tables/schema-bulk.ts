/** The tables of bulk issue: who asked for what, and which of it exists. */

import type { Kit } from "./kit.ts";

/** Builds them with the columns of one dialect. */
export function bulkTables(k: Kit) {
  const bulkOperations = k.table(
    "bulk_operations",
    {
      /** Callers choose ids, so each lineage has its own. */
      lineage: k.text("lineage").notNull(),
      id: k.text("id").notNull(),
      /** Lower hex SHA-256 of everything that was asked. */
      digest: k.text("digest").notNull(),
      requestedBy: k.text("requested_by").notNull(),
      createdAt: k.int("created_at").notNull(),
    },
    (t) => [k.unique("bulk_operations_id").on(t.lineage, t.id)],
  );
  const bulkItems = k.table(
    "bulk_items",
    {
      lineage: k.text("lineage").notNull(),
      operation: k.text("operation").notNull(),
      position: k.int("position").notNull(),
      caId: k.text("ca_id").notNull(),
      serial: k.text("serial").notNull(),
    },
    (t) => [k.unique("bulk_items_position").on(t.lineage, t.operation, t.position)],
  );
  return { bulkOperations, bulkItems };
}
