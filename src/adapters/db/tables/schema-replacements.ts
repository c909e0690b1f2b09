/** The tables of planned replacements: the plans, and the certificates of each. */

import { sql } from "drizzle-orm";

import type { Kit } from "./kit.ts";

/** Builds them with the columns of one dialect. */
export function replacementTables(k: Kit) {
  const replacements = k.table(
    "acme_replacements",
    {
      id: k.text("id").primaryKey(),
      caId: k.text("ca_id").notNull(),
      tenant: k.text("tenant").notNull(),
      selection: k.text("selection").notNull(),
      start: k.int("starts_at").notNull(),
      end: k.int("ends_at").notNull(),
      /** A number as JSON has it. */
      perSecond: k.text("per_second").notNull(),
      revoke: k.text("revoke"),
      state: k.text("state").notNull(),
      createdBy: k.text("created_by").notNull(),
      createdAt: k.int("created_at").notNull(),
      /** How many items there are, are replaced, and are revoked by it. */
      total: k.int("total").notNull(),
      replaced: k.int("replaced").notNull(),
      revoked: k.int("revoked").notNull(),
    },
    (t) => [
      k.index("acme_replacements_paging").on(t.createdAt, t.id),
      k.index("acme_replacements_running").on(t.createdAt, t.id).where(sql`state = 'running'`),
    ],
  );
  // On SQLite the primary key is the table (migration 0006): what is worked off are neighbours.
  const replacementItems = k.table(
    "acme_replacement_items",
    {
      replacement: k.text("replacement").notNull(),
      serial: k.text("serial").notNull(),
      caId: k.text("ca_id").notNull(),
      start: k.int("starts_at").notNull(),
      end: k.int("ends_at").notNull(),
      replacedAt: k.int("replaced_at"),
      revokedAt: k.int("revoked_at"),
    },
    (t) => [
      k.primaryKey({ columns: [t.replacement, t.serial, t.caId] }),
      k.index("acme_replacement_items_certificate").on(t.caId, t.serial),
      k
        .index("acme_replacement_items_left")
        .on(t.replacement, t.serial, t.caId)
        .where(sql`revoked_at is null`),
      k
        .index("acme_replacement_items_replaced")
        .on(t.replacement, t.serial, t.caId)
        .where(sql`revoked_at is null and replaced_at is not null`),
    ],
  );
  return { replacements, replacementItems };
}
