/** Blocked keys and the instance's own keys in the database. */

import { and, desc, eq, inArray, ne } from "drizzle-orm";

import type { Reach } from "#core/access/principal.ts";
import { type TenantId, tenantId } from "#core/ids.ts";
import { assert } from "#core/problems.ts";
import type {
  BlockedKeyFilter,
  BlockedKeyRecord,
  KeyCheckReads,
  KeyCheckWrites,
  KeyQuestion,
  KeySubject,
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
} from "#adapters/db/engine/connection.ts";

/** Blocked and own keys as last committed; `remember` may keep what is marked until it changes. */
export function keyCheckReads(
  connection: Connection,
  remember: (read: ReadMarked) => ReadMarked = (read) => read,
): KeyCheckReads {
  const { db, t } = connection;
  const { blockedKeys, certificates } = t;
  return {
    keyStatus: standingOf(connection, remember(markedKeys(connection))),
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

/** Keys by their digest, and how each is marked. */
export type MarkedKeys = ReadonlyMap<string, Marks>;

interface Marks {
  /** Whose CAs do not certify it, "" for all. */
  readonly blockedFor: readonly string[];
  readonly own: boolean;
}

/** All of them where they are few, as nearly everywhere. */
export type ReadMarked = () => Promise<MarkedKeys | "many" | undefined>;

/** Every marked key, or that they are many. */
function markedKeys(connection: Connection): ReadMarked {
  const blocked = `select spki_sha256, tenant from blocked_keys limit ${markedMax + 1}`;
  const own = `select spki_sha256 from own_keys limit ${markedMax + 1}`;
  return async () => {
    const found = await Promise.all([connection.rows(blocked, []), connection.rows(own, [])]);
    if (found.some((rows) => rows.length > markedMax)) return "many";
    const marked = new Map<string, Marks>();
    const [blockedRows, ownRows] = found;
    for (const [digest, tenant] of blockedRows) {
      const { blockedFor } = marked.get(String(digest)) ?? unmarked;
      const both = [...blockedFor, String(tenant)];
      marked.set(String(digest), { blockedFor: both, own: false });
    }
    for (const [digest] of ownRows) {
      const { blockedFor } = marked.get(String(digest)) ?? unmarked;
      marked.set(String(digest), { blockedFor, own: true });
    }
    return marked;
  };
}

/** Asked for every certificate. Of few marked keys the store knows all; many are looked up. */
function standingOf(connection: Connection, read: ReadMarked): KeyCheckReads["keyStatus"] {
  const lookUp = markLookUp(connection);
  const taken = duplicateLookUp(connection);
  return async ({ spkiSha256, tenant, duplicate }: KeyQuestion) => {
    const marked = await read();
    const status =
      marked instanceof Map
        ? statusOf(marked.get(spkiSha256) ?? unmarked, tenant)
        : await lookUp(spkiSha256, tenant);
    const held = duplicate !== undefined && (await taken(spkiSha256, tenant, duplicate));
    return { ...status, duplicate: held };
  };
}

const statusOf = ({ blockedFor, own }: Marks, tenant: TenantId) => ({
  blocked: blockedFor.some((whose) => whose === "" || whose === tenant),
  own,
});

/** One statement, each part of it a lookup in an index. */
function markLookUp(connection: Connection) {
  const [digest, tenant, again] = [1, 2, 3].map((at) => placeholder(connection, at));
  const text = `select exists (select 1 from blocked_keys where spki_sha256 = ${digest} and tenant in ('', ${tenant})), exists (select 1 from own_keys where spki_sha256 = ${again})`;
  return async (spkiSha256: string, whose: TenantId) => {
    const row = await connection.row(text, [spkiSha256, whose, spkiSha256]);
    assert(row !== undefined, "a query for flags gives a row");
    const [blocked, own] = row.map(Boolean);
    return { blocked: blocked === true, own: own === true };
  };
}

/** Another holder in the tenant whose leaf for the key has not expired. */
function duplicateLookUp(connection: Connection) {
  const [digest, tenant, subject, sans, now] = [1, 2, 3, 4, 5].map((at) =>
    placeholder(connection, at),
  );
  const text = `select exists (select 1 from certificates where spki_sha256 = ${digest} and kind = 'leaf' and tenant = ${tenant} and (subject <> ${subject} or (subject = '' and sans <> ${sans})) and not_after >= ${now})`;
  return async (spkiSha256: string, whose: TenantId, holder: KeySubject) => {
    const names = [holder.subject, JSON.stringify(holder.sans)];
    const row = await connection.row(text, [spkiSha256, whose, ...names, holder.now]);
    assert(row !== undefined, "a query for a flag gives a row");
    return Boolean(row[0]);
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

const unmarked: Marks = { blockedFor: [], own: false };
/** What is read at once after each change: a millisecond or two here. */
const markedMax = 1000;
