/** The table of passkeys, with which people confirm what they do. */

import type { Kit } from "./kit.ts";

/** Builds it with the columns of one dialect. */
export function passkeyTables(k: Kit) {
  const passkeys = k.table(
    "passkeys",
    {
      /** Ids are chosen by authenticators, at random, and unique among all people. */
      id: k.text("id").primaryKey(),
      subject: k.text("subject").notNull(),
      /** Who vouches for the subject; `unknown` in rows older than this. */
      voucher: k.text("voucher").notNull().default("unknown"),
      issuer: k.text("issuer").notNull().default(""),
      name: k.text("name").notNull(),
      publicKey: k.bytes("public_key").notNull(),
      signCount: k.int("sign_count").notNull(),
      createdAt: k.int("created_at").notNull(),
      lastUsedAt: k.int("last_used_at"),
    },
    (t) => [k.index("passkeys_subject").on(t.subject, t.createdAt, t.id)],
  );
  return { passkeys };
}
