/** The tables of blocked keys and of the instance's own keys. */

import type { Kit } from "./kit.ts";

/** Builds them with the columns of one dialect. */
export function keyCheckTables(k: Kit) {
  const blockedKeys = k.table(
    "blocked_keys",
    {
      id: k.text("id").primaryKey(),
      spkiSha256: k.text("spki_sha256").notNull(),
      /** Whose CAs do not certify it; empty: no CA does. */
      tenant: k.text("tenant").notNull().default(""),
      reason: k.text("reason").notNull(),
      /** Lower case reason, for search without case. */
      search: k.text("search").notNull(),
      source: k.text("source").notNull(),
      createdBy: k.text("created_by").notNull(),
      createdAt: k.int("created_at").notNull(),
    },
    (t) => [
      k.unique("blocked_keys_key").on(t.spkiSha256, t.tenant),
      k.index("blocked_keys_paging").on(t.createdAt, t.id),
    ],
  );
  /**
   * Keys of CAs, responders, the listener and whatever else signs here; never certified as a leaf.
   */
  const ownKeys = k.table("own_keys", { spkiSha256: k.text("spki_sha256").primaryKey() });
  return { blockedKeys, ownKeys };
}
