/** Passkeys in the database. */

import { and, asc, eq, lt, or } from "drizzle-orm";

import type { AccessReads, AccessWrites, PasskeyRecord } from "#domain/access/store.ts";
import { inserter, type Session } from "./session.ts";

type PasskeyReads = Pick<AccessReads, "passkeysOf">;
type PasskeyWrites = Pick<
  AccessWrites,
  "passkeysOf" | "insertPasskey" | "usePasskey" | "removePasskey"
>;

/** Passkeys as last committed, oldest first. */
export function passkeyReads({ db, t }: Session): PasskeyReads {
  const { passkeys } = t;
  return {
    passkeysOf: async (subject) => {
      const rows = db.select().from(passkeys).where(eq(passkeys.subject, subject));
      return (await rows.orderBy(asc(passkeys.createdAt), asc(passkeys.id))).map(record);
    },
  };
}

/** Passkey writes of a unit. */
export function passkeyWrites(session: Session): PasskeyWrites {
  const { db, t } = session;
  const { passkeys } = t;
  const insert = inserter(session, passkeys, "skip");
  const { passkeysOf } = passkeyReads(session);
  const owned = (id: string, subject: string) =>
    and(eq(passkeys.id, id), eq(passkeys.subject, subject));
  return {
    passkeysOf,
    insertPasskey: async (passkey) => (await insert(passkey)) === 1,
    usePasskey: async ({ id, subject, signCount, at }) => {
      const uncounted = signCount === 0 ? eq(passkeys.signCount, 0) : undefined;
      const fresh = or(lt(passkeys.signCount, signCount), uncounted);
      const done = db
        .update(passkeys)
        .set({ signCount, lastUsedAt: at })
        .where(and(owned(id, subject), fresh));
      if ((await done.returning({ id: passkeys.id })).length === 1) return "used";
      const found = await db.select({ id: passkeys.id }).from(passkeys).where(owned(id, subject));
      return found.length === 1 ? "counter" : "gone";
    },
    removePasskey: async (id, subject) => {
      const [gone] = await db.delete(passkeys).where(owned(id, subject)).returning();
      return gone && record(gone);
    },
  };
}

/** Only `insertPasskey` and `usePasskey` fill the table. */
function record(row: Session["t"]["passkeys"]["$inferSelect"]): PasskeyRecord {
  return { ...row, lastUsedAt: row.lastUsedAt ?? undefined } as PasskeyRecord; // See above.
}
