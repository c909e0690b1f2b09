/** Certificate authorities in the database. */

import {
  and,
  type Column,
  desc,
  eq,
  inArray,
  isNotNull,
  ne,
  notExists,
  or,
  type SQL,
  sql,
} from "drizzle-orm";

import type { Reach } from "#core/access/principal.ts";
import { caId } from "#core/ids.ts";
import { refuse } from "#core/problems.ts";
import { spkiSha256 } from "#core/x509/public-keys.ts";
import type {
  CaFilter,
  CaReads,
  CaRecord,
  CaStatus,
  CaWrites,
  Certified,
} from "#domain/authorities/store.ts";
import {
  contains,
  counted,
  inserter,
  olderThan,
  pageOf,
  placeholder,
  selector,
  type Connection,
} from "#adapters/db/engine/connection.ts";

import { crossSignReads, crossSignWrites } from "./cross-signs.ts";
import { keyClaim } from "./key-checks.ts";
import { usesBeyond } from "./key-use.ts";

/** CAs as last committed; lists newest first, without internal ones. */
export function caReads(connection: Connection): CaReads {
  const { db, t } = connection;
  const byId = selector(connection, t.cas, "where id = %1");
  const byLabel = selector(connection, t.cas, "where label = %1");
  const ofLineage = selector(connection, t.cas, "where lineage = %1 order by created_at, id");
  return {
    byId: async (id) => first(await byId([id])),
    byLabel: async (label) => first(await byLabel([label])),
    page: async (filter, limit, after) => {
      const where = matching(connection, filter);
      const found = await db
        .select()
        .from(t.cas)
        .where(and(where, olderThan(t.cas.createdAt, t.cas.id, after)))
        .orderBy(desc(t.cas.createdAt), desc(t.cas.id))
        .limit(limit + 1);
      const [sum] = await db.select({ total: counted }).from(t.cas).where(where);
      const keyOf = (ca: CaRecord) => ({ at: ca.createdAt, id: ca.id });
      return pageOf(found.map(record), limit, sum?.total ?? 0, keyOf);
    },
    lineage: async (id) => (await ofLineage([id])).map(record),
    signing: () => signing(connection),
    withKey: async (spki) => {
      const key = Buffer.from(spki);
      return (await db.select().from(t.cas).where(eq(t.cas.spki, key))).map(record);
    },
    under: casUnder(connection),
    hasChildren: async (id) => {
      const children = db.select({ id: t.cas.id }).from(t.cas).where(eq(t.cas.parent, id));
      return (await children.limit(1)).length > 0;
    },
    ...crossSignReads(connection),
  };
}

/** CA writes of a unit; refuses `already_exists` (`label`) without poisoning the transaction. */
export function caWrites(connection: Connection): CaWrites {
  const { db, t } = connection;
  const insert = inserter(connection, t.cas, "skip");
  const claimKey = keyClaim(connection);
  return {
    insert: async (ca) => {
      const { key, alternative, ...facts } = ca;
      const search = `${ca.label}\n${ca.subject}`.toLowerCase();
      const row = { keyProvider: key.provider, keyLabel: key.label, keyId: key.id, search };
      const second = alternative && {
        altKeyProvider: alternative.key.provider,
        altKeyLabel: alternative.key.label,
        altKeyId: alternative.key.id,
        altKeyType: alternative.keyType,
        altSpki: alternative.spki,
      };
      // The id is fresh from the CSPRNG, so the one index that can collide is the label's.
      if ((await insert({ ...facts, ...row, ...second })) === 0) {
        throw refuse("already_exists", { field: "label" });
      }
      await claimKey(spkiSha256(ca.spki));
      if (alternative !== undefined) await claimKey(spkiSha256(alternative.spki));
    },
    status: statusOf(connection),
    certify: async (id, from, certified) => {
      const set = { ...certified, status: "active", ...nulls(certified) };
      const named = and(eq(t.cas.id, id), eq(t.cas.status, from));
      const done = await db
        .update(t.cas)
        .set({
          ...set,
          search: sql`lower(${t.cas.label}) || ${`\n${certified.subject.toLowerCase()}`}`,
        })
        .where(named)
        .returning({ id: t.cas.id });
      return done.length === 1;
    },
    supersede: async (id, by, retireAfter) => {
      const done = await db
        .update(t.cas)
        .set({ status: "superseded", successor: by, retireAfter: retireAfter ?? null })
        .where(and(eq(t.cas.id, id), eq(t.cas.status, "active")))
        .returning({ id: t.cas.id });
      return done.length === 1;
    },
    remove: removal(connection),
    ...crossSignWrites(connection),
    retireSubject: async (parent, serial) => {
      const certified = and(eq(t.cas.parent, parent), eq(t.cas.serial, serial));
      const retired = await db
        .update(t.cas)
        .set({ status: "retired" })
        .where(and(certified, ne(t.cas.status, "retired")))
        .returning({ id: t.cas.id });
      const [row] = retired;
      return row && caId(row.id);
    },
  };
}

function removal(connection: Connection): CaWrites["remove"] {
  const { db, t } = connection;
  return async (id, own) => {
    const uses = own === undefined ? [] : usesBeyond(connection, id, own.serial);
    const unused = uses.map((rows) => notExists(rows));
    const gone = db.delete(t.cas).where(and(eq(t.cas.id, id), ...unused));
    const removed = (await gone.returning({ id: t.cas.id })).length === 1;
    if (removed) await db.delete(t.grants).where(eq(t.grants.caId, id));
    return removed;
  };
}

/** Level by level, so that both dialects need no recursion of their own; CA trees are shallow. */
function casUnder({ db, t }: Connection): CaReads["under"] {
  const { id, lineage, parent, internal } = t.cas;
  const found = (where: SQL) => db.select({ id }).from(t.cas).where(where);
  return async (lineages, subtrees) => {
    const reached = new Set<string>();
    const all = [...lineages, ...subtrees];
    if (all.length === 0) return [];
    for (const row of await found(inArray(lineage, all))) reached.add(row.id);
    let level = subtrees.length === 0 ? [] : await found(inArray(lineage, [...subtrees]));
    while (level.length > 0) {
      const parents = level.map((row) => row.id);
      const below = await found(inArray(parent, parents));
      level = below.filter((row) => !reached.has(row.id));
      for (const row of level) reached.add(row.id);
    }
    const hidden = await found(and(eq(internal, true), inArray(id, [...reached])) ?? sql`1 = 0`);
    for (const row of hidden) reached.delete(row.id);
    return [...reached].map(caId);
  };
}

/** Asked by every issue, so without the query builder. */
function statusOf(connection: Connection): CaWrites["status"] {
  const text = `select status from cas where id = ${placeholder(connection, 1)}`;
  return async (id) => {
    const row = await connection.row(text, [id]);
    return row?.[0] as CaStatus | undefined; // Only `caWrites` fills the column.
  };
}

const nulls = ({ maxPathLength, externalChain }: Certified) => ({
  maxPathLength: maxPathLength ?? null,
  externalChain: externalChain ?? null,
});

/**
 * Rows within reach by their tenant, or by their CA where they have one; nothing at all for an
 * empty reach.
 */
export function within(
  { tenant, ca }: { readonly tenant: Column; readonly ca?: Column },
  reach: Reach,
): SQL | undefined {
  if (reach === "platform") return undefined;
  const { tenants, cas } = reach;
  const byTenant = tenants.length === 0 ? undefined : inArray(tenant, [...tenants]);
  const byCa = cas.length === 0 || ca === undefined ? undefined : inArray(ca, [...cas]);
  return or(byTenant, byCa) ?? sql`1 = 0`;
}

function matching({ t }: Connection, filter: CaFilter): SQL | undefined {
  return and(
    eq(t.cas.internal, false),
    within({ tenant: t.cas.tenant, ca: t.cas.id }, filter.reach),
    filter.tenant === undefined ? undefined : eq(t.cas.tenant, filter.tenant),
    filter.status === undefined ? undefined : eq(t.cas.status, filter.status),
    filter.parent === undefined ? undefined : eq(t.cas.parent, filter.parent),
    filter.text === undefined ? undefined : contains(t.cas.search, filter.text),
  );
}

async function signing({ db, t }: Connection): Promise<readonly CaRecord[]> {
  const all: CaRecord[] = [];
  for (let after: { at: number; id: string } | undefined; ; ) {
    const page = await db
      .select()
      .from(t.cas)
      .where(and(isNotNull(t.cas.certificate), olderThan(t.cas.createdAt, t.cas.id, after)))
      .orderBy(desc(t.cas.createdAt), desc(t.cas.id))
      .limit(pageRows);
    all.push(...page.map(record));
    const last = page.at(-1);
    if (last === undefined || page.length < pageRows) return all;
    after = { at: last.createdAt, id: last.id };
  }
}

type Row = Connection["t"]["cas"]["$inferSelect"];

const first = (rows: readonly Row[]): CaRecord | undefined => rows[0] && record(rows[0]);

/** Only `caWrites` fills the table, so its texts are the closed words the record's types name. */
function record(row: Row): CaRecord {
  const { keyProvider, keyLabel, keyId, search: _search, ...rest } = row;
  const { altKeyProvider, altKeyLabel, altKeyId, altKeyType, altSpki, ...facts } = rest;
  const key = { provider: altKeyProvider, label: altKeyLabel, id: altKeyId };
  return {
    ...facts,
    parent: row.parent ?? undefined,
    certificate: row.certificate ?? undefined,
    serial: row.serial ?? undefined,
    maxPathLength: row.maxPathLength ?? undefined,
    notBefore: row.notBefore ?? undefined,
    notAfter: row.notAfter ?? undefined,
    csr: row.csr ?? undefined,
    externalChain: row.externalChain ?? undefined,
    successor: row.successor ?? undefined,
    predecessor: row.predecessor ?? undefined,
    retireAfter: row.retireAfter ?? undefined,
    key: { provider: keyProvider, label: keyLabel, id: keyId },
    alternative: altSpki === null ? undefined : { key, keyType: altKeyType, spki: altSpki },
  } as CaRecord; // See above.
}

const pageRows = 1000;
