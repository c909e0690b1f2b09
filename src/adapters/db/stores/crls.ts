/** Published CRLs, the numbers given out for them, and the partitions that certificates name. */

import { and, asc, desc, eq, gte, isNull, lt, sql } from "drizzle-orm";

import type { CaId } from "#core/ids.ts";
import { assert } from "#core/problems.ts";
import { instant, secondsPerDay, wholeSecond } from "#core/time.ts";
import { stepMsMax } from "#domain/revocation/crl-time.ts";
import type {
  CrlHead,
  RevocationReads,
  RevocationWrites,
  ShardUrlRecord,
} from "#domain/revocation/store.ts";
import {
  inserter,
  placeholder,
  selector,
  type Connection,
} from "#adapters/db/engine/connection.ts";

type CrlReads = Pick<RevocationReads, "crlHead" | "crlPiece" | "publishedScopes" | "shardUrls">;
type CrlWrites = Pick<
  RevocationWrites,
  | "keepShardUrl"
  | "indexPartitions"
  | "reserveCrl"
  | "raiseCrlNumber"
  | "putCrlPiece"
  | "publishCrl"
  | "pruneCrls"
>;

/** Reads of the committed state. */
export function crlReads(connection: Connection): CrlReads {
  const { db, t } = connection;
  const heads = t.crlHeads;
  const named = "where ca_id = %1 and scope = %2 and kind = %3 order by number desc limit 1";
  const newest = selector(connection, heads, named);
  const placed = "where ca_id = %1 and scope = %2 and number = %3 and position = %4";
  const pieces = selector(connection, t.crlPieces, placed);
  return {
    crlHead: async (ca, scope, kind) => {
      const [row] = await newest([ca, scope, kind]);
      return row && headOf(row);
    },
    crlPiece: async ({ caId, scope, number }, position) => {
      const [piece] = await pieces([caId, scope, number, position]);
      return piece?.octets;
    },
    publishedScopes: async (ca) => {
      const ofCa = and(eq(heads.caId, ca), isNull(heads.base));
      const rows = await db.selectDistinct({ scope: heads.scope }).from(heads).where(ofCa);
      return rows.map(({ scope }) => scope);
    },
    shardUrls: async (ca, at) => {
      const s = t.crlShards;
      const valid = and(eq(s.caId, ca), gte(s.notAfter, at));
      const rows = await db.select().from(s).where(valid).orderBy(asc(s.partition), asc(s.url));
      return rows as unknown as readonly ShardUrlRecord[]; // Only `keepShardUrl` fills the table.
    },
  };
}

/** Writes of a unit. */
export function crlWrites(connection: Connection): CrlWrites {
  const { db, t } = connection;
  const insertHead = inserter(connection, t.crlHeads);
  const insertPiece = inserter(connection, t.crlPieces);
  const keepShardUrl = shardUrlWrite(connection);
  return {
    keepShardUrl,
    indexPartitions: indexing(connection),
    reserveCrl: async (caId, scope, { at, wanted, believed }, sequence) => {
      const c = t.crlReservations;
      const soonest = wholeSecond(wanted);
      const its = and(eq(c.caId, caId), eq(c.scope, scope));
      const [before] = await db.select({ thisUpdate: c.thisUpdate }).from(c).where(its);
      const late = at + stepMsMax;
      const made = sql`coalesce(${c.reservedAt}, ${c.thisUpdate})`;
      const reset = believed ? sql`${c.thisUpdate} > ${at} and ${made} > ${late}` : sql`1 = 0`;
      const [row] = await db
        .insert(c)
        .values({ caId, scope, number: firstNumber, thisUpdate: soonest, sequence, reservedAt: at })
        .onConflictDoUpdate({
          target: [c.caId, c.scope],
          set: {
            number: sql`${c.number} + 1`,
            thisUpdate: sql`case when ${reset} then ${soonest} when ${c.thisUpdate} + 1000 > ${soonest} then ${c.thisUpdate} + 1000 else ${soonest} end`,
            sequence,
            reservedAt: sql`case when ${reset} then ${at} when ${made} > ${at} then ${made} else ${at} end`,
          },
          setWhere: sql`${c.sequence} <= ${sequence}`,
        })
        .returning();
      if (row === undefined) return undefined;
      const left = before !== undefined && before.thisUpdate > row.thisUpdate;
      const resetFrom = left ? instant(before.thisUpdate) : undefined;
      const given = { thisUpdate: instant(row.thisUpdate), madeAt: instant(row.reservedAt ?? at) };
      return { number: row.number, ...given, resetFrom };
    },
    raiseCrlNumber: (caId, scope, number) => raiseCrlNumber(connection, { caId, scope, number }),
    putCrlPiece: async ({ caId, scope, number }, position, octets) => {
      await insertPiece({ caId, scope, number, position, octets });
    },
    publishCrl: async (crl) => {
      const { prior, ...facts } = crl;
      const kind = crl.base === undefined ? "base" : "delta";
      const before = {
        priorUpdate: prior?.thisUpdate ?? null,
        priorSequence: prior?.sequence ?? null,
      };
      const more = { kind, base: crl.base ?? null, publishedAt: crl.publishedAt ?? null };
      const inserted = await insertHead({ ...facts, ...before, ...more });
      assert(inserted === 1, "a CRL is published once");
    },
    pruneCrls: pruning(connection),
  };
}

/** Raises the number of a scope like `RevocationWrites.raiseCrlNumber`. */
export async function raiseCrlNumber(
  { db, t: { crlReservations: c } }: Connection,
  floor: { readonly caId: string; readonly scope: string; readonly number: number },
): Promise<boolean> {
  const raised = await db
    .insert(c)
    .values({
      ...floor,
      number: raiseToFloor(floor.number),
      thisUpdate: 0,
      sequence: 0,
      reservedAt: 0,
    })
    .onConflictDoUpdate({
      target: [c.caId, c.scope],
      set: { number: floor.number },
      setWhere: sql`${c.number} < ${floor.number}`,
    })
    .returning({ number: c.number });
  return raised.length === 1;
}

/**
 * One statement for each certificate, which changes nothing for most: the row holds the end of a
 * day.
 */
function shardUrlWrite(connection: Connection): RevocationWrites["keepShardUrl"] {
  const [ca, partition, url, until] = [1, 2, 3, 4].map((at) => placeholder(connection, at));
  const text = `insert into crl_stamps (ca_id, partition, url, not_after) values (${ca}, ${partition}, ${url}, ${until})
on conflict (ca_id, partition, url) do update set not_after = excluded.not_after where crl_stamps.not_after < excluded.not_after`;
  return async (named) => {
    const day = secondsPerDay * 1000;
    const end = Math.ceil(named.notAfter / day) * day;
    await connection.run(text, [named.caId, named.partition, named.url, end]);
  };
}

function indexing(connection: Connection): RevocationWrites["indexPartitions"] {
  const { db, t } = connection;
  const i = t.crlIndexes;
  const m = t.crlMembers;
  return async (caId, modulus, members, sequence) => {
    const rows = members.map((member) => ({ caId, ...member }));
    for (let at = 0; at < rows.length; at += rowsPerInsert) {
      await db
        .insert(m)
        .values(rows.slice(at, at + rowsPerInsert))
        .onConflictDoNothing();
    }
    await db
      .insert(i)
      .values({ caId, modulus, sequence })
      .onConflictDoUpdate({
        target: [i.caId, i.modulus],
        set: { sequence },
        setWhere: sql`${i.sequence} < ${sequence}`,
      });
  };
}

function pruning({ db, t }: Connection): RevocationWrites["pruneCrls"] {
  const [p, h] = [t.crlPieces, t.crlHeads];
  return async (ca: CaId, scope: string, number: number, limit: number) => {
    const older = and(eq(p.caId, ca), eq(p.scope, scope), lt(p.number, number));
    const found = await db
      .select({ number: p.number, position: p.position })
      .from(p)
      .where(older)
      .orderBy(asc(p.number), desc(p.position))
      .limit(limit);
    for (const piece of found) {
      const list = and(eq(p.caId, ca), eq(p.scope, scope), eq(p.number, piece.number));
      await db.delete(p).where(and(list, eq(p.position, piece.position)));
      if (piece.position > 0) continue;
      const head = and(eq(h.caId, ca), eq(h.scope, scope), eq(h.number, piece.number));
      await db.delete(h).where(head);
    }
    return found.length;
  };
}

function headOf(row: Connection["t"]["crlHeads"]["$inferSelect"]): CrlHead {
  const { kind: _kind, priorUpdate, priorSequence, ...facts } = row;
  const prior =
    priorUpdate === null || priorSequence === null
      ? undefined
      : { thisUpdate: instant(priorUpdate), sequence: priorSequence };
  const publishedAt = row.publishedAt ?? undefined;
  // Only `publishCrl` fills the table.
  return { ...facts, base: row.base ?? undefined, prior, publishedAt } as CrlHead;
}

/**
 * The value of the instance below which no scope begins: what a restore found may have been
 * published since (RES-2).
 */
export const numberFloorName = "crl_number_floor";
const numberFloor = sql<number>`coalesce((select cast(value as bigint) from instance where name = ${numberFloorName}), 0)`;
const firstNumber = sql<number>`1 + ${numberFloor}`;
const raiseToFloor = (number: number) =>
  sql<number>`case when ${numberFloor} > ${number} then ${numberFloor} else ${number} end`;

const rowsPerInsert = 200;
