/** Tenants, and what counts against their quotas, in the database. */

import { and, desc, eq, gte, inArray, or, sql } from "drizzle-orm";

import type { TenantId } from "#core/ids.ts";
import { assert, refuse } from "#core/problems.ts";
import type { Instant } from "#core/time.ts";
import { dayOf } from "#domain/tenants/quotas.ts";
import type {
  DayUsage,
  TenantState,
  TenantReads,
  TenantRecord,
  TenantWrites,
  Usage,
  Used,
} from "#domain/tenants/store.ts";
import {
  counted,
  inserter,
  olderThan,
  pageOf,
  placeholder,
  selector,
  type Connection,
} from "#adapters/db/engine/connection.ts";

/** Tenants as last committed; lists newest first. */
export function tenantReads(connection: Connection): TenantReads {
  const { db, t } = connection;
  const named = selector(connection, t.tenants, "where id = %1 or slug = %2 limit 2");
  return {
    named: async (reference) => {
      const rows = await named([reference, reference]);
      const row = rows.find(({ id }) => id === reference) ?? rows[0];
      return row && record(row);
    },
    page: async (ids, limit, after) => {
      const { createdAt, id } = t.tenants;
      const among = ids === "platform" ? undefined : inArray(id, [...ids]);
      const found = await db
        .select()
        .from(t.tenants)
        .where(and(among, olderThan(createdAt, id, after)))
        .orderBy(desc(createdAt), desc(id))
        .limit(limit + 1);
      const [sum] = await db.select({ total: counted }).from(t.tenants).where(among);
      const keyOf = (row: TenantRecord) => ({ at: row.createdAt, id: row.id });
      return pageOf(found.map(record), limit, sum?.total ?? 0, keyOf);
    },
    used: usedBy(connection),
    usage: usageOf(connection),
  };
}

/** Tenant writes of a unit on the writing connection. */
export function tenantWrites(connection: Connection): TenantWrites {
  const { db, t } = connection;
  const insert = inserter(connection, t.tenants, "skip");
  return {
    ensure: async (tenant) => {
      await insert(row(tenant));
    },
    insert: async (tenant) => {
      const crossed = or(eq(t.tenants.id, tenant.slug), eq(t.tenants.slug, tenant.id));
      const others = await db.select({ id: t.tenants.id }).from(t.tenants).where(crossed);
      const taken = others.length > 0 || (await insert(row(tenant))) === 0;
      if (taken) throw refuse("already_exists", { field: "slug" });
    },
    lock: async (id) => {
      const [found] = await db.select().from(t.tenants).where(eq(t.tenants.id, id));
      return found && record(found);
    },
    update: async (tenant) => {
      const { id, slug: _slug, createdAt: _createdAt, ...changed } = row(tenant);
      const done = db.update(t.tenants).set(changed).where(eq(t.tenants.id, id));
      const updated = await done.returning({ id: t.tenants.id });
      assert(updated.length === 1, "a tenant that is changed exists");
    },
    remove: async (id) => {
      await db.delete(t.tenants).where(eq(t.tenants.id, id));
      await db.delete(t.tenantCounts).where(eq(t.tenantCounts.tenant, id));
    },
    state: standingOf(connection),
    used: usedBy(connection),
    cas: (tenant) => casOf(connection, tenant),
  };
}

/** Asked by every issue, so without the query builder. */
function standingOf(connection: Connection): TenantWrites["state"] {
  const text = `select status, max_certs_per_day, max_active_certs from tenants where id = ${placeholder(connection, 1)}`;
  return async (id) => {
    const found = await connection.row(text, [id]);
    if (found === undefined) return undefined;
    const [status, perDay, active] = found;
    return {
      status: status as TenantState["status"], // Only `tenantWrites` fills the column.
      maxCertsPerDay: Number(perDay),
      maxActiveCerts: Number(active),
    };
  };
}

/**
 * Reads counters, the certificates that end within the current hour, and what is being signed;
 * never the inventory. The open intents come first, once for both counts.
 */
export function usedQuery(connection: Pick<Connection, "dialect">): string {
  const at = (position: number) => placeholder(connection, position);
  // One status at a time: only then is the end a bound in the index and not a filter over
  // everything good.
  const ending = (status: string, from: number) =>
    `select count(*) from certificates where ca_id in (select id from mine) and kind = 'leaf'
       and status = '${status}' and not_after >= ${at(from)} and not_after < ${at(from + 1)}`;
  return `
    with open as materialized (select ca_id, created_at from open_intents
           where serial <> '' and purpose in ('certificate', 'precertificate')),
         mine as materialized (select id from cas where tenant = ${at(1)})
    select
      (select coalesce(sum(number), 0) from tenant_counts
         where tenant = ${at(2)} and kind = 'issued' and slot = ${at(3)}),
      (select coalesce(sum(number), 0) from tenant_counts
         where tenant = ${at(4)} and kind = 'living' and slot > ${at(5)}),
      (${ending("good", 6)}), (${ending("held", 8)}),
      (select count(*) from open where ca_id in (select id from mine)),
      (select count(*) from open where ca_id in (select id from mine) and created_at >= ${at(10)})`;
}

function usedBy(connection: Connection): (tenant: TenantId, now: Instant) => Promise<Used> {
  const text = usedQuery(connection);
  return async (tenant, now) => {
    const day = dayOf(now);
    const hour = Math.floor(now / hourMilliseconds);
    const midnight = day * 24 * hourMilliseconds;
    const thisHour = [now, (hour + 1) * hourMilliseconds];
    const found = await connection.row(text, [
      tenant,
      tenant,
      day,
      tenant,
      hour,
      ...thisHour,
      ...thisHour,
      midnight,
    ]);
    assert(found !== undefined, "a query for sums gives a row");
    const [issued = 0, later = 0, good = 0, held = 0, open = 0, openToday = 0] = found.map(Number);
    return { today: issued + openToday, active: later + good + held + open };
  };
}

function usageOf(connection: Connection): TenantReads["usage"] {
  const { db, t } = connection;
  const used = usedBy(connection);
  const { tenant: owner, kind, slot, number } = t.tenantCounts;
  return async (tenant, firstDay, now): Promise<Usage> => {
    const { active } = await used(tenant, now);
    const happened = and(eq(owner, tenant), inArray(kind, ["issued", "revoked"]));
    const sum = sql<number>`sum(${number})`.mapWith(Number);
    const sums = db.select({ kind, sum }).from(t.tenantCounts).where(happened);
    const totals = new Map((await sums.groupBy(kind)).map((one) => [one.kind, one.sum]));
    const recent = and(happened, gte(slot, firstDay));
    const rows = await db.select().from(t.tenantCounts).where(recent).orderBy(desc(slot));
    const days = new Map<number, DayUsage>();
    for (const one of rows) {
      const day = days.get(one.slot) ?? { day: one.slot, issued: 0, revoked: 0 };
      days.set(one.slot, { ...day, [one.kind]: one.number });
    }
    return {
      active,
      issued: totals.get("issued") ?? 0,
      revoked: totals.get("revoked") ?? 0,
      cas: await casOf(connection, tenant),
      days: [...days.values()],
    };
  };
}

async function casOf({ db, t }: Connection, tenant: TenantId): Promise<number> {
  const [sum] = await db.select({ total: counted }).from(t.cas).where(eq(t.cas.tenant, tenant));
  return sum?.total ?? 0;
}

type Row = Connection["t"]["tenants"]["$inferSelect"];

function row({ quotas, ...facts }: TenantRecord): Row {
  return { ...facts, ...quotas };
}

/**
 * Only `tenantWrites` fills the table, so its texts are the closed words the record's type names.
 */
function record(stored: Row): TenantRecord {
  const { maxCertsPerDay, maxActiveCerts, rateLimitPerSecond, rateLimitBurst, ...facts } = stored;
  const quotas = { maxCertsPerDay, maxActiveCerts, rateLimitPerSecond, rateLimitBurst };
  return { ...facts, quotas } as TenantRecord; // See above.
}

const hourMilliseconds = 3_600_000;
