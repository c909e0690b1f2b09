/**
 * The tables of bulk revocation: what was asked and how far it came, and the serials that are left.
 */

import type { Kit } from "./kit.ts";

/** Builds them with the columns of one dialect. */
export function bulkRevocationTables(k: Kit) {
  const bulkRuns = k.table(
    "bulk_runs",
    {
      number: k.rowNumber("number"),
      /** Callers choose ids, so each lineage has its own. */
      lineage: k.text("lineage").notNull().default(""),
      id: k.text("id").notNull(),
      caId: k.text("ca_id").notNull(),
      reason: k.text("reason").notNull(),
      /** Lower hex SHA-256 of CA, reason and selection. */
      digest: k.text("digest").notNull(),
      filter: k.text("filter").notNull(),
      batchSize: k.int("batch_size").notNull(),
      startedAt: k.int("started_at").notNull(),
      actor: k.text("actor").notNull(),
      actorName: k.text("actor_name").notNull(),
      actorRoles: k.text("actor_roles").notNull(),
      ip: k.text("ip").notNull(),
      requestId: k.text("request_id").notNull(),
      /** The approval it is executed under; empty without one. */
      approval: k.text("approval").notNull().default(""),
      /** Who carries it on, as JSON; empty in runs older than this. */
      maker: k.text("maker").notNull().default(""),
      state: k.text("state").notNull(),
      /** The store that works on it. */
      owner: k.int("owner").notNull(),
      planned: k.int("planned").notNull(),
      revoked: k.int("revoked").notNull(),
      upgraded: k.int("upgraded").notNull(),
      skipped: k.int("skipped").notNull(),
      batches: k.int("batches").notNull(),
    },
    (t) => [k.unique("bulk_runs_id").on(t.lineage, t.id), k.index("bulk_runs_state").on(t.state)],
  );
  // On SQLite the primary key is the table (migration 0019): a batch takes neighbours, which lie on
  // few pages.
  const bulkSerials = k.table(
    "bulk_serials",
    {
      run: k.int("run").notNull(),
      /**
       * Two digits for its length, then the serial; sorts by number. `:` and a CA follow if it
       * concerns another key of the lineage than that of the CA which the run names.
       */
      place: k.text("place").notNull(),
    },
    (t) => [k.primaryKey({ columns: [t.run, t.place] })],
  );
  return { bulkRuns, bulkSerials };
}
