/** The table of certificates that left the inventory's own rows. */

import type { Kit } from "./kit.ts";

/** Builds it with the columns of one dialect. */
export function archiveTables(k: Kit) {
  /**
   * The DER of certificates long expired; their rows stay, without it, so that whatever goes by
   * serial, key or status finds them as before.
   */
  const certificateArchive = k.table(
    "certificate_archive",
    {
      caId: k.text("ca_id").notNull(),
      serial: k.text("serial").notNull(),
      archivedAt: k.int("archived_at").notNull(),
      certificate: k.bytes("certificate").notNull(),
    },
    (t) => [k.primaryKey({ columns: [t.caId, t.serial] })],
  );
  return { certificateArchive };
}
