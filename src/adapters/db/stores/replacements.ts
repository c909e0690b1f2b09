/** Planned replacements in the database. */

import { and, asc, desc, eq, gt, inArray, lt, sql } from "drizzle-orm";

import { provenIdentifier } from "#core/acme/identifiers.ts";
import type { Serial } from "#core/ids.ts";
import { assert } from "#core/problems.ts";
import type {
  NewNames,
  ReplacementItem,
  ReplacementReads,
  ReplacementRecord,
  ReplacementWrites,
} from "#domain/acme/replacement-store.ts";
import type { CertificateName } from "#domain/acme/store.ts";
import {
  breath,
  bulkInserter,
  changer,
  counted,
  inserter,
  inTexts,
  olderThan,
  pageOf,
  placeholder,
  rowsAtOnce,
  selector,
  textList,
  type Connection,
} from "#adapters/db/engine/connection.ts";

import { within } from "./cas.ts";

/** Plans as last committed. */
export function replacementReads(connection: Connection): ReplacementReads {
  const { db, t } = connection;
  const { replacements: r, replacementItems: i } = t;
  return {
    replacement: async (id) => (await db.select().from(r).where(eq(r.id, id))).map(record)[0],
    counts: countsOf(connection),
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
    abandoned: async (before) => {
      const begun = and(eq(r.state, "planning"), lt(r.createdAt, before));
      return (await db.select().from(r).where(begun)).map(record);
    },
    any: async () => {
      const found = connection.row(`select 1 from acme_replacements r where ${isOpen} limit 1`, []);
      return (found instanceof Promise ? await found : found) !== undefined;
    },
    obtained: obtainedOf(connection),
    covered: coveredOf(connection),
    unrevoked: unrevokedOf(connection),
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

/** By partial indexes, which SQLite would leave for the table that is in the same order. */
function unrevokedOf(connection: Connection): ReplacementReads["unrevoked"] {
  const found = (index: string, left: string) => {
    const by = connection.dialect === "sqlite" ? `indexed by ${index}` : "";
    const its = `where replacement = %1 and ${left} order by serial, ca_id limit %2`;
    return selector(connection, connection.t.replacementItems, `${by} ${its}`);
  };
  const left = found("acme_replacement_items_left", "revoked_at is null");
  const replaced = found(
    "acme_replacement_items_replaced",
    "revoked_at is null and replaced_at is not null",
  );
  return async (id, all, limit) =>
    (await (all ? left([id, limit]) : replaced([id, limit]))).map(item);
}

/** The changes of a unit. */
export function replacementWrites(connection: Connection): ReplacementWrites {
  const { db, t } = connection;
  const { replacements: r, replacementItems: i } = t;
  const insert = inserter(connection, r);
  const insertItems = bulkInserter(connection, i);
  const addTotal = adding(connection, "total");
  const addReplaced = adding(connection, "replaced");
  const addRevoked = adding(connection, "revoked");
  return {
    addReplacement: async (plan) => {
      const nothing = { total: 0, replaced: 0, revoked: 0 };
      const { perSecond, revoke } = plan;
      const row = { ...plan, ...nothing, perSecond: String(perSecond), revoke: revoke ?? null };
      await insert(row);
    },
    addItems: async (items) => {
      await insertItems(items);
      for (const id of new Set(items.map(({ replacement }) => replacement))) {
        const own = items.filter(({ replacement }) => replacement === id);
        const replaced = own.filter(({ replacedAt }) => replacedAt !== undefined).length;
        const revoked = own.filter(({ revokedAt }) => revokedAt !== undefined).length;
        assert((await addTotal([own.length, id])) === 1, "items belong to a plan that is stored");
        if (replaced > 0) await addReplaced([replaced, id]);
        if (revoked > 0) await addRevoked([revoked, id]);
      }
    },
    obtained: obtainedOf(connection),
    counts: countsOf(connection),
    startReplacement: async (id) => {
      const planned = and(eq(r.id, id), eq(r.state, "planning"));
      const started = db.update(r).set({ state: "running" }).where(planned);
      return (await started.returning({ id: r.id })).length === 1;
    },
    noteReplaced: replacedOf(connection),
    noteRevoked: revokedOf(connection),
    endReplacement: async (id, state) => {
      const open = and(eq(r.id, id), inArray(r.state, openStates));
      const ended = db.update(r).set({ state }).where(open).returning({ id: r.id });
      return (await ended).length === 1;
    },
    pruneItems: pruningOf(connection),
  };
}

/** What adds to a figure of a plan, by its id. */
const adding = (connection: Connection, column: "total" | "replaced" | "revoked") =>
  changer(connection, `update acme_replacements set ${column} = ${column} + %1 where id = %2`);

function replacedOf(connection: Connection): ReplacementWrites["noteReplaced"] {
  const [ca, serial] = [placeholder(connection, 1), placeholder(connection, 2)];
  const open = `select i.replacement from acme_replacement_items i
join acme_replacements r on r.id = i.replacement
where i.ca_id = ${ca} and i.serial = ${serial} and i.replaced_at is null and ${isOpen}`;
  const note = changer(
    connection,
    `update acme_replacement_items set replaced_at = %1
where replacement = %2 and ca_id = %3 and serial = %4`,
  );
  const add = adding(connection, "replaced");
  return async ({ caId, serial: number }, at) => {
    const rows = connection.rows(open, [caId, number]);
    for (const [plan] of rows instanceof Promise ? await rows : rows) {
      const id = String(plan);
      await note([at, id, caId, number]);
      await add([1, id]);
    }
  };
}

function revokedOf(connection: Connection): ReplacementWrites["noteRevoked"] {
  const revoke = changer(connection, revoking[connection.dialect]);
  const add = adding(connection, "revoked");
  return async (id, certificates, at) => {
    const named = new Map<string, string[]>();
    for (const { caId, serial } of certificates) {
      const serials = named.get(caId);
      if (serials === undefined) named.set(caId, [serial]);
      else serials.push(serial);
    }
    for (const [caId, serials] of named) {
      for (let from = 0; from < serials.length; from += rowsAtOnce) {
        const piece = serials.slice(from, from + rowsAtOnce);
        const changed = await revoke([at, textList(piece), id, caId]);
        await add([changed, id]);
        if (connection.dialect === "sqlite") await breath();
      }
    }
  };
}

/** Items of plans that are over; the plans stay. */
function pruningOf(connection: Connection): ReplacementWrites["pruneItems"] {
  const { db, t } = connection;
  const { replacements: r, replacementItems: i } = t;
  return async (before, limit) => {
    const over = and(inArray(r.state, ["finished", "canceled"]), lt(r.end, before));
    const plans = await db.select({ id: r.id }).from(r).where(over);
    let gone = 0;
    for (const { id } of plans) {
      const some = db.select({ serial: i.serial }).from(i).where(eq(i.replacement, id));
      const serials = (await some.limit(limit - gone)).map(({ serial }) => serial);
      if (serials.length === 0) continue;
      const its = and(eq(i.replacement, id), inTexts(connection, i.serial, serials));
      gone += (await db.delete(i).where(its).returning({ serial: i.serial })).length;
      if (gone >= limit) break;
    }
    return gone;
  };
}

function countsOf({ db, t }: Connection): ReplacementReads["counts"] {
  const { id: key, total, replaced, revoked } = t.replacements;
  return async (id) => {
    const found = db.select({ total, replaced, revoked }).from(t.replacements).where(eq(key, id));
    return (await found)[0] ?? { total: 0, replaced: 0, revoked: 0 };
  };
}

/**
 * What ACME has given out, looked up by the end of a certificate and its serial: the index of
 * orders begins with the end.
 */
function obtainedOf(connection: Connection): ReplacementReads["obtained"] {
  const text = obtaining[connection.dialect];
  return async (caId, certificates) => {
    if (certificates.length === 0) return new Map();
    const asked = certificates.map(({ serial, notAfter }) => ({ serial, notAfter }));
    const found = await connection.rows(text, [JSON.stringify(asked), caId]);
    // Only `settleOrder` fills the column, with serials.
    return new Map(found.map(([serial, by]) => [String(serial) as Serial, by !== null]));
  };
}

/** As `revoking`, by the index on ends and serials. */
const obtaining: Record<Connection["dialect"], string> = {
  sqlite: `select o.certificate_serial, o.replaced_by from json_each(?) g cross join acme_orders o
where o.certificate_not_after = json_extract(g.value, '$.notAfter')
and o.certificate_serial = json_extract(g.value, '$.serial')
and o.certificate_serial is not null and o.certificate_ca = ?`,
  postgres: `select f.certificate_serial, f.replaced_by
from json_to_recordset($1::text::json) g(serial text, "notAfter" bigint), lateral (
select o.certificate_serial, o.replaced_by from acme_orders o
where o.certificate_not_after = g."notAfter" and o.certificate_serial = g.serial
and o.certificate_serial is not null and o.certificate_ca = $2 limit 1) f`,
};

function coveredOf(connection: Connection): ReplacementReads["covered"] {
  const [account, name] = [placeholder(connection, 1), placeholder(connection, 2)];
  // The status is said twice: once for the planner, who may use the partial index by it.
  const text = `select i.ca_id, i.serial, o.identifiers from (
  select n.order_id from acme_authorizations a
  join acme_order_authorizations n on n.authorization_id = a.id
  where a.account = ${account} and a.identifier = ${name}
  and a.status in ('pending', 'valid') and a.status = 'valid'
  order by a.id desc, n.order_id desc limit ${lookedAt}
) of_name
join acme_orders o on o.id = of_name.order_id
join acme_replacement_items i on i.ca_id = o.certificate_ca and i.serial = o.certificate_serial
join acme_replacements r on r.id = i.replacement
where i.replaced_at is null and ${isOpen}`;
  return async ({ account: id, identifiers }) => {
    const texts = new Set(identifiers.map(nameOf));
    const found = new Map<string, CertificateName>();
    const names = new Set(identifiers.map((one) => provenIdentifier(one).value));
    for (const value of [...names].slice(0, namesLookedUp)) {
      for (const [ca, serial, stored] of await connection.rows(text, [id, value])) {
        // As `addOrder` has written it.
        const old = JSON.parse(String(stored)) as NewNames["identifiers"];
        if (!old.every((one) => texts.has(nameOf(one)))) continue;
        // Only `addItems` fills the table, with the ids of CAs and serials.
        const certificate = { caId: String(ca), serial: String(serial) } as CertificateName;
        found.set(JSON.stringify(certificate), certificate);
      }
    }
    return [...found.values()];
  };
}

const nameOf = ({ type, value }: NewNames["identifiers"][number]): string => `${type}:${value}`;

const openStates = ["planning", "running"] as const;
const isOpen = "r.state in ('planning', 'running')";
/** Of the orders of an account for a name, the newest. */
const lookedAt = 200;
/** A certificate for the same names as another is found by any of them. */
const namesLookedUp = 8;

/** On PostgreSQL one look into the index for each, whatever it thinks of the size of the table. */
const revoking: Record<Connection["dialect"], string> = {
  sqlite: `update acme_replacement_items set revoked_at = %1
where serial in (select value from json_each(%2)) and replacement = %3 and ca_id = %4
and revoked_at is null`,
  postgres: `update acme_replacement_items set revoked_at = %1 where ctid = any(array(
select f.ctid from json_array_elements_text(%2::text::json) g(serial), lateral (
select l.ctid from acme_replacement_items l where l.serial = g.serial and l.replacement = %3
and l.ca_id = %4 and l.revoked_at is null limit 1) f))`,
};

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
