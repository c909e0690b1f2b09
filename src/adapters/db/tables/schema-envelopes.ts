/** The tables of KEK versions and of sealed values. */

import { sql } from "drizzle-orm";

import type { Kit } from "./kit.ts";

/** Builds them with the columns of one dialect. */
export function envelopeTables(k: Kit) {
  const kekVersions = k.table(
    "kek_versions",
    {
      version: k.int("version").primaryKey(),
      status: k.text("status").notNull(),
      family: k.text("family").notNull(),
      keyProvider: k.text("key_provider").notNull(),
      keyLabel: k.text("key_label").notNull(),
      keyId: k.text("key_id").notNull(),
      deviceSerial: k.text("device_serial").notNull().default(""),
      spkiSha256: k.text("spki_sha256"),
      createdAt: k.int("created_at").notNull(),
    },
    (t) => [k.unique("kek_versions_active").on(t.status).where(sql`status = 'active'`)],
  );
  /**
   * One row per secret; `place` names the table, column and row it belongs to and is part of what
   * is authenticated.
   */
  const sealedValues = k.table(
    "sealed_values",
    {
      place: k.text("place").primaryKey(),
      kekVersion: k.int("kek_version").notNull(),
      envelope: k.text("envelope").notNull(),
    },
    (t) => [k.index("sealed_values_version").on(t.kekVersion, t.place)],
  );
  return { kekVersions, sealedValues };
}
