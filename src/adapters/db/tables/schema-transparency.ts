/**
 * The tables of certificate transparency: precertificates, SCTs whose inclusion is awaited, and the
 * last head of each log.
 */

import { sql } from "drizzle-orm";

import type { Kit } from "./kit.ts";

/** Builds them with the columns of one dialect. */
export function transparencyTables(k: Kit) {
  const precertificates = k.table(
    "precertificates",
    {
      caId: k.text("ca_id").notNull(),
      serial: k.text("serial").notNull(),
      certificate: k.bytes("certificate").notNull(),
      createdAt: k.int("created_at").notNull(),
      unsettled: k.bool("unsettled").notNull(),
    },
    (t) => [
      k.primaryKey({ columns: [t.caId, t.serial] }),
      k.index("precertificates_unsettled").on(t.createdAt).where(sql`unsettled`),
    ],
  );
  const inclusions = k.table(
    "ct_inclusions",
    {
      id: k.text("id").primaryKey(),
      caId: k.text("ca_id").notNull(),
      tenant: k.text("tenant").notNull(),
      serial: k.text("serial").notNull(),
      logId: k.text("log_id").notNull(),
      logName: k.text("log_name").notNull(),
      sctTimestamp: k.int("sct_timestamp").notNull(),
      leafHash: k.text("leaf_hash").notNull(),
      promisedIndex: k.int("promised_index"),
      status: k.text("status").notNull(),
      dueAt: k.int("due_at").notNull(),
      treeSize: k.int("tree_size"),
      leafIndex: k.int("leaf_index"),
      checks: k.int("checks").notNull(),
      lastError: k.text("last_error").notNull(),
      firstCheckedAt: k.int("first_checked_at"),
      lastCheckedAt: k.int("last_checked_at"),
      includedAt: k.int("included_at"),
      alerted: k.bool("alerted").notNull(),
    },
    (t) => [
      k.index("ct_inclusions_paging").on(t.sctTimestamp, t.id),
      k.index("ct_inclusions_certificate").on(t.caId, t.serial),
      k.index("ct_inclusions_status").on(t.status, t.dueAt),
    ],
  );
  const logHeads = k.table("ct_log_heads", {
    logId: k.text("log_id").primaryKey(),
    treeSize: k.int("tree_size").notNull(),
    rootHash: k.bytes("root_hash").notNull(),
    timestamp: k.int("timestamp").notNull(),
  });
  return { precertificates, inclusions, logHeads };
}
