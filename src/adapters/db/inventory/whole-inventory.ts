/**
 * The inventory on PostgreSQL, which plans by itself and works in processes of its own; totals come
 * from the counters.
 */

import { and, desc, eq, gt, lt, lte } from "drizzle-orm";

import type { PageKey } from "#domain/page.ts";
import type { CertificateFilter } from "#domain/certificates/store.ts";
import { counted, pageOf, type Connection } from "#adapters/db/engine/connection.ts";

import { countLeaves, countSerials, leavesOf } from "./certificate-counts.ts";
import { hasTrigrams, matching, type Search } from "./inventory-filter.ts";
import { type CountRows, TextTotals } from "./text-totals.ts";

/** Rows a filter selects, last stored first. */
export function wholeInventory(connection: Connection) {
  const { db, t } = connection;
  const { ordinal } = t.certificates;
  const count = counting(connection);
  const totals = new TextTotals(connection, count);
  const totalOf = async (filter: CertificateFilter): Promise<number> => {
    const leaves = leavesOf(filter);
    if (leaves !== undefined) return countLeaves(connection, leaves);
    if (onlySerials(filter)) return countSerials(connection, filter.caId, filter.serialPrefix);
    return (await totals.of(filter)) ?? (await count(filter, 0, Number.MAX_SAFE_INTEGER));
  };
  return async (filter: CertificateFilter, limit: number, after: PageKey | undefined) => {
    const sum = await totalOf(filter);
    const known = after === undefined ? await totals.known(filter) : undefined;
    const total = known?.total ?? sum;
    // No more than the total are there, and looking for more would walk through everything.
    const most = known?.total === undefined ? limit + 1 : Math.min(limit + 1, known.total);
    const within = known === undefined ? undefined : lte(ordinal, known.through);
    const below = after === undefined ? within : lt(ordinal, after.at);
    const search = await searchOf(connection, filter);
    const found = await db
      .select()
      .from(t.certificates)
      .where(and(matching(connection, filter, search), below))
      .orderBy(desc(ordinal))
      .limit(most);
    return pageOf(found, limit, total, (row) => ({ at: row.ordinal, id: "" }));
  };
}

/**
 * Serials are found by ranges and sorted when they are few; else the newest rows are walked and
 * compared.
 */
async function searchOf(connection: Connection, filter: CertificateFilter): Promise<Search> {
  if (filter.serialPrefix === undefined) return "indexed";
  const { ordinal, caId } = connection.t.certificates;
  const { serialPrefix } = filter;
  const rows = matching(connection, { caId: filter.caId, now: filter.now, serialPrefix });
  const found = connection.db.select({ ordinal }).from(connection.t.certificates);
  const few = await found.where(and(eq(caId, filter.caId), rows)).limit(fewMax + 1);
  return few.length <= fewMax ? "indexed" : "compared";
}

type BySerial = CertificateFilter & { readonly serialPrefix: string };

/** True when the serial decides alone, among the leaves of the CA. */
function onlySerials(filter: CertificateFilter): filter is BySerial {
  const { serialPrefix, text, profile, status, expiresBefore } = filter;
  const { spkiSha256, requestedBy } = filter;
  const others = [text, profile, status, expiresBefore, spkiSha256, requestedBy];
  return serialPrefix !== undefined && others.every((other) => other === undefined);
}

/**
 * Few are counted by the index of trigrams. Computing those of every row costs a hundred times what
 * comparing does, so when there are more the whole inventory is read instead.
 */
function counting({ db, dialect, t }: Connection): CountRows {
  const { ordinal } = t.certificates;
  return async (filter, low, high) => {
    const selected = (search: Search) =>
      and(matching({ dialect, t }, filter, search), gt(ordinal, low), lte(ordinal, high));
    const { text, spkiSha256 } = filter;
    if (text !== undefined && hasTrigrams(text) && spkiSha256 === undefined) {
      const found = db.select({ ordinal }).from(t.certificates).where(selected("indexed"));
      const few = await found.limit(fewMax + 1);
      if (few.length <= fewMax) return few.length;
    }
    const [sum] = await db
      .select({ total: counted })
      .from(t.certificates)
      .where(selected("compared"));
    return sum?.total ?? 0;
  };
}

const fewMax = 1000;
