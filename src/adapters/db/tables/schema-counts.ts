/**
 * THE COUNTERS, which triggers of the database keep; on SQLite they count what has been folded
 * (`engine/folds.ts`).
 */

import type { Kit } from "./kit.ts";

/** Builds the tables with the columns of one dialect. */
export function counterTables(k: Kit) {
  /** Leaves of a CA by stored status, day of notAfter (days since 1970, UTC) and profile. */
  const certificateCounts = k.table(
    "certificate_counts",
    {
      caId: k.text("ca_id").notNull(),
      status: k.text("status").notNull(),
      day: k.int("day").notNull(),
      profile: k.text("profile").notNull(),
      number: k.int("number").notNull(),
    },
    (t) => [k.primaryKey({ columns: [t.caId, t.status, t.day, t.profile] })],
  );
  /** Leaves of a CA that were `issued` or `revoked` on a day (days since 1970, UTC). */
  const dayCounts = k.table(
    "day_counts",
    {
      caId: k.text("ca_id").notNull(),
      day: k.int("day").notNull(),
      kind: k.text("kind").notNull(),
      number: k.int("number").notNull(),
    },
    (t) => [k.primaryKey({ columns: [t.caId, t.day, t.kind] })],
  );
  /** Rows of `revocations` by CA. */
  const revocationCounts = k.table("revocation_counts", {
    caId: k.text("ca_id").primaryKey(),
    number: k.int("number").notNull(),
  });
  return { certificateCounts, dayCounts, revocationCounts };
}
