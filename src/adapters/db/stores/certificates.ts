/** Certificates and the intents that precede them in the database. */

import { and, desc, eq, exists, inArray, ne, sql } from "drizzle-orm";

import type { Serial } from "#core/ids.ts";
import { sha256Hex } from "#core/crypto.ts";
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
import { partsOf } from "#adapters/db/engine/folds.ts";
import type { Unwritten } from "#adapters/db/engine/unwritten.ts";
import { ownedByDead } from "#adapters/db/engine/owners.ts";
import {
  breath,
  counted,
  inTexts,
  olderThan,
  pageOf,
  placeholder,
  rowsAtOnce,
  selector,
  type Connection,
} from "#adapters/db/engine/connection.ts";
import { daysOf } from "#adapters/db/inventory/day-counts.ts";
import { statusCountsOf } from "#adapters/db/inventory/status-counts.ts";
import { beginningAlike } from "#adapters/db/inventory/by-digest.ts";
import { slicedInventory } from "#adapters/db/inventory/sliced-inventory.ts";
import { wholeInventory } from "#adapters/db/inventory/whole-inventory.ts";
import { digestHeadOf } from "#adapters/db/tables/digest-head.ts";

import { within } from "./cas.ts";
import { keyClaim } from "./key-checks.ts";
import { usesBeyond } from "./key-use.ts";
import { supersededOf } from "./superseded.ts";

/** Certificates and orphaned intents as last committed. */
export function certificateReads(connection: Connection): CertificateReads {
  const inventory =
    connection.dialect === "sqlite" ? slicedInventory(connection) : wholeInventory(connection);
  return {
    bySerial: preparedBySerial(connection),
    page: async (filter, limit, after) => {
      const { sha256 } = filter;
      if (sha256 !== undefined) {
        const alike = await beginningAlike(connection, filter, sha256);
        const records = await withArchived(connection, alike.map(record));
        const items = records.filter(({ certificate }) => sha256Hex(certificate) === sha256);
        return { items, total: items.length, next: undefined };
      }
      const page = await inventory(filter, limit, after);
      return { ...page, items: await withArchived(connection, page.items.map(record)) };
    },
    findIntended: findIntents(connection),
    orphans: orphansOf(connection),
    outstanding: outstandingOf(connection),
    days: daysOf(connection),
    statusCounts: statusCountsOf(connection),
    superseded: supersededOf(connection),
    signedBeyond: signedBeyond(connection),
    profileSeen: profileSeenOf(connection),
  };
}

/** CA by CA where an index holds the rows; the newest are walked once for all CAs. */
function profileSeenOf(connection: Connection): CertificateReads["profileSeen"] {
  const { db, t } = connection;
  const { caId, kind, profile } = t.certificates;
  return async (name, reach) => {
    const its = and(eq(kind, "leaf"), eq(profile, name));
    const [indexed, newest] = await partsOf(connection, "certificates");
    const known = db.select({ caId }).from(indexed.from);
    const reached = within({ tenant: t.cas.tenant, ca: t.cas.id }, reach);
    const all = and(indexed.rows, its);
    const seen =
      reach === "platform"
        ? known.where(all).limit(1)
        : db
            .select({ id: t.cas.id })
            .from(t.cas)
            .where(and(reached, exists(known.where(and(all, eq(caId, t.cas.id))))))
            .limit(1);
    if ((await seen).length > 0) return true;
    if (newest === undefined) return false;
    const cas = db.select({ id: t.cas.id }).from(t.cas).where(reached);
    const whose = reach === "platform" ? undefined : inArray(caId, cas);
    const fresh = db.select({ caId }).from(newest.from);
    return (await fresh.where(and(newest.rows, its, whose)).limit(1)).length > 0;
  };
}

function findIntents(connection: Connection): CertificateReads["findIntended"] {
  const { caId, serial } = connection.t.intents;
  return async (ca, serials) => {
    const named = and(eq(caId, ca), inTexts(connection, serial, serials));
    const rows = connection.db.select({ serial }).from(connection.t.intents).where(named);
    return new Set((await rows).map((row) => row.serial as Serial)); // Only intents fill the table.
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

function signedBeyond(connection: Connection): CertificateReads["signedBeyond"] {
  const { db, t } = connection;
  return async (ca, own) => {
    for (const uses of usesBeyond(connection, ca, own)) {
      if ((await uses.limit(1)).length > 0) return true;
    }
    const crls = t.crlReservations;
    const reserved = db.select({ caId: crls.caId }).from(crls).where(eq(crls.caId, ca));
    return (await reserved.limit(1)).length > 0;
  };
}

/**
 * `owner` is this store's number among the replicas; certificates and intents are written by
 * `unwritten`.
 */
export function certificateWrites(
  connection: Connection,
  owner: number,
  unwritten: Unwritten,
): CertificateWrites {
  const { db, t } = connection;
  const claimKey = keyClaim(connection);
  return {
    intend: (intent) => unwritten.take(intent),
    activate: async (opId, certificate) => {
      const { caId, serial } = certificate;
      const open = await unwritten.open(opId, serial);
      const itsOwn = open?.serial === serial && open.caId === caId;
      assert(itsOwn, "an intent is settled once, with its own serial");
      unwritten.certified(open, rowOf(certificate));
      if (isOfOwnKey(certificate.kind)) await claimKey(certificate.spkiSha256);
    },
    adopt: (certificate) => unwritten.adopt(rowOf(certificate)),
    settle: async (opId, state) => {
      const open = await unwritten.open(opId);
      assert(open !== undefined, "an intent is settled once");
      unwritten.failed(open, state);
    },
    lock: preparedBySerial(connection),
    setStatus: settingStatus(connection),
    setStatuses: settingStatuses(connection),
    orphanOpenIntents: async () => {
      const o = t.openIntents;
      const left = and(ne(o.serial, ""), ownedByDead(connection, o.owner, owner));
      const rows = await db.select().from(o).where(left);
      for (const row of rows) unwritten.failed(row, "orphaned");
      return rows.map(({ number: _number, owner: _owner, ...facts }) =>
        intentRecord({ ...facts, state: "orphaned" }),
      );
    },
  };
}

function settingStatus(connection: Connection): CertificateWrites["setStatus"] {
  const [status, at, why, ofCa, named] = [1, 2, 3, 4, 5].map((n) => placeholder(connection, n));
  const text = `update certificates set status = ${status}, revoked_at = ${at}, reason = ${why} where ca_id = ${ofCa} and serial = ${named}`;
  return async (ca, serial, to, revokedAt, reason) => {
    const values = [to, revokedAt ?? null, reason ?? null, ca, serial];
    const changed = await connection.run(text, values);
    assert(changed === 1, "a status is set on a row that exists");
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

function preparedBySerial(connection: Connection): CertificateReads["bySerial"] {
  const named = "where ca_id = %1 and serial = %2";
  const find = selector(connection, connection.t.certificates, named);
  return async (ca, serial) => {
    const [row] = await find([ca, serial]);
    if (row === undefined || row.certificate.length > 0) return row && record(row);
    return (await withArchived(connection, [record(row)]))[0];
  };
}

/** The same, those whose DER is in the archive with it; a tombstone has none anywhere. */
async function withArchived(
  connection: Connection,
  records: readonly CertificateRecord[],
): Promise<readonly CertificateRecord[]> {
  const empty = records.filter(({ certificate }) => certificate.length === 0);
  if (empty.length === 0) return records;
  const a = connection.t.certificateArchive;
  const serials = inTexts(
    connection,
    a.serial,
    empty.map(({ serial }) => serial),
  );
  const cas = inTexts(
    connection,
    a.caId,
    empty.map(({ caId }) => caId),
  );
  const rows = await connection.db.select().from(a).where(and(cas, serials));
  return records.map((one) => {
    const row = rows.find(({ caId, serial }) => caId === one.caId && serial === one.serial);
    return row === undefined ? one : { ...one, certificate: row.certificate };
  });
}

/** A certificate with the columns that follow from it. */
function rowOf(certificate: CertificateRecord) {
  const { serial, subject, commonName, sans, ct: facts } = certificate;
  const search = [subject, commonName, ...sans].join("\n").toLowerCase();
  const identity = identityOf(certificate);
  const ct = facts === undefined ? null : JSON.stringify(facts);
  const digestHead = digestHeadOf(certificate.certificate);
  return { ...certificate, search, identity, serialHex: hex(serial), ct, digestHead };
}

const hex = (serial: Serial) => BigInt(serial).toString(16);

/**
 * Only `certificateWrites` fills the table, so its texts are the closed words the record's types
 * name.
 */
function record(row: Connection["t"]["certificates"]["$inferSelect"]): CertificateRecord {
  const { ordinal: _o, search: _s, identity: _i, serialHex: _h, folded: _f, ...rest } = row;
  const { digestHead: _d, ...facts } = rest;
  const revocation = { revokedAt: row.revokedAt ?? undefined, reason: row.reason ?? undefined };
  const ct: unknown = row.ct === null ? undefined : JSON.parse(row.ct);
  const shard = { crlPartition: row.crlPartition ?? undefined, crlUrl: row.crlUrl ?? undefined };
  return { ...facts, ...revocation, ...shard, ct } as CertificateRecord; // See above.
}

/** As `record`, for intents. */
function intentRecord(row: Connection["t"]["intents"]["$inferSelect"]): IntentRecord {
  return row as IntentRecord; // See above.
}
