/** Which orders there are, newest first: of an account, in a state, or of CAs. */

import { and, eq, gt, lte, type SQL, sql } from "drizzle-orm";

import { coversCa } from "#core/access/principal.ts";
import { caId, tenantId } from "#core/ids.ts";
import type { AcmeReads, OrderFilter, OrderRecord } from "#domain/acme/store.ts";
import { inTexts, pageOf, type Connection } from "#adapters/db/engine/connection.ts";

import { orderFrom } from "./acme-order-rows.ts";
import { within } from "./cas.ts";
import { countOf, newestOf, pairsOf, type Part } from "./grouped-lists.ts";

/** Orders as last committed. */
export function ordersOf(connection: Connection): AcmeReads["orders"] {
  const { db, t } = connection;
  const o = t.acmeOrders;
  return async (filter, limit, after) => {
    const parts = await partsOf(connection, filter);
    const keys = await newestOf(connection, parts, limit + 1, after);
    const ids = keys.map(({ id }) => id);
    const rows = await db
      .select()
      .from(o)
      .where(inTexts(connection, o.id, ids));
    const byId = new Map(rows.map((row) => [row.id, orderFrom(row)]));
    const orders = ids.flatMap((id) => byId.get(id) ?? []);
    const total = await totalOf(connection, filter, parts);
    return pageOf(orders, limit, total, ({ createdAt: at, id }) => ({ at, id }));
  };
}

/** Where the index of each kind of list has the orders. */
async function partsOf(connection: Connection, filter: OrderFilter): Promise<readonly Part[]> {
  const { reach, status, account, now } = filter;
  const o = connection.t.acmeOrders;
  const list = { table: o, keys: [o.createdAt, o.id] } as const;
  const reached = within({ tenant: o.tenant, ca: o.caId }, reach);
  if (account !== undefined) {
    const states = status === undefined ? undefined : being(connection, status, now);
    return [{ ...list, where: eq(o.account, account), keep: and(reached, states) }];
  }
  if (status !== undefined && status !== "valid") {
    return openStates(connection, status, now).map(([state, keep]) => ({
      ...list,
      where: and(isOpen, eq(o.status, state)),
      keep: and(reached, keep),
    }));
  }
  const pairs = await pairsOf(connection, o, [o.tenant, o.caId]);
  const keep = status === undefined ? undefined : eq(o.status, status);
  return pairs
    .filter(([tenant, ca]) => coversCa(reach, { id: caId(ca), tenant: tenantId(tenant) }))
    .map(([tenant, ca]) => ({ ...list, where: and(eq(o.tenant, tenant), eq(o.caId, ca)), keep }));
}

async function totalOf(
  connection: Connection,
  { reach, status, account }: OrderFilter,
  parts: readonly Part[],
): Promise<number> {
  const o = connection.t.acmeOrders;
  const sum = async (all: readonly Part[]) => {
    let total = 0;
    for (const part of all) total += await countOf(connection, part);
    return total;
  };
  if (status !== "valid" || account !== undefined) return await sum(parts);
  // Those that are not are few, and lie together.
  const others = {
    table: o,
    keys: [o.createdAt, o.id],
    keep: within({ tenant: o.tenant, ca: o.caId }, reach),
  } as const;
  const states = ["pending", "ready", "processing", "invalid"];
  const open = states.map((state) => ({ ...others, where: and(isOpen, eq(o.status, state)) }));
  const all = parts.map((part) => ({ ...part, keep: undefined }));
  return (await sum(all)) - (await sum(open));
}

/** The states of rows that such orders have, and which of those rows they are. */
function openStates(
  { t }: Connection,
  status: Exclude<OrderRecord["status"], "valid">,
  now: OrderFilter["now"],
): readonly (readonly [string, SQL | undefined])[] {
  const { expiresAt } = t.acmeOrders;
  switch (status) {
    case "processing":
      return [[status, undefined]];
    case "pending":
    case "ready":
      return [[status, gt(expiresAt, now)]];
    case "invalid": {
      const overdue = lte(expiresAt, now);
      const all = [status, undefined] as const;
      return [all, ["pending", overdue], ["ready", overdue]];
    }
    default:
      return status satisfies never;
  }
}

function being(
  connection: Connection,
  status: OrderRecord["status"],
  now: OrderFilter["now"],
): SQL | undefined {
  const o = connection.t.acmeOrders;
  if (status === "valid") return eq(o.status, status);
  const states = openStates(connection, status, now).map(([state, keep]) =>
    and(eq(o.status, state), keep),
  );
  return sql`(${sql.join(states, sql` or `)})`;
}

/** Literal, not a parameter: otherwise no planner may use the partial index. */
export const isOpen = sql`status <> 'valid'`;
