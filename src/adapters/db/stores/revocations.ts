/** Revocations and responders in the database. */

import { and, eq } from "drizzle-orm";

import type { CaId, Serial } from "#core/ids.ts";
import { instant } from "#core/time.ts";
import type {
  ResponderRecord,
  RevocationReads,
  RevocationRecord,
  RevocationWrites,
  CertStatus,
} from "#domain/revocation/store.ts";
import { revokedList } from "#adapters/db/inventory/revoked-list.ts";
import {
  bulkInserter,
  inserter,
  inTexts,
  placeholder,
  selector,
  type Connection,
} from "#adapters/db/engine/connection.ts";

type EntryReads = Pick<
  RevocationReads,
  "bySerial" | "certStatus" | "page" | "sequence" | "lastChange" | "responder"
>;
type EntryWrites = Pick<
  RevocationWrites,
  "lock" | "put" | "setEnd" | "putMany" | "remove" | "putResponder"
>;

/** `sequence` reads the store-wide revocation sequence as last committed by anyone. */
export function revocationReads(
  connection: Connection,
  sequence: RevocationReads["sequence"],
): EntryReads {
  const { t } = connection;
  const newest = "order by not_before desc, serial desc limit 1";
  const responder = selector(connection, t.responders, `where ca_id = %1 ${newest}`);
  const begun = `where ca_id = %1 and not_before <= %2 ${newest}`;
  const responderBegun = selector(connection, t.responders, begun);
  const changes = selector(connection, t.revocationChanges, "where ca_id = %1");
  return {
    bySerial: preparedBySerial(connection),
    certStatus: standingOf(connection),
    page: revokedList(connection, record),
    sequence,
    lastChange: async (ca) => (await changes([ca]))[0]?.sequence ?? 0,
    responder: async (ca, at) => {
      const [row] = at === undefined ? await responder([ca]) : await responderBegun([ca, at]);
      return row as ResponderRecord | undefined; // Only `putResponder` fills the table.
    },
  };
}

/**
 * `next` gives the next number of the revocation sequence, which commits or vanishes with the unit.
 */
export function revocationWrites(connection: Connection, next: () => number): EntryWrites {
  const { db, t } = connection;
  const { revocations: r, presigned: p } = t;
  const { revocationChanges } = t;
  const putChange = inserter(connection, revocationChanges, [revocationChanges.caId]);
  const changed = async (caId: string, sequence: number) => {
    await putChange({ caId, sequence });
    return sequence;
  };
  const putEntry = inserter(connection, r, [r.caId, r.serial]);
  const insertMany = bulkInserter(connection, r);
  const insertResponder = inserter(connection, t.responders);
  const forget = forgetter(connection);
  return {
    lock: preparedBySerial(connection),
    put: async (entry) => {
      const sequence = next();
      await forget(entry.caId, entry.serial);
      await putEntry({ ...entry, sequence });
      return changed(entry.caId, sequence);
    },
    putMany: async (ca, entries) => {
      const rows = entries.map((entry) => ({ ...entry, sequence: next() }));
      const serials = rows.map(({ serial }) => serial);
      // What was held has an entry, which its new one replaces.
      await db.delete(r).where(and(eq(r.caId, ca), inTexts(connection, r.serial, serials)));
      await db.delete(p).where(and(eq(p.caId, ca), inTexts(connection, p.serial, serials)));
      await insertMany(rows);
      const last = rows.at(-1);
      if (last !== undefined) await changed(ca, last.sequence);
      return rows.map(({ sequence }) => sequence);
    },
    setEnd: async (ca, serial, expiresAt) => {
      const named = and(eq(r.caId, ca), eq(r.serial, serial));
      await db.update(r).set({ expiresAt }).where(named);
    },
    remove: async (ca, serial) => {
      await forget(ca, serial);
      const sequence = next();
      const removed = db
        .delete(r)
        .where(and(eq(r.caId, ca), eq(r.serial, serial)))
        .returning();
      for (const { sequence: since, revokedAt, expiresAt } of await removed) {
        const released = { caId: ca, sequence, serial, since, revokedAt, expiresAt };
        await db.insert(t.revocationReleases).values(released);
      }
      return changed(ca, sequence);
    },
    putResponder: async (responder) => {
      await insertResponder(responder);
    },
  };
}

/** Deletes the answers about one serial; part of every change of its revocation state (PRE-2). */
function forgetter(connection: Connection): (ca: CaId, serial: Serial) => Promise<void> {
  const [one, two] = [placeholder(connection, 1), placeholder(connection, 2)];
  const text = `delete from presigned where ca_id = ${one} and serial = ${two}`;
  return async (ca, serial) => {
    await connection.run(text, [ca, serial]);
  };
}

function preparedBySerial(connection: Connection): RevocationReads["bySerial"] {
  const named = "where ca_id = %1 and serial = %2";
  const find = selector(connection, connection.t.revocations, named);
  return async (ca, serial) => {
    const [row] = await find([ca, serial]);
    return row && record(row);
  };
}

/**
 * One statement sees one state of both tables: between a hold and its release there is no third
 * answer.
 */
function standingOf(connection: Connection): RevocationReads["certStatus"] {
  const text = `select r.revoked_at, r.reason, c.profile from
(select cast(${placeholder(connection, 1)} as text) as ca, cast(${placeholder(connection, 2)} as text) as serial) q
left join certificates c on c.ca_id = q.ca and c.serial = q.serial
left join revocations r on r.ca_id = q.ca and r.serial = q.serial`;
  return async (ca, serial) => {
    const found = connection.row(text, [ca, serial]);
    return standingFrom((found instanceof Promise ? await found : found) ?? []);
  };
}

/**
 * The standing told by time and reason of a revocation and the profile of a certificate, each
 * absent without a row.
 */
export function standingFrom([at, reason, named]: readonly unknown[]): CertStatus {
  const profile = typeof named === "string" ? named : undefined;
  if (at === null || at === undefined) {
    return profile === undefined ? { status: "unknown" } : { status: "good", profile };
  }
  const why = reason as RevocationRecord["reason"]; // Only `put` fills the table.
  return { status: "revoked", at: instant(Number(at)), reason: why, profile };
}

/** Only `put` fills the table, so its texts are the closed words the record's types name. */
function record(row: Connection["t"]["revocations"]["$inferSelect"]): RevocationRecord {
  return { ...row, expiresAt: row.expiresAt ?? undefined } as RevocationRecord; // See above.
}
