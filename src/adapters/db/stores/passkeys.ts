/** Passkeys in the database. */

import { and, asc, eq, lt, or } from "drizzle-orm";

import type { Account } from "#core/access/person.ts";
import type { AccessReads, AccessWrites, PasskeyRecord } from "#domain/access/store.ts";
import { inserter, type Connection } from "#adapters/db/engine/connection.ts";

type PasskeyReads = Pick<AccessReads, "passkeysOf">;
type PasskeyWrites = Pick<
  AccessWrites,
  "passkeysOf" | "insertPasskey" | "usePasskey" | "removePasskey" | "removePasskeysOf"
>;

/** Passkeys as last committed, oldest first. */
export function passkeyReads({ db, t }: Connection): PasskeyReads {
  const { passkeys } = t;
  return {
    passkeysOf: async (owner) => {
      const rows = db.select().from(passkeys).where(ownedBy(t, owner));
      return (await rows.orderBy(asc(passkeys.createdAt), asc(passkeys.id))).map(record);
    },
  };
}

/** Passkey writes of a unit. */
export function passkeyWrites(connection: Connection): PasskeyWrites {
  const { db, t } = connection;
  const { passkeys } = t;
  const insert = inserter(connection, passkeys, "skip");
  const { passkeysOf } = passkeyReads(connection);
  const owned = (id: string, owner: Account) => and(eq(passkeys.id, id), ownedBy(t, owner));
  return {
    passkeysOf,
    insertPasskey: async ({ owner, ...facts }) => (await insert({ ...facts, ...owner })) === 1,
    usePasskey: async ({ id, owner, signCount, at }) => {
      const uncounted = signCount === 0 ? eq(passkeys.signCount, 0) : undefined;
      const fresh = or(lt(passkeys.signCount, signCount), uncounted);
      const done = db
        .update(passkeys)
        .set({ signCount, lastUsedAt: at })
        .where(and(owned(id, owner), fresh));
      if ((await done.returning({ id: passkeys.id })).length === 1) return "used";
      const found = await db.select({ id: passkeys.id }).from(passkeys).where(owned(id, owner));
      return found.length === 1 ? "counter" : "gone";
    },
    removePasskey: async (id, owner) => {
      const [gone] = await db.delete(passkeys).where(owned(id, owner)).returning();
      return gone && record(gone);
    },
    removePasskeysOf: async (subject) => {
      const gone = await db.delete(passkeys).where(eq(passkeys.subject, subject)).returning();
      return gone.map(record).sort((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1));
    },
  };
}

/** A passkey older than vouchers belongs to whoever has its subject, as it did then. */
function ownedBy({ passkeys }: Connection["t"], { subject, voucher, issuer }: Account) {
  const vouched = and(eq(passkeys.voucher, voucher), eq(passkeys.issuer, issuer));
  return and(eq(passkeys.subject, subject), or(vouched, eq(passkeys.voucher, "unknown")));
}

/** Only `insertPasskey` and `usePasskey` fill the table. */
function record(row: Connection["t"]["passkeys"]["$inferSelect"]): PasskeyRecord {
  const { subject, voucher, issuer, ...facts } = row;
  const owner = { subject, voucher, issuer };
  // See above.
  return { ...facts, owner, lastUsedAt: row.lastUsedAt ?? undefined } as PasskeyRecord;
}
