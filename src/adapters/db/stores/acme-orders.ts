/** Orders of ACME in the database. */

import { and, desc, eq, gt, inArray, lte, ne, or, type SQL, sql } from "drizzle-orm";

import { instant } from "#core/time.ts";
import type { AcmeReads, AcmeWrites, OrderFilter, OrderRecord } from "#domain/acme/store.ts";
import {
  bulkInserter,
  changer,
  counted,
  inserter,
  isAmong,
  olderThan,
  pageOf,
  placeholder,
  selector,
  textList,
  type Connection,
} from "#adapters/db/engine/connection.ts";
import { ownedByDead } from "#adapters/db/engine/owners.ts";

import { addingAuthorizations } from "./acme-authorizations.ts";
import { within } from "./cas.ts";

type OrderReads = Pick<AcmeReads, "order" | "orders" | "obtained" | "processing">;
type OrderWrites = Pick<
  AcmeWrites,
  "addOrder" | "lockOrder" | "claimOrder" | "settleOrder" | "markReplaced"
>;

/** Orders as last committed; `owner` is this store's number among the replicas. */
export function orderReads(connection: Connection, owner: number): OrderReads {
  const { db, t } = connection;
  const o = t.acmeOrders;
  return {
    order: orderOf(connection),
    orders: async (filter, limit, after) => {
      const among = meeting(connection, filter);
      const rows = await db
        .select()
        .from(o)
        .where(and(among, olderThan(o.createdAt, o.id, after)))
        .orderBy(desc(o.createdAt), desc(o.id))
        .limit(limit + 1);
      const [sum] = await db.select({ total: counted }).from(o).where(among);
      const keyOf = ({ createdAt: at, id }: OrderRecord) => ({ at, id });
      return pageOf(rows.map(orderFrom), limit, sum?.total ?? 0, keyOf);
    },
    obtained: obtainedOf(connection),
    processing: async (own, limit) => {
      const others = and(ne(o.owner, owner), ownedByDead(connection, o.owner, owner));
      const left = own ? eq(o.owner, owner) : others;
      const rows = await db
        .select()
        .from(o)
        // Literal, not parameters: otherwise no planner may use the partial index.
        .where(and(sql`status <> 'valid' and status = 'processing'`, left))
        .orderBy(o.createdAt, o.id)
        .limit(limit);
      return rows.map((row) => ({ ...orderFrom(row), claimedAt: instant(row.claimedAt ?? 0) }));
    },
  };
}

/** The changes of a unit. */
export function orderWrites(connection: Connection, owner: number): OrderWrites {
  const insert = inserter(connection, connection.t.acmeOrders);
  const link = bulkInserter(connection, connection.t.acmeOrderAuthorizations);
  const add = addingAuthorizations(connection);
  const claim = changer(
    connection,
    `update acme_orders set status = 'processing', owner = %1, claimed_at = %2
where id = %3 and status = 'ready' and expires_at > %4`,
  );
  const reuse = changer(
    connection,
    `update acme_authorizations set ordered = true
where not ordered and ${isAmong(connection, "id", "%1")}`,
  );
  return {
    addOrder: async (order, created) => {
      await insert(rowOf(order));
      const fresh = new Set(created.map(({ id }) => id));
      await add(created, true);
      const ids = [...new Set(order.authorizations)];
      await link(ids.map((authorizationId) => ({ authorizationId, orderId: order.id })));
      const reused = ids.filter((id) => !fresh.has(id));
      if (reused.length > 0) await reuse([textList(reused)]);
    },
    lockOrder: orderOf(connection),
    claimOrder: async (id, at) => (await claim([owner, at, id, at])) === 1,
    settleOrder: settlingOf(connection),
    markReplaced: markingOf(connection),
  };
}

function orderOf(connection: Connection): AcmeReads["order"] {
  const find = selector(connection, connection.t.acmeOrders, "where id = %1");
  return async (id) => {
    const [row] = await find([id]);
    return row && orderFrom(row);
  };
}

function settlingOf(connection: Connection): AcmeWrites["settleOrder"] {
  const set = "update acme_orders set owner = null, claimed_at = null";
  const whose = "status = 'processing'";
  const again = changer(connection, `${set}, status = 'ready' where id = %1 and ${whose}`);
  const fail = changer(
    connection,
    `${set}, status = 'invalid', error = %1 where id = %2 and ${whose}`,
  );
  const latest = connection.dialect === "sqlite" ? "max" : "greatest";
  const succeed = changer(
    connection,
    `${set}, status = 'valid', error = null, certificate_ca = %1, certificate_serial = %2,
certificate_not_after = %3, ends_at = ${latest}(expires_at, %4) where id = %5 and ${whose}`,
  );
  return async (id, to) => {
    switch (to.status) {
      case "ready":
        return (await again([id])) === 1;
      case "invalid":
        return (await fail([JSON.stringify(to.error), id])) === 1;
      case "valid": {
        const { caId, serial, notAfter } = to.certificate;
        return (await succeed([caId, serial, notAfter, notAfter, id])) === 1;
      }
      default:
        return to satisfies never;
    }
  };
}

/**
 * The order that got a certificate. Its index begins with the end of the certificate, which the
 * inventory knows: ends grow as orders do.
 */
function orderedBy(connection: Connection, first: number): string {
  const [ca, serial] = [placeholder(connection, first), placeholder(connection, first + 1)];
  return `from acme_orders o join certificates c on o.certificate_not_after = c.not_after
and o.certificate_serial = c.serial and o.certificate_ca = c.ca_id
where c.ca_id = ${ca} and c.serial = ${serial}`;
}

function obtainedOf(connection: Connection): AcmeReads["obtained"] {
  const text = `select o.account, o.id, o.replaced_by ${orderedBy(connection, 1)} limit 1`;
  return async ({ caId, serial }) => {
    const found = connection.row(text, [caId, serial]);
    const row = found instanceof Promise ? await found : found;
    if (row === undefined) return undefined;
    const [account, order, by] = row;
    const replacedBy = by === null ? undefined : String(by);
    return { account: String(account), order: String(order), replacedBy };
  };
}

function markingOf(connection: Connection): AcmeWrites["markReplaced"] {
  const [by, own] = [placeholder(connection, 1), placeholder(connection, 4)];
  const text = `update acme_orders set replaced_by = ${by}
where id = (select o.id ${orderedBy(connection, 2)} limit 1) and (replaced_by is null or replaced_by = ${own})`;
  return async ({ caId, serial }, order) =>
    (await connection.run(text, [order, caId, serial, order])) === 1;
}

function meeting({ t }: Connection, { reach, status, account, now }: OrderFilter): SQL | undefined {
  const o = t.acmeOrders;
  return and(
    within({ tenant: o.tenant, ca: o.caId }, reach),
    account === undefined ? undefined : eq(o.account, account),
    status === undefined ? undefined : being({ t }, status, now),
  );
}

/** Literal, not parameters: otherwise no planner may use the partial index. */
function being(
  { t }: Pick<Connection, "t">,
  status: OrderRecord["status"],
  now: OrderFilter["now"],
): SQL | undefined {
  const o = t.acmeOrders;
  const open = sql`status <> 'valid'`;
  switch (status) {
    case "valid":
      return eq(o.status, "valid");
    case "processing":
      return and(open, eq(o.status, "processing"));
    case "pending":
    case "ready":
      return and(open, eq(o.status, status), gt(o.expiresAt, now));
    case "invalid": {
      const overdue = and(inArray(o.status, ["pending", "ready"]), lte(o.expiresAt, now));
      return and(open, or(eq(o.status, "invalid"), overdue));
    }
    default:
      return status satisfies never;
  }
}

type Row = Connection["t"]["acmeOrders"]["$inferSelect"];

function rowOf(order: OrderRecord): Connection["t"]["acmeOrders"]["$inferInsert"] {
  const { replaces, certificate, error, expiresAt } = order;
  return {
    ...order,
    identifiers: JSON.stringify(order.identifiers),
    replacesCa: replaces?.caId ?? null,
    replacesSerial: replaces?.serial ?? null,
    endsAt: expiresAt,
    error: error === undefined ? null : JSON.stringify(error),
    certificateCa: certificate?.caId ?? null,
    certificateSerial: certificate?.serial ?? null,
  };
}

/** Only `orderWrites` fills the table, so its texts are what the record's type says. */
function orderFrom(row: Row): OrderRecord {
  const { replacesCa, replacesSerial, certificateCa, certificateSerial, ...rest } = row;
  const { endsAt: _e, certificateNotAfter: _n, replacedBy: _r, owner: _o, claimedAt: _c } = rest;
  const { id, account, directory, tenant, caId, status, authorizations, profile } = rest;
  const { createdAt, expiresAt } = rest;
  const error: unknown = rest.error === null ? undefined : JSON.parse(rest.error);
  const identifiers: unknown = JSON.parse(rest.identifiers);
  return {
    id,
    account,
    directory,
    tenant,
    caId,
    status,
    identifiers,
    authorizations,
    profile,
    replaces: nameOf(replacesCa, replacesSerial),
    createdAt,
    expiresAt,
    error,
    certificate: nameOf(certificateCa, certificateSerial),
  } as OrderRecord; // See above.
}

const nameOf = (caId: string | null, serial: string | null) =>
  caId === null || serial === null ? undefined : { caId, serial };
