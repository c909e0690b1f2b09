/** Certificates and the intents that precede them in the database. */

import { and, desc, eq, exists, ne, sql } from "drizzle-orm";

import type { Serial } from "#core/ids.ts";
import { assert } from "#core/problems.ts";
import { identityOf } from "#domain/certificates/identity.ts";
import type {
  CertificateReads,
  CertificateRecord,
  CertificateWrites,
  IntentRecord,
} from "#domain/certificates/store.ts";
import { outstandingOf } from "#adapters/db/inventory/certificate-counts.ts";
import { isOfOwnKey } from "#domain/key-checks/store.ts";
import { ownedByDead } from "#adapters/db/engine/owners.ts";
import {
  breath,
  counted,
  inserter,
  inTexts,
  olderThan,
  pageOf,
  placeholder,
  rowsAtOnce,
  selector,
  type Connection,
} from "#adapters/db/engine/connection.ts";
import { slicedInventory } from "#adapters/db/inventory/sliced-inventory.ts";
import { wholeInventory } from "#adapters/db/inventory/whole-inventory.ts";

import { within } from "./cas.ts";
import { keyClaim } from "./key-checks.ts";
import { supersededOf } from "./superseded.ts";

/** Certificates and orphaned intents as last committed. */
export function certificateReads(connection: Connection): CertificateReads {
  const { db, t } = connection;
  const inventory =
    connection.dialect === "sqlite" ? slicedInventory(connection) : wholeInventory(connection);
  return {
    bySerial: preparedBySerial(connection),
    page: async (filter, limit, after) => {
      const page = await inventory(filter, limit, after);
      return { ...page, items: page.items.map(record) };
    },
    orphans: orphansOf(connection),
    outstanding: outstandingOf(connection),
    superseded: supersededOf(connection),
    signedBeyond: signedBeyond(connection),
    profileSeen: async (name, reach) => {
      const { caId, kind, profile } = t.certificates;
      const its = and(eq(kind, "leaf"), eq(profile, name));
      const named = db.select({ caId }).from(t.certificates);
      if (reach === "platform") return (await named.where(its).limit(1)).length > 0;
      const seen = and(
        within({ tenant: t.cas.tenant, ca: t.cas.id }, reach),
        exists(named.where(and(its, eq(caId, t.cas.id)))),
      );
      return (await db.select({ id: t.cas.id }).from(t.cas).where(seen).limit(1)).length > 0;
    },
  };
}

function orphansOf({ db, t }: Connection): CertificateReads["orphans"] {
  const { caId, createdAt, opId } = t.intents;
  return async (ca, limit, after) => {
    // Literal, not a parameter: otherwise no planner may use the partial index.
    const orphaned = and(sql`state = 'orphaned'`, eq(caId, ca));
    const rows = await db
      .select()
      .from(t.intents)
      .where(and(orphaned, olderThan(createdAt, opId, after)))
      .orderBy(desc(createdAt), desc(opId))
      .limit(limit + 1);
    const [sum] = await db.select({ total: counted }).from(t.intents).where(orphaned);
    const keyOf = (row: IntentRecord) => ({ at: row.createdAt, id: row.opId });
    return pageOf(rows.map(intentRecord), limit, sum?.total ?? 0, keyOf);
  };
}

function signedBeyond({ db, t }: Connection): CertificateReads["signedBeyond"] {
  return async (ca, own) => {
    const others = and(
      eq(t.intents.caId, ca),
      ne(t.intents.purpose, "responder_certificate"),
      own === undefined ? undefined : ne(t.intents.serial, own),
    );
    const taken = await db.select({ caId: t.intents.caId }).from(t.intents).where(others).limit(1);
    if (taken.length > 0) return true;
    const crls = t.crlReservations;
    const reserved = db.select({ caId: crls.caId }).from(crls).where(eq(crls.caId, ca));
    return (await reserved.limit(1)).length > 0;
  };
}

/** `owner` is this store's number among the replicas. */
export function certificateWrites(connection: Connection, owner: number): CertificateWrites {
  const { db, t } = connection;
  const insertIntent = inserter(connection, t.intents, "skip");
  const insertCertificate = inserter(connection, t.certificates, "skip");
  const claimKey = keyClaim(connection);
  const settle = settling(connection);
  const mark = (at: number) => placeholder(connection, at);
  const issued = `update intents set state = 'issued' where ca_id = ${mark(1)} and serial = ${mark(2)} and op_id = ${mark(3)} and state = 'intended'`;
  return {
    intend: async (intent) => (await insertIntent({ ...intent, owner })) === 1,
    activate: async (opId, certificate) => {
      const { caId, serial, subject, commonName, sans, ct: facts } = certificate;
      const search = [subject, commonName, ...sans].join("\n").toLowerCase();
      const identity = identityOf(certificate);
      const ct = facts === undefined ? null : JSON.stringify(facts);
      const row = { ...certificate, search, identity, serialHex: hex(serial), ct };
      // Sent together: when the intent is not open the unit fails, and the row with it.
      const [settled, inserted] = await Promise.all([
        connection.run(issued, [caId, serial, opId]),
        insertCertificate(row),
      ]);
      assert(settled === 1, "an intent is settled once, with its own serial");
      assert(inserted === 1, "a certificate is stored once");
      if (isOfOwnKey(certificate.kind)) await claimKey(certificate.spkiSha256);
    },
    settle,
    lock: preparedBySerial(connection),
    setStatus: async (ca, serial, status, revokedAt, reason) => {
      const changed = await db
        .update(t.certificates)
        .set({ status, revokedAt: revokedAt ?? null, reason: reason ?? null })
        .where(and(eq(t.certificates.caId, ca), eq(t.certificates.serial, serial)))
        .returning({ id: t.certificates.id });
      assert(changed.length === 1, "a status is set on a row that exists");
    },
    setStatuses: settingStatuses(connection),
    orphanOpenIntents: async () => {
      const open = and(sql`state = 'intended'`, ownedByDead(connection, t.intents.owner, owner));
      const orphans = db.update(t.intents).set({ state: "orphaned" }).where(open).returning();
      return (await orphans).map(intentRecord);
    },
  };
}

function settingStatuses(connection: Connection): CertificateWrites["setStatuses"] {
  const c = connection.t.certificates;
  return async (ca, serials, to) => {
    for (let at = 0; at < serials.length; at += rowsAtOnce) {
      const piece = serials.slice(at, at + rowsAtOnce);
      const named = and(eq(c.caId, ca), inTexts(connection, c.serial, piece));
      await connection.db.update(c).set(to).where(named);
      if (connection.dialect === "sqlite") await breath();
    }
  };
}

function settling(connection: Connection): CertificateWrites["settle"] {
  const [first, second] = [placeholder(connection, 1), placeholder(connection, 2)];
  const text = `update intents set state = ${first} where op_id = ${second} and state = 'intended'`;
  return async (opId, state) => {
    assert((await connection.run(text, [state, opId])) === 1, "an intent is settled once");
  };
}

function preparedBySerial(connection: Connection): CertificateReads["bySerial"] {
  const named = "where ca_id = %1 and serial = %2";
  const find = selector(connection, connection.t.certificates, named);
  return async (ca, serial) => {
    const [row] = await find([ca, serial]);
    return row && record(row);
  };
}

const hex = (serial: Serial) => BigInt(serial).toString(16);

/**
 * Only `certificateWrites` fills the table, so its texts are the closed words the record's types
 * name.
 */
function record(row: Connection["t"]["certificates"]["$inferSelect"]): CertificateRecord {
  const { ordinal: _o, search: _s, identity: _i, serialHex: _h, ...facts } = row;
  const revocation = { revokedAt: row.revokedAt ?? undefined, reason: row.reason ?? undefined };
  const ct: unknown = row.ct === null ? undefined : JSON.parse(row.ct);
  const shard = { crlPartition: row.crlPartition ?? undefined, crlUrl: row.crlUrl ?? undefined };
  return { ...facts, ...revocation, ...shard, ct } as CertificateRecord; // See above.
}

/** As `record`, for intents. */
function intentRecord(row: Connection["t"]["intents"]["$inferSelect"]): IntentRecord {
  const { owner: _owner, ...facts } = row;
  return facts as IntentRecord; // See above.
}
