/** Nonces that were used, and what goes of ACME once it is over. */

import { and, asc, desc, eq, inArray, lt, lte, or, sql, type SQL } from "drizzle-orm";

import type { AcmeWrites } from "#domain/acme/store.ts";
import {
  breath,
  changer,
  inserter,
  inTexts,
  placeholder,
  rowsAtOnce,
  type Connection,
} from "#adapters/db/engine/connection.ts";

/** The changes of a unit. */
export function clearing(
  connection: Connection,
): Pick<AcmeWrites, "useNonce" | "pruneNonces" | "prune" | "discardExpired" | "discardBeyond"> {
  const insertNonce = inserter(connection, connection.t.acmeNonces, "skip");
  return {
    useNonce: async (id, expiresAt) => (await insertNonce({ id, expiresAt })) === 1,
    pruneNonces: pruningNonces(connection),
    prune: pruningOf(connection),
    discardExpired: endDiscarder(connection),
    discardBeyond: surplusDiscarder(connection),
  };
}

/** The oldest come first by their ids, and their time is over first. */
function pruningNonces(connection: Connection): AcmeWrites["pruneNonces"] {
  const [limit, before] = [placeholder(connection, 1), placeholder(connection, 2)];
  const oldest = `select id, expires_at from acme_nonces order by id limit ${limit}`;
  const over = `select id from (${oldest}) o where expires_at < ${before}`;
  const among = connection.dialect === "sqlite" ? `in (${over})` : `= any(array(${over}))`;
  const text = `delete from acme_nonces where id ${among}`;
  return async (at, most) => await connection.run(text, [most, at]);
}

function pruningOf(connection: Connection): AcmeWrites["prune"] {
  const { db, t } = connection;
  const { acmeOrders: o, acmeAuthorizations: z } = t;
  const unlink = unlinkingOf(connection);
  return async (before, limit) => {
    const over = db
      .select({ id: o.id, authorizations: o.authorizations })
      .from(o)
      .where(lt(o.endsAt, before));
    const orders = await over.orderBy(asc(o.endsAt)).limit(limit);
    const ids = orders.map(({ id }) => id);
    if (ids.length > 0) await db.delete(o).where(inTexts(connection, o.id, ids));
    if (connection.dialect === "sqlite") await breath();
    const links = orders.flatMap(({ id, authorizations }) =>
      authorizations.map((authorization) => [authorization, id] as const),
    );
    const released = await unlink(links, ({ expiresAt }) => expiresAt < before);
    // Those that no order names, or none any more, end by themselves.
    const ended = db
      .select({ id: z.id })
      .from(z)
      .where(and(sql`not ordered`, lt(z.expiresAt, before)))
      .orderBy(asc(z.expiresAt))
      .limit(limit);
    const alone = (await ended).map(({ id }) => id);
    const went = await dropped(connection, [...new Set(released.concat(alone))]);
    return ids.length + went;
  };
}

function endDiscarder(connection: Connection): AcmeWrites["discardExpired"] {
  const { db, t } = connection;
  const { acmeOrders: o, acmeAuthorizations: z } = t;
  const discard = orderDiscarder(connection);
  return async (ids, at) => {
    let went = 0;
    for (const part of pieces(ids)) {
      const expired = and(inArray(o.status, ["pending", "ready"]), lte(o.expiresAt, at));
      went += await discard(
        and(inTexts(connection, o.id, part), or(eq(o.status, "invalid"), expired)),
      );
      const over = or(sql`status not in ('pending', 'valid')`, lte(z.expiresAt, at));
      const alone = db
        .select({ id: z.id })
        .from(z)
        .where(and(inTexts(connection, z.id, part), sql`not ordered`, over));
      went += await dropped(
        connection,
        (await alone).map(({ id }) => id),
      );
    }
    return went;
  };
}

function surplusDiscarder(connection: Connection): AcmeWrites["discardBeyond"] {
  const { acmeOrders: o } = connection.t;
  const discard = orderDiscarder(connection);
  return async (status, count, limit) => {
    // The partial index begins with the status and has the orders of each by their age.
    const of = and(sql`status <> 'valid'`, eq(o.status, status));
    const beyond = connection.db
      .select({ id: o.id })
      .from(o)
      .where(of)
      .orderBy(desc(o.createdAt), desc(o.id))
      .limit(limit)
      .offset(count);
    let went = 0;
    for (const part of pieces((await beyond).map(({ id }) => id))) {
      went += await discard(and(inTexts(connection, o.id, part), eq(o.status, status)));
    }
    return went;
  };
}

/** Deletes orders, and the authorizations that are not valid and that no order names then. */
function orderDiscarder(connection: Connection) {
  const { db, t } = connection;
  const { acmeOrders: o } = t;
  const unlink = unlinkingOf(connection);
  return async (where: SQL | undefined): Promise<number> => {
    const columns = { id: o.id, authorizations: o.authorizations };
    const orders = await db.delete(o).where(where).returning(columns);
    const links = orders.flatMap(({ id, authorizations }) =>
      authorizations.map((authorization) => [authorization, id] as const),
    );
    const released = await unlink(links, ({ status }) => status !== "valid");
    return orders.length + (await dropped(connection, [...new Set(released)]));
  };
}

interface ReleasedRow {
  readonly expiresAt: number;
  readonly status: string;
}

/** Forgets which orders named what; gives the authorizations that are over and named by none. */
function unlinkingOf(connection: Connection) {
  const { db, t } = connection;
  const { acmeOrderAuthorizations: l, acmeAuthorizations: z } = t;
  const unlink = changer(connection, unlinking[connection.dialect]);
  const none = sql`not exists (select 1 from ${l} where ${l.authorizationId} = ${z.id})`;
  return async (
    links: readonly (readonly [string, string])[],
    isOver: (row: ReleasedRow) => boolean,
  ) => {
    const over: string[] = [];
    for (const piece of pieces(links)) {
      await unlink([JSON.stringify(piece)]);
      const named = piece.map(([authorization]) => authorization);
      const released = await db
        .update(z)
        .set({ ordered: false })
        .where(and(inTexts(connection, z.id, named), none))
        .returning({ id: z.id, expiresAt: z.expiresAt, status: z.status });
      over.push(...released.filter(isOver).map(({ id }) => id));
      if (connection.dialect === "sqlite") await breath();
    }
    return over;
  };
}

/** On PostgreSQL one look into the index for each, whatever it thinks of the size of the table. */
const unlinking: Record<Connection["dialect"], string> = {
  sqlite: `delete from acme_order_authorizations where (authorization_id, order_id) in
(select value ->> 0, value ->> 1 from json_each(%1))`,
  postgres: `delete from acme_order_authorizations where ctid = any(array(
select f.ctid from json_array_elements(%1::text::json) g, lateral (
select l.ctid from acme_order_authorizations l
where l.authorization_id = g ->> 0 and l.order_id = g ->> 1 limit 1) f))`,
};

/** Deletes authorizations with their challenges; gives how many rows went. */
async function dropped(connection: Connection, ids: readonly string[]): Promise<number> {
  const { db, t } = connection;
  const { acmeAuthorizations: z, acmeChallenges: c } = t;
  let went = 0;
  for (const piece of pieces(ids)) {
    const named = inTexts(connection, z.id, piece);
    const rows = await db.delete(z).where(named).returning({ challenges: z.challenges });
    const challenges = rows.flatMap((row) => row.challenges);
    await db.delete(c).where(inTexts(connection, c.id, challenges));
    went += rows.length + challenges.length;
    if (connection.dialect === "sqlite") await breath();
  }
  return went;
}

function pieces<T>(rows: readonly T[]): readonly (readonly T[])[] {
  const count = Math.ceil(rows.length / rowsAtOnce);
  return Array.from({ length: count }, (_, at) =>
    rows.slice(at * rowsAtOnce, (at + 1) * rowsAtOnce),
  );
}
