/** Revocations, CRLs and responders in the database. */

import { and, asc, desc, eq, gt, type SQL, sql } from "drizzle-orm";

import { assert } from "#core/problems.ts";
import { instant, wholeSecond } from "#core/time.ts";
import type {
  CrlHead,
  CrlRecord,
  ResponderRecord,
  RevocationReads,
  RevocationRecord,
  RevocationWrites,
} from "#domain/revocation/store.ts";
import { revokedList } from "./revoked-list.ts";
import { bulkInserter, inserter, inTexts, placeholder, type Session } from "./session.ts";

/** `sequence` reads the store-wide revocation sequence as last committed by anyone. */
export function revocationReads(
  session: Session,
  sequence: RevocationReads["sequence"],
): RevocationReads {
  const { db, t } = session;
  const r = t.revocations;
  return {
    bySerial: preparedBySerial(session),
    standing: standingOf(session),
    page: revokedList(session, record),
    entries: async (ca, limit, afterSequence) => {
      const later = and(eq(r.caId, ca), gt(r.sequence, afterSequence));
      const rows = db.select().from(r).where(later).orderBy(asc(r.sequence)).limit(limit);
      return (await rows).map(record);
    },
    sequence,
    lastChange: async (ca) => {
      const changes = t.revocationChanges;
      const [row] = await db.select().from(changes).where(eq(changes.caId, ca));
      return row?.sequence ?? 0;
    },
    ...crlReads(session),
  };
}

function crlReads({
  db,
  t,
}: Session): Pick<RevocationReads, "latestCrl" | "crlHead" | "responder"> {
  const { der: _der, ...headColumns } = columnsOf(t.crls);
  const scoped = [
    eq(t.crls.caId, sql.placeholder("ca")),
    eq(t.crls.scope, sql.placeholder("scope")),
  ];
  const head = db
    .select(headColumns)
    .from(t.crls)
    .where(and(...scoped));
  const preparedHead = head.orderBy(desc(t.crls.number)).limit(1).prepare();
  return {
    latestCrl: async (ca, scope) => {
      const named = and(eq(t.crls.caId, ca), eq(t.crls.scope, scope));
      const crls = db.select().from(t.crls).where(named).orderBy(desc(t.crls.number)).limit(1);
      const [row] = await crls;
      return row as CrlRecord | undefined; // Only `publishCrl` fills the table.
    },
    crlHead: async (ca, scope) => {
      const [row] = await preparedHead.execute({ ca, scope });
      return row as CrlHead | undefined; // Only `publishCrl` fills the table.
    },
    responder: async (ca) => {
      const held = db.select().from(t.responders).where(eq(t.responders.caId, ca));
      const newest = desc(t.responders.notBefore);
      const [row] = await held.orderBy(newest, desc(t.responders.serial)).limit(1);
      return row as ResponderRecord | undefined; // Only `putResponder` fills the table.
    },
  };
}

/** `next` gives the next number of the revocation sequence, which commits or vanishes with the unit. */
export function revocationWrites(session: Session, next: () => number): RevocationWrites {
  const { db, t } = session;
  const r = t.revocations;
  const changed = async (caId: string, sequence: number) => {
    const target = t.revocationChanges.caId;
    await db
      .insert(t.revocationChanges)
      .values({ caId, sequence })
      .onConflictDoUpdate({ target, set: { sequence } });
    return sequence;
  };
  const insertMany = bulkInserter(session, r);
  const insertResponder = inserter(session, t.responders);
  return {
    lock: preparedBySerial(session),
    put: async (entry) => {
      const sequence = next();
      const { caId, serial, ...facts } = entry;
      const set = { ...facts, expiresAt: entry.expiresAt ?? null, sequence };
      await db
        .insert(r)
        .values({ caId, serial, ...set })
        .onConflictDoUpdate({ target: [r.caId, r.serial], set });
      return changed(entry.caId, sequence);
    },
    putMany: async (ca, entries) => {
      const rows = entries.map((entry) => ({ ...entry, sequence: next() }));
      const serials = rows.map(({ serial }) => serial);
      // What was held has an entry, which its new one replaces.
      await db.delete(r).where(and(eq(r.caId, ca), inTexts(session, r.serial, serials)));
      await insertMany(rows);
      const last = rows.at(-1);
      if (last !== undefined) await changed(ca, last.sequence);
    },
    remove: async (ca, serial) => {
      await db.delete(r).where(and(eq(r.caId, ca), eq(r.serial, serial)));
      return changed(ca, next());
    },
    putResponder: async (responder) => {
      await insertResponder(responder);
    },
    ...crlWrites(session),
  };
}

function crlWrites(session: Session): Pick<RevocationWrites, "reserveCrl" | "publishCrl"> {
  const { db, t } = session;
  const insertCrl = inserter(session, t.crls);
  return {
    reserveCrl: async (caId, scope, wanted) => {
      const c = t.crlReservations;
      const soonest = wholeSecond(wanted);
      const [row] = await db
        .insert(c)
        .values({ caId, scope, number: 1, thisUpdate: soonest })
        .onConflictDoUpdate({
          target: [c.caId, c.scope],
          set: {
            number: sql`${c.number} + 1`,
            thisUpdate: sql`case when ${c.thisUpdate} + 1000 > ${soonest} then ${c.thisUpdate} + 1000 else ${soonest} end`,
          },
        })
        .returning();
      assert(row !== undefined, "a reservation gives its row");
      return { number: row.number, thisUpdate: instant(row.thisUpdate) };
    },
    publishCrl: async (crl) => {
      await insertCrl(crl);
    },
  };
}

function preparedBySerial({ db, t }: Session): RevocationReads["bySerial"] {
  const query = db
    .select()
    .from(t.revocations)
    .where(and(...namedSerial(t.revocations)))
    .prepare();
  return async (ca, serial) => {
    const [row] = await query.execute({ ca, serial });
    return row && record(row);
  };
}

/** One statement sees one state of both tables: between a hold and its release there is no third answer. */
function standingOf(session: Session): RevocationReads["standing"] {
  const text = `select r.revoked_at, r.reason, c.profile from
(select cast(${placeholder(session, 1)} as text) as ca, cast(${placeholder(session, 2)} as text) as serial) q
left join certificates c on c.ca_id = q.ca and c.serial = q.serial
left join revocations r on r.ca_id = q.ca and r.serial = q.serial`;
  return async (ca, serial) => {
    const found = session.row(text, [ca, serial]);
    const [at, reason, named] = (found instanceof Promise ? await found : found) ?? [];
    const profile = typeof named === "string" ? named : undefined;
    if (at === null || at === undefined) {
      return profile === undefined ? { status: "unknown" } : { status: "good", profile };
    }
    const why = reason as RevocationRecord["reason"]; // Only `put` fills the table.
    return { status: "revoked", at: instant(Number(at)), reason: why, profile };
  };
}

const namedSerial = (table: Session["t"]["revocations"] | Session["t"]["certificates"]): SQL[] => [
  eq(table.caId, sql.placeholder("ca")),
  eq(table.serial, sql.placeholder("serial")),
];

function columnsOf(table: Session["t"]["crls"]) {
  const { caId, scope, number, thisUpdate, nextUpdate, sequence, entries, der, sha256 } = table;
  return { caId, scope, number, thisUpdate, nextUpdate, sequence, entries, der, sha256 };
}

/** Only `put` fills the table, so its texts are the closed words the record's types name. */
function record(row: Session["t"]["revocations"]["$inferSelect"]): RevocationRecord {
  return { ...row, expiresAt: row.expiresAt ?? undefined } as RevocationRecord; // See above.
}
