/** Certificates and the intents that precede them in the database. */

import { and, desc, eq, gte, lt, type SQL, sql } from "drizzle-orm";

import { parseSerial, type Serial } from "#core/ids.ts";
import { assert, Problem } from "#core/problems.ts";
import type {
  CertificateFilter,
  CertificateReads,
  CertificateRecord,
  CertificateWrites,
  IntentRecord,
} from "#domain/certificates/store.ts";
import { keyClaim } from "./key-checks.ts";
import { ownedByDead } from "./owners.ts";
import {
  contains,
  counted,
  inserter,
  olderThan,
  pageOf,
  placeholder,
  type Session,
  startsWith,
} from "./session.ts";

/** Certificates and orphaned intents as last committed. */
export function certificateReads(session: Session): CertificateReads {
  const { db, t } = session;
  const { createdAt, id, caId, profile } = t.certificates;
  return {
    bySerial: preparedBySerial(session),
    page: async (filter, limit, after) => {
      const where = matching(session, filter);
      const found = await db
        .select()
        .from(t.certificates)
        .where(and(where, olderThan(createdAt, id, after)))
        .orderBy(desc(createdAt), desc(id))
        .limit(limit + 1);
      const [sum] = await db.select({ total: counted }).from(t.certificates).where(where);
      const keyOf = (row: CertificateRecord) => ({ at: row.createdAt, id: row.id });
      return pageOf(found.map(record), limit, sum?.total ?? 0, keyOf);
    },
    orphans: async (ca, limit) => {
      // Literal, not a parameter: otherwise no planner may use the partial index.
      const orphaned = and(sql`state = 'orphaned'`, eq(t.intents.caId, ca));
      const rows = db.select().from(t.intents).where(orphaned);
      const newest = rows.orderBy(desc(t.intents.createdAt), desc(t.intents.opId)).limit(limit);
      return (await newest).map(intentRecord);
    },
    profileSeen: async (name) => {
      const seen = db.select({ caId }).from(t.certificates).where(eq(profile, name)).limit(1);
      return (await seen).length > 0;
    },
  };
}

/** `owner` is this store's number among the replicas. */
export function certificateWrites(session: Session, owner: number): CertificateWrites {
  const { db, t } = session;
  const insertIntent = inserter(session, t.intents, "skip");
  const insertCertificate = inserter(session, t.certificates, "skip");
  const claimKey = keyClaim(session);
  const settle = settling(session);
  const mark = (at: number) => placeholder(session, at);
  const issued = `update intents set state = 'issued' where ca_id = ${mark(1)} and serial = ${mark(2)} and op_id = ${mark(3)} and state = 'intended'`;
  return {
    intend: async (intent) => (await insertIntent({ ...intent, owner })) === 1,
    activate: async (opId, certificate) => {
      const { caId, serial, subject, commonName, sans } = certificate;
      const search = [subject, commonName, ...sans].join("\n").toLowerCase();
      const row = { ...certificate, search, serialHex: hex(serial) };
      // Sent together: when the intent is not open the unit fails, and the row with it.
      const [settled, inserted] = await Promise.all([
        session.run(issued, [caId, serial, opId]),
        insertCertificate(row),
      ]);
      assert(settled === 1, "an intent is settled once, with its own serial");
      assert(inserted === 1, "a certificate is stored once");
      if (certificate.kind !== "leaf") await claimKey(certificate.spkiSha256);
    },
    settle,
    lock: preparedBySerial(session),
    setStatus: async (ca, serial, status, revokedAt, reason) => {
      const changed = await db
        .update(t.certificates)
        .set({ status, revokedAt: revokedAt ?? null, reason: reason ?? null })
        .where(and(eq(t.certificates.caId, ca), eq(t.certificates.serial, serial)))
        .returning({ id: t.certificates.id });
      assert(changed.length === 1, "a status is set on a row that exists");
    },
    orphanOpenIntents: async () => {
      const open = and(sql`state = 'intended'`, ownedByDead(session, t.intents.owner, owner));
      const orphans = db.update(t.intents).set({ state: "orphaned" }).where(open).returning();
      return (await orphans).map(intentRecord);
    },
  };
}

function settling(session: Session): CertificateWrites["settle"] {
  const [first, second] = [placeholder(session, 1), placeholder(session, 2)];
  const text = `update intents set state = ${first} where op_id = ${second} and state = 'intended'`;
  return async (opId, state) => {
    assert((await session.run(text, [state, opId])) === 1, "an intent is settled once");
  };
}

function preparedBySerial({ db, t }: Session): CertificateReads["bySerial"] {
  const named = [
    eq(t.certificates.caId, sql.placeholder("ca")),
    eq(t.certificates.serial, sql.placeholder("serial")),
  ];
  const query = db
    .select()
    .from(t.certificates)
    .where(and(...named))
    .prepare();
  return async (ca, serial) => {
    const [row] = await query.execute({ ca, serial });
    return row && record(row);
  };
}

function matching({ t }: Session, filter: CertificateFilter): SQL | undefined {
  const c = t.certificates;
  const { profile, spkiSha256, expiresBefore, serialPrefix, text } = filter;
  return and(
    eq(c.caId, filter.caId),
    eq(c.kind, "leaf"),
    profile === undefined ? undefined : eq(c.profile, profile),
    spkiSha256 === undefined ? undefined : eq(c.spkiSha256, spkiSha256),
    expiresBefore === undefined ? undefined : lt(c.notAfter, expiresBefore),
    serialPrefix === undefined ? undefined : beginning(c, serialPrefix),
    text === undefined ? undefined : spelling(c, text),
    standing(c, filter),
  );
}

type Columns = Session["t"]["certificates"];

function beginning(c: Columns, prefix: string): SQL {
  const written = prefix.toLowerCase();
  return written.startsWith("0x")
    ? startsWith(c.serialHex, written.slice(2))
    : startsWith(c.serial, written);
}

function spelling(c: Columns, text: string): SQL {
  const part = contains(c.search, text);
  const serial = serialIn(text);
  return serial === undefined ? part : sql`(${part} or ${eq(c.serial, serial)})`;
}

function serialIn(text: string): Serial | undefined {
  try {
    return parseSerial(text);
  } catch (error) {
    if (error instanceof Problem) return undefined; // Not a serial in any spelling.
    throw error;
  }
}

// RFC 5280 §4.1.2.5: notAfter itself is still inside the validity.
function standing(c: Columns, { status, now }: CertificateFilter): SQL | undefined {
  if (status === undefined) return undefined;
  if (status === "good") return and(eq(c.status, "good"), gte(c.notAfter, now));
  if (status === "expired") return and(eq(c.status, "good"), lt(c.notAfter, now));
  return eq(c.status, status);
}

const hex = (serial: Serial) => BigInt(serial).toString(16);

/** Only `certificateWrites` fills the table, so its texts are the closed words the record's types name. */
function record(row: Columns["$inferSelect"]): CertificateRecord {
  const { search: _search, serialHex: _hex, ...facts } = row;
  const revocation = { revokedAt: row.revokedAt ?? undefined, reason: row.reason ?? undefined };
  return { ...facts, ...revocation } as CertificateRecord; // See above.
}

/** As `record`, for intents. */
function intentRecord(row: Session["t"]["intents"]["$inferSelect"]): IntentRecord {
  const { owner: _owner, ...facts } = row;
  return facts as IntentRecord; // See above.
}
