/** Blocked keys and the instance's own keys in the database. */

import { and, desc, eq, inArray, ne } from "drizzle-orm";

import type { Reach } from "#core/access/principal.ts";
import { tenantId } from "#core/ids.ts";
import type {
  BlockedKeyFilter,
  BlockedKeyRecord,
  KeyCheckReads,
  KeyCheckWrites,
  KeyQuestion,
} from "#domain/key-checks/store.ts";
import {
  bulkInserter,
  contains,
  counted,
  inserter,
  inTexts,
  olderThan,
  pageOf,
  placeholder,
  type Connection,
  type Value,
} from "#adapters/db/engine/connection.ts";

/** Blocked and own keys as last committed. */
export function keyCheckReads(connection: Connection): KeyCheckReads {
  const { db, t } = connection;
  const { blockedKeys, certificates } = t;
  return {
    standing: standingOf(connection),
    blocked: async (id) => {
      const [row] = await db.select().from(blockedKeys).where(eq(blockedKeys.id, id));
      return row && record(row);
    },
    page: async (reach, filter, limit, after) => {
      const where = and(visibleIn(connection, reach), matching(connection, filter));
      const { createdAt, id } = blockedKeys;
      const found = await db
        .select()
        .from(blockedKeys)
        .where(and(where, olderThan(createdAt, id, after)))
        .orderBy(desc(createdAt), desc(id))
        .limit(limit + 1);
      const [sum] = await db.select({ total: counted }).from(blockedKeys).where(where);
      const keyOf = (row: BlockedKeyRecord) => ({ at: row.createdAt, id: row.id });
      return pageOf(found.map(record), limit, sum?.total ?? 0, keyOf);
    },
    unrevokedWith: async (digest) => {
      const { spkiSha256, status } = certificates;
      const alive = and(eq(spkiSha256, digest), ne(status, "revoked"));
      const [sum] = await db.select({ total: counted }).from(certificates).where(alive);
      return sum?.total ?? 0;
    },
  };
}

/** Writes of a unit on the writing connection. */
export function keyCheckWrites(connection: Connection): KeyCheckWrites {
  const { db, t } = connection;
  const insert = inserter(connection, t.blockedKeys, "skip");
  const insertMany = bulkInserter(connection, t.blockedKeys);
  const claim = keyClaim(connection);
  return {
    block: async (row) => {
      const named = eq(t.blockedKeys.spkiSha256, row.spkiSha256);
      const there = and(named, blockingFor(connection, row.tenant));
      const known = async () => (await db.select().from(t.blockedKeys).where(there))[0];
      const present = await known();
      if (present !== undefined) return record(present);
      if ((await insert(stored(row))) === 1) return undefined;
      // Another replica was faster.
      const theirs = await known();
      return theirs && record(theirs);
    },
    blockMany: async (records) => {
      const { spkiSha256 } = t.blockedKeys;
      const digests = records.map((record) => record.spkiSha256);
      const present = db.select({ spkiSha256 }).from(t.blockedKeys);
      const there = blockingFor(connection, records[0]?.tenant);
      const rows = await present.where(and(inTexts(connection, spkiSha256, digests), there));
      const known = new Set(rows.map((row) => row.spkiSha256));
      const fresh = records.filter((record) => !known.has(record.spkiSha256));
      await insertMany(fresh.map(stored));
      return fresh;
    },
    unblock: async (id) => {
      const [gone] = await db.delete(t.blockedKeys).where(eq(t.blockedKeys.id, id)).returning();
      return gone && record(gone);
    },
    claim,
  };
}

/** Marks a key as the instance's own; what is marked already stays so. */
export function keyClaim(connection: Connection): KeyCheckWrites["claim"] {
  const insert = inserter(connection, connection.t.ownKeys, "skip");
  return async (spkiSha256) => {
    await insert({ spkiSha256 });
  };
}

/** Asked for every certificate: one statement, each part of it a lookup in an index. */
function standingOf(connection: Connection): KeyCheckReads["standing"] {
  const mark = (at: number) => placeholder(connection, at);
  const marked = `select exists (select 1 from blocked_keys where spki_sha256 = ${mark(1)} and tenant in ('', ${mark(2)})), exists (select 1 from own_keys where spki_sha256 = ${mark(3)})`;
  const withDuplicate = `${marked}, exists (select 1 from certificates where spki_sha256 = ${mark(4)} and kind = 'leaf' and tenant = ${mark(5)} and (subject <> ${mark(6)} or (subject = '' and sans <> ${mark(7)})) and not_after >= ${mark(8)})`;
  return async ({ spkiSha256, tenant, duplicate }: KeyQuestion) => {
    const both: Value[] = [spkiSha256, tenant, spkiSha256];
    const row =
      duplicate === undefined
        ? await connection.row(marked, both)
        : await connection.row(withDuplicate, [
            ...both,
            spkiSha256,
            tenant,
            duplicate.subject,
            JSON.stringify(duplicate.sans),
            duplicate.now,
          ]);
    if (row === undefined) throw new Error("a query for three flags gave no row");
    const [blocked, own, taken] = row.map(Boolean);
    return { blocked: blocked === true, own: own === true, duplicate: taken === true };
  };
}

function matching({ t }: Connection, { text, spkiSha256 }: BlockedKeyFilter) {
  return and(
    text === undefined ? undefined : contains(t.blockedKeys.search, text),
    spkiSha256 === undefined ? undefined : eq(t.blockedKeys.spkiSha256, spkiSha256),
  );
}

/** Rows that keep a CA of the tenant from certifying; those for all CAs do so for every tenant. */
const blockingFor = ({ t }: Connection, tenant: BlockedKeyRecord["tenant"]) =>
  inArray(t.blockedKeys.tenant, ["", tenant ?? ""]);

const visibleIn = ({ t }: Connection, reach: Reach) =>
  reach === "platform" ? undefined : inArray(t.blockedKeys.tenant, [...reach.tenants]);

const stored = ({ tenant = tenantId(""), ...facts }: BlockedKeyRecord) => ({
  ...facts,
  tenant,
  search: facts.reason.toLowerCase(),
});

/** Only `block` fills the table, so its texts are the closed words the record's type names. */
function record(row: Connection["t"]["blockedKeys"]["$inferSelect"]): BlockedKeyRecord {
  const { search: _search, ...facts } = row;
  // See above.
  return { ...facts, tenant: row.tenant === "" ? undefined : row.tenant } as BlockedKeyRecord;
}
