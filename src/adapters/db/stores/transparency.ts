/** Precertificates, SCTs of logs and heads of logs in the database. */

import { and, asc, desc, eq, inArray, isNull, lte, type SQL, sql } from "drizzle-orm";

import { assert } from "#core/problems.ts";
import type {
  InclusionFilter,
  InclusionRecord,
  InclusionStatus,
  LogHeadRecord,
  PrecertificateRecord,
  TransparencyReads,
  TransparencyWrites,
} from "#domain/transparency/store.ts";
import {
  counted,
  inserter,
  olderThan,
  pageOf,
  placeholder,
  type Connection,
} from "#adapters/db/engine/connection.ts";

import { within } from "./cas.ts";

/** What was last committed. */
export function transparencyReads(connection: Connection): TransparencyReads {
  const { db, t } = connection;
  const { precertificates: p, inclusions: i, intents, logHeads, revocations } = t;
  return {
    precertificate: precertificateOf(connection),
    lost: async (limit) => {
      const itsIntent = and(eq(intents.caId, p.caId), eq(intents.serial, p.serial));
      const rows = await db
        .select({ row: p })
        .from(p)
        .innerJoin(intents, itsIntent)
        // Literal, not a parameter: otherwise no planner may use the partial index.
        .where(and(sql`unsettled`, inArray(intents.state, ["abandoned", "orphaned"])))
        .orderBy(asc(p.createdAt))
        .limit(limit);
      return rows.map(({ row }) => precertificate(row));
    },
    endless: async (limit) => {
      const itsEntry = and(eq(revocations.caId, p.caId), eq(revocations.serial, p.serial));
      const rows = await db
        .select({ row: p })
        .from(p)
        .innerJoin(revocations, itsEntry)
        .where(isNull(revocations.expiresAt))
        .limit(limit);
      return rows.map(({ row }) => precertificate(row));
    },
    inclusions: async (filter, limit, after) => {
      const where = matching(connection, filter);
      const found = await db
        .select()
        .from(i)
        .where(and(where, olderThan(i.sctTimestamp, i.id, after)))
        .orderBy(desc(i.sctTimestamp), desc(i.id))
        .limit(limit + 1);
      const [sum] = await db.select({ total: counted }).from(i).where(where);
      const keyOf = (row: InclusionRecord) => ({ at: row.sctTimestamp, id: row.id });
      return pageOf(found.map(inclusion), limit, sum?.total ?? 0, keyOf);
    },
    counts: async (filter) => {
      const where = matching(connection, { ...filter, status: undefined });
      const sums = db.select({ status: i.status, total: counted }).from(i).where(where);
      const rows = await sums.groupBy(i.status);
      return byStatus((status) => rows.find((row) => row.status === status)?.total ?? 0);
    },
    due: async (now, limit) => {
      const open = and(inArray(i.status, ["pending", "unknown_log"]), lte(i.dueAt, now));
      const rows = db.select().from(i).where(open).orderBy(asc(i.dueAt), asc(i.id)).limit(limit);
      return (await rows).map(inclusion);
    },
    head: async (logId) => {
      const [row] = await db.select().from(logHeads).where(eq(logHeads.logId, logId));
      return row && head(row);
    },
  };
}

const byStatus = (of: (status: InclusionStatus) => number) => ({
  pending: of("pending"),
  included: of("included"),
  failed: of("failed"),
  unknown_log: of("unknown_log"),
});

function precertificateOf({ db, t }: Connection): TransparencyReads["precertificate"] {
  const p = t.precertificates;
  return async (ca, serial) => {
    const named = and(eq(p.caId, ca), eq(p.serial, serial));
    const [row] = await db.select().from(p).where(named);
    return row && precertificate(row);
  };
}

/** The changes of a unit. */
export function transparencyWrites(connection: Connection): TransparencyWrites {
  const { db, t } = connection;
  const { precertificates: p, inclusions: i, logHeads } = t;
  const insertPrecertificate = inserter(connection, p);
  const insertInclusion = inserter(connection, i);
  const [first, second] = [placeholder(connection, 1), placeholder(connection, 2)];
  const settled = `update precertificates set unsettled = false where ca_id = ${first} and serial = ${second}`;
  return {
    kept: precertificateOf(connection),
    keep: async (row) => {
      await insertPrecertificate(row);
    },
    settlePrecertificate: async (ca, serial) => {
      await connection.run(settled, [ca, serial]);
    },
    expect: async (row) => {
      await insertInclusion(row);
    },
    update: async (row) => {
      const { id, ...facts } = row;
      const changed = await db
        .update(i)
        .set({
          ...facts,
          sctLeafIndex: row.sctLeafIndex ?? null,
          treeSize: row.treeSize ?? null,
          leafIndex: row.leafIndex ?? null,
          includedAt: row.includedAt ?? null,
          firstCheckedAt: row.firstCheckedAt ?? null,
          lastCheckedAt: row.lastCheckedAt ?? null,
        })
        .where(eq(i.id, id))
        .returning({ id: i.id });
      assert(changed.length === 1, "an SCT is updated where it is");
    },
    setHead: async (row) => {
      const { logId: target } = logHeads;
      await db.insert(logHeads).values(row).onConflictDoUpdate({ target, set: row });
    },
  };
}

function matching({ t }: Connection, filter: InclusionFilter): SQL | undefined {
  const { inclusions: i } = t;
  const { reach, status, caId, serial } = filter;
  return and(
    within({ tenant: i.tenant, ca: i.caId }, reach),
    status === undefined ? undefined : eq(i.status, status),
    caId === undefined ? undefined : eq(i.caId, caId),
    serial === undefined ? undefined : eq(i.serial, serial),
  );
}

/** Only the writes above fill the tables, so their texts are the words the records' types name. */
function inclusion(row: Connection["t"]["inclusions"]["$inferSelect"]): InclusionRecord {
  return {
    ...row,
    sctLeafIndex: row.sctLeafIndex ?? undefined,
    treeSize: row.treeSize ?? undefined,
    leafIndex: row.leafIndex ?? undefined,
    includedAt: row.includedAt ?? undefined,
    firstCheckedAt: row.firstCheckedAt ?? undefined,
    lastCheckedAt: row.lastCheckedAt ?? undefined,
  } as InclusionRecord; // See above.
}

const precertificate = (
  row: Connection["t"]["precertificates"]["$inferSelect"],
): PrecertificateRecord => row as PrecertificateRecord; // See above.

// See above.
const head = (row: Connection["t"]["logHeads"]["$inferSelect"]): LogHeadRecord =>
  row as LogHeadRecord;
