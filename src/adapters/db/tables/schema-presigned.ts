/** The table of OCSP answers signed ahead. */

import type { Kit } from "./kit.ts";

/** Builds it with the columns of one dialect. */
export function presignedTables(k: Kit) {
  const presigned = k.table(
    "presigned",
    {
      caId: k.text("ca_id").notNull(),
      serial: k.text("serial").notNull(),
      /** Hash of the certID the answer is for. */
      hash: k.text("hash").notNull(),
      response: k.bytes("response").notNull(),
      /** Serial of the responder; null where the CA signed. */
      responder: k.text("responder"),
      producedAt: k.int("produced_at").notNull(),
      thisUpdate: k.int("this_update").notNull(),
      nextUpdate: k.int("next_update").notNull(),
      /** When and why the serial is revoked in the answer; null where it is good. */
      revokedAt: k.int("revoked_at"),
      reason: k.text("reason"),
    },
    (t) => [
      k.primaryKey({ columns: [t.caId, t.serial, t.hash] }),
      k.index("presigned_expiry").on(t.nextUpdate),
    ],
  );
  return { presigned };
}
