/** Tenants, and what counts against their quotas, in the database. */

import { and, desc, eq, inArray, or } from "drizzle-orm";

import type { TenantId } from "#core/ids.ts";
import { assert, refuse } from "#core/problems.ts";
import type { Instant } from "#core/time.ts";
import { dayOf } from "#domain/tenants/days.ts";
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
  contains,
  containsFolded,
  counted,
  inserter,
  olderThan,
  pageOf,
  placeholder,
  selector,
  type Connection,
} from "#adapters/db/engine/connection.ts";
import { foldSome, markOf, rowsWaiting } from "#adapters/db/engine/folds.ts";

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
    page: async ({ ids, text }, limit, after) => {
      const { createdAt, id, slug, name } = t.tenants;
      const among = and(
        ids === "platform" ? undefined : inArray(id, [...ids]),
        // Slugs have lower case alone.
        text === undefined ? undefined : or(contains(slug, text), containsFolded(name, text)),
      );
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
    used: usedInUnit(connection),
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
 * Reads counters, the certificates that end within the current hour, those no counter holds yet,
 * and what is being signed; never the inventory. The open intents come first, once for both counts.
 * Values: tenant, day, hour, now, end of the hour, midnight.
 */
export function usedQuery({ dialect }: Pick<Connection, "dialect">): string {
  const sqlite = dialect === "sqlite";
  const [tenant, day, hour, now, end, midnight] = [1, 2, 3, 4, 5, 6].map((position) =>
    sqlite ? `?${position}` : `$${position}`,
  );
  const sum = (kind: string, slots: string, newest: string) =>
    `(select coalesce(sum(number), 0) from tenant_counts
       where tenant = ${tenant} and kind = '${kind}' and slot ${slots})
     ${sqlite ? `+ (select count(*) from newest where tenant = ${tenant} and ${newest})` : ""}`;
  // One status at a time: only then is the end a bound in the index and not a filter over
  // everything good.
  const ending = (status: string) => {
    const its = `ca_id in (select id from mine) and status = '${status}'
       and not_after >= ${now} and not_after < ${end}`;
    return sqlite
      ? `(select count(*) from certificates where folded and kind = 'leaf' and ${its})
         + (select count(*) from newest where ${its})`
      : `(select count(*) from certificates where kind = 'leaf' and ${its})`;
  };
  return `
    with open as materialized (select ca_id, created_at from open_intents
           where serial <> '' and purpose in ('certificate', 'precertificate')),
         mine as materialized (select id from cas where tenant = ${tenant})
         ${sqlite ? `, newest as materialized (${newestLeaves})` : ""}
    select
      ${sum("issued", `= ${day}`, `created_at / ${dayMilliseconds} = ${day}`)},
      ${sum("living", `> ${hour}`, `status <> 'revoked' and not_after / ${hourMilliseconds} > ${hour}`)},
      ${ending("good")}, ${ending("held")},
      (select count(*) from open where ca_id in (select id from mine)),
      (select count(*) from open where ca_id in (select id from mine) and created_at >= ${midnight})`;
}

function usedBy(connection: Connection): (tenant: TenantId, now: Instant) => Promise<Used> {
  const text = usedQuery(connection);
  return async (tenant, now) => {
    const day = dayOf(now);
    const hour = Math.floor(now / hourMilliseconds);
    const end = (hour + 1) * hourMilliseconds;
    const found = await connection.row(text, [tenant, day, hour, now, end, day * dayMilliseconds]);
    assert(found !== undefined, "a query for sums gives a row");
    const [issued = 0, later = 0, good = 0, held = 0, open = 0, openToday = 0] = found.map(Number);
    return { today: issued + openToday, active: later + good + held + open };
  };
}

/**
 * As `usedBy`, for the unit of every issue that is counted: where many rows are in no counter yet,
 * they are taken in first rather than walked by each of these units.
 */
function usedInUnit(connection: Connection): TenantWrites["used"] {
  const used = usedBy(connection);
  if (connection.dialect === "postgres") return used;
  return async (tenant, now) => {
    if ((await rowsWaiting(connection, "certificates")) > walkedMax) {
      await foldSome(connection, foldedAtOnce, ["certificates"]);
    }
    return await used(tenant, now);
  };
}

function usageOf(connection: Connection): TenantReads["usage"] {
  const used = usedBy(connection);
  const text = happenedQuery(connection);
  return async (tenant, firstDay, now): Promise<Usage> => {
    const { active } = await used(tenant, now);
    const days = new Map<number, DayUsage>();
    const totals = { issued: 0, revoked: 0 };
    for (const [kind, slot, sum] of await connection.rows(text, [tenant, firstDay])) {
      const happened = kind as keyof typeof totals; // The words of the query.
      const [day, number] = [Number(slot), Number(sum)];
      totals[happened] += number;
      if (day < firstDay) continue;
      days.set(day, { ...(days.get(day) ?? { day, issued: 0, revoked: 0 }), [happened]: number });
    }
    const cas = await casOf(connection, tenant);
    return { active, ...totals, cas, days: [...days.values()] };
  };
}

/**
 * What happened per day, newest first, with all days before the first as one; counters and the rows
 * they do not hold yet in one statement. Values: tenant, first day.
 */
function happenedQuery({ dialect }: Connection): string {
  const [tenant, first] = dialect === "sqlite" ? ["?1", "?2"] : ["$1", "$2"];
  const kept = `select kind, slot, number from tenant_counts
    where tenant = ${tenant} and kind in ('issued', 'revoked')`;
  const newest = `${newestLeaves} and c.tenant = ${tenant}`;
  const waiting = `union all select 'issued', created_at / ${dayMilliseconds}, 1 from (${newest})
    union all select 'revoked', coalesce(revoked_at, created_at) / ${dayMilliseconds}, 1
      from (${newest}) where status = 'revoked'`;
  return `select kind, case when slot < ${first} then -1 else slot end, sum(number)
    from (${kept} ${dialect === "sqlite" ? waiting : ""}) as happened
    group by 1, 2 order by 2 desc`;
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
const dayMilliseconds = 86_400_000;
/**
 * SQLite: leaves no counter holds yet. By their numbers alone: a name of its own keeps them apart
 * in a plan.
 */
const newestLeaves = `select c.tenant, c.ca_id, c.status, c.created_at, c.not_after, c.revoked_at
  from certificates as c not indexed where c.ordinal > ${markOf("certificates")} and c.kind = 'leaf'`;
/** Rows a unit walks through, and how many it takes in where there are more. */
const walkedMax = 64;
const foldedAtOnce = 128;
