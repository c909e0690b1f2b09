/** Planned replacements in the database. */

import { and, asc, desc, eq, gt, inArray, isNull, sql } from "drizzle-orm";

import { assert } from "#core/problems.ts";
import type {
  ReplacementItem,
  ReplacementReads,
  ReplacementRecord,
  ReplacementWrites,
} from "#domain/acme/replacement-store.ts";
import {
  breath,
  bulkInserter,
  changer,
  counted,
  inserter,
  inTexts,
  olderThan,
  pageOf,
  rowsAtOnce,
  type Connection,
} from "#adapters/db/engine/connection.ts";

import { within } from "./cas.ts";

/** Plans as last committed. */
export function replacementReads(connection: Connection): ReplacementReads {
  const { db, t } = connection;
  const { replacements: r, replacementItems: i } = t;
  return {
    replacement: async (id) => (await db.select().from(r).where(eq(r.id, id))).map(record)[0],
    counts: async (id) => {
      const { total, replaced, revoked } = r;
      const [row] = await db.select({ total, replaced, revoked }).from(r).where(eq(r.id, id));
      return row ?? { total: 0, replaced: 0, revoked: 0 };
    },
    replacements: async (reach, limit, after) => {
      const among = within({ tenant: r.tenant, ca: r.caId }, reach);
      const rows = await db
        .select()
        .from(r)
        .where(and(among, olderThan(r.createdAt, r.id, after)))
        .orderBy(desc(r.createdAt), desc(r.id))
        .limit(limit + 1);
      const [sum] = await db.select({ total: counted }).from(r).where(among);
      const keyOf = ({ createdAt: at, id }: ReplacementRecord) => ({ at, id });
      return pageOf(rows.map(record), limit, sum?.total ?? 0, keyOf);
    },
    plannedFor: async ({ caId, serial }) => {
      const rows = await db
        .select({ item: i })
        .from(i)
        .innerJoin(r, eq(r.id, i.replacement))
        .where(and(eq(i.caId, caId), eq(i.serial, serial), eq(r.state, "running")))
        .orderBy(desc(r.createdAt), desc(r.id))
        .limit(1);
      return rows.map(({ item: row }) => item(row))[0];
    },
    running: async () => {
      // Literal, not a parameter: otherwise no planner may use the partial index.
      const rows = db.select().from(r).where(sql`state = 'running'`);
      return (await rows.orderBy(asc(r.createdAt), asc(r.id))).map(record);
    },
    unrevoked: async (id, all, limit) => {
      // Literal for the same reason.
      const left = all
        ? sql`revoked_at is null`
        : sql`revoked_at is null and replaced_at is not null`;
      const rows = db
        .select()
        .from(i)
        .where(and(eq(i.replacement, id), left));
      return (await rows.orderBy(asc(i.serial), asc(i.caId)).limit(limit)).map(item);
    },
    items: async (id, limit, after) => {
      const later = after === undefined ? undefined : gt(i.serial, after);
      const rows = db
        .select()
        .from(i)
        .where(and(eq(i.replacement, id), later));
      return (await rows.orderBy(asc(i.serial), asc(i.caId)).limit(limit)).map(item);
    },
  };
}

/** The changes of a unit. */
export function replacementWrites(connection: Connection): ReplacementWrites {
  const { db, t } = connection;
  const { replacements: r, replacementItems: i } = t;
  const insert = inserter(connection, r);
  const insertItems = bulkInserter(connection, i);
  const add = (column: "total" | "replaced" | "revoked") =>
    changer(connection, `update acme_replacements set ${column} = ${column} + %1 where id = %2`);
  const [addTotal, addReplaced, addRevoked] = [add("total"), add("replaced"), add("revoked")];
  return {
    addReplacement: async (plan) => {
      const nothing = { total: 0, replaced: 0, revoked: 0 };
      const { perSecond, revoke } = plan;
      const row = { ...plan, ...nothing, perSecond: String(perSecond), revoke: revoke ?? null };
      await insert(row);
    },
    addItems: async (items) => {
      await insertItems(items);
      const totals = new Map<string, number>();
      for (const { replacement } of items) {
        totals.set(replacement, (totals.get(replacement) ?? 0) + 1);
      }
      for (const [id, total] of totals) {
        assert((await addTotal([total, id])) === 1, "items belong to a plan that is stored");
      }
    },
    noteReplaced: async ({ caId, serial }, at) => {
      const running = db.select({ id: r.id }).from(r).where(sql`state = 'running'`);
      const its = and(eq(i.caId, caId), eq(i.serial, serial), isNull(i.replacedAt));
      const changed = await db
        .update(i)
        .set({ replacedAt: at })
        .where(and(its, inArray(i.replacement, running)))
        .returning({ replacement: i.replacement });
      for (const { replacement } of changed) await addReplaced([1, replacement]);
    },
    noteRevoked: async (id, certificates, at) => {
      const named = new Map<string, string[]>();
      for (const { caId, serial } of certificates) {
        named.set(caId, [...(named.get(caId) ?? []), serial]);
      }
      for (const [caId, serials] of named) {
        for (let from = 0; from < serials.length; from += rowsAtOnce) {
          const piece = serials.slice(from, from + rowsAtOnce);
          const its = and(eq(i.replacement, id), inTexts(connection, i.serial, piece));
          const changed = await db
            .update(i)
            .set({ revokedAt: at })
            .where(and(its, eq(i.caId, caId), isNull(i.revokedAt)))
            .returning({ serial: i.serial });
          await addRevoked([changed.length, id]);
          if (connection.dialect === "sqlite") await breath();
        }
      }
    },
    endReplacement: async (id, state) => {
      const running = and(eq(r.id, id), eq(r.state, "running"));
      const ended = db.update(r).set({ state }).where(running).returning({ id: r.id });
      return (await ended).length === 1;
    },
  };
}

/** Only `replacementWrites` fills the tables, so their texts are what the records' types say. */
function record(row: Connection["t"]["replacements"]["$inferSelect"]): ReplacementRecord {
  const { total: _t, replaced: _p, revoked: _v, perSecond, revoke, ...facts } = row;
  return {
    ...facts,
    perSecond: Number(perSecond),
    revoke: revoke ?? undefined,
  } as ReplacementRecord; // See above.
}

/** As `record`. */
function item(row: Connection["t"]["replacementItems"]["$inferSelect"]): ReplacementItem {
  const { replacedAt, revokedAt } = row;
  return {
    ...row,
    replacedAt: replacedAt ?? undefined,
    revokedAt: revokedAt ?? undefined,
  } as ReplacementItem; // See above.
}
