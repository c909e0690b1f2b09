/** Orders of ACME in the database. */

import { and, eq, ne } from "drizzle-orm";

import { instant } from "#core/time.ts";
import type { AcmeReads, AcmeWrites, OrderState } from "#domain/acme/store.ts";
import {
  bulkInserter,
  changer,
  inserter,
  inTexts,
  isAmong,
  placeholder,
  selector,
  textList,
  type Connection,
} from "#adapters/db/engine/connection.ts";
import { ownedByDead } from "#adapters/db/engine/owners.ts";

import { addingAuthorizations } from "./acme-authorizations.ts";
import { isOpen, ordersOf } from "./acme-order-lists.ts";
import { orderFrom, rowOf } from "./acme-order-rows.ts";

type OrderReads = Pick<AcmeReads, "order" | "orderStates" | "orders" | "obtained" | "processing">;
type OrderWrites = Pick<
  AcmeWrites,
  "addOrder" | "lockOrder" | "claimOrder" | "settleOrder" | "endOrder" | "markReplaced"
>;

/** Orders as last committed; `owner` is this store's number among the replicas. */
export function orderReads(connection: Connection, owner: number): OrderReads {
  const { db, t } = connection;
  const o = t.acmeOrders;
  return {
    order: orderOf(connection),
    orderStates: stateReader(connection),
    orders: ordersOf(connection),
    obtained: obtainedOf(connection),
    processing: async (own, limit) => {
      const others = and(ne(o.owner, owner), ownedByDead(connection, o.owner, owner));
      const left = own ? eq(o.owner, owner) : others;
      const rows = await db
        .select()
        .from(o)
        .where(and(isOpen, eq(o.status, "processing"), left))
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
  const end = changer(
    connection,
    `update acme_orders set status = 'invalid', error = %1
where id = %2 and status in ('pending', 'ready')`,
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
    endOrder: async (id, error) => (await end([JSON.stringify(error), id])) === 1,
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

function stateReader(connection: Connection): AcmeReads["orderStates"] {
  const { db, t } = connection;
  const { id, status, expiresAt } = t.acmeOrders;
  return async (ids) => {
    const found = db.select({ id, status, expiresAt }).from(t.acmeOrders);
    const rows = await found.where(inTexts(connection, id, ids));
    return rows.map((row) => ({
      id: row.id,
      status: row.status as OrderState, // Only the writes of these stores fill the table.
      expiresAt: instant(row.expiresAt),
    }));
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
