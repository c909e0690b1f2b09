/** Challenges of ACME in the database: the work that is due, and what becomes of it. */

import { and, asc, eq, isNull, lte, notInArray, or, sql } from "drizzle-orm";

import type { AcmeReads, AcmeWrites, AttemptResult } from "#domain/acme/store.ts";
import { changer, inTexts, selector, type Connection } from "#adapters/db/engine/connection.ts";
import { ownedByDead } from "#adapters/db/engine/owners.ts";

import { accountFrom } from "./acme-accounts.ts";
import { authorizationFrom, restingOf, withChallenges } from "./acme-authorizations.ts";
import { challengeFrom } from "./acme-challenge-rows.ts";

/** Challenges as last committed. */
export function challengeReads(connection: Connection): Pick<AcmeReads, "challenge"> {
  const { t } = connection;
  const find = selector(connection, t.acmeChallenges, "where id = %1");
  const authorizationOf = selector(connection, t.acmeAuthorizations, "where id = %1");
  return {
    challenge: async (id) => {
      const [row] = await find([id]);
      if (row === undefined) return undefined;
      const rows = await authorizationOf([row.authorizationId]);
      const [authorization] = await withChallenges(connection, rows);
      return authorization && { challenge: challengeFrom(row), authorization };
    },
  };
}

/** The changes of a unit; `owner` is this store's number among the replicas. */
export function challengeWrites(
  connection: Connection,
  owner: number,
): Pick<AcmeWrites, "beginChallenge" | "claimChallenges" | "settleChallenge"> {
  const begin = changer(
    connection,
    `update acme_challenges set status = 'processing', next_at = %1
where id = %2 and status = 'pending' and ${ofPending}`,
  );
  return {
    beginChallenge: async (id, at) => (await begin([at, id])) === 1,
    claimChallenges: claimingOf(connection, owner),
    settleChallenge: settlingOf(connection, owner),
  };
}

const ofPending = `exists (select 1 from acme_authorizations z
where z.id = acme_challenges.authorization_id and z.status = 'pending')`;

function claimingOf(connection: Connection, owner: number): AcmeWrites["claimChallenges"] {
  const { db, t } = connection;
  const { acmeChallenges: c, acmeAuthorizations: z, acmeAccounts: a } = t;
  // On SQLite this is the only store, and what it has taken is its own until the lease ends.
  const free = or(isNull(c.leaseUntil), othersDead(connection, owner));
  return async ({ at, leaseUntil, limit, only, exceptAccounts }) => {
    const rows = await db
      .select({ challenge: c, authorization: z, account: a })
      .from(c)
      .innerJoin(z, eq(z.id, c.authorizationId))
      .innerJoin(a, eq(a.id, z.account))
      .where(
        and(
          // Literal, not a parameter: otherwise no planner may use the partial index.
          sql`${c.status} = 'processing'`,
          lte(c.nextAt, at),
          or(free, lte(c.leaseUntil, at)),
          only === undefined ? undefined : eq(c.id, only),
          exceptAccounts.length === 0 ? undefined : notInArray(c.account, [...exceptAccounts]),
        ),
      )
      .orderBy(asc(c.nextAt), asc(c.id))
      .limit(limit);
    if (rows.length === 0) return [];
    const ids = rows.map(({ challenge }) => challenge.id);
    await db
      .update(c)
      .set({ attempts: sql`${c.attempts} + 1`, owner, leaseUntil })
      .where(inTexts(connection, c.id, ids));
    return rows.map(({ challenge, authorization, account }) => ({
      challenge: challengeFrom({ ...challenge, attempts: challenge.attempts + 1 }),
      authorization: authorizationFrom(authorization),
      account: accountFrom(account),
    }));
  };
}

/** Leases of stores that are gone; those of this store are not. */
function othersDead(connection: Connection, owner: number) {
  const { owner: whose } = connection.t.acmeChallenges;
  const dead = ownedByDead(connection, whose, owner);
  return and(sql`${whose} <> ${owner}`, dead);
}

function settlingOf(connection: Connection, owner: number): AcmeWrites["settleChallenge"] {
  const { db, t } = connection;
  const { acmeChallenges: c, acmeAuthorizations: z } = t;
  const rest = restingOf(connection);
  const setOrders = ordersOf(connection);
  return async (id, attempt, result) => {
    const mine = and(
      eq(c.id, id),
      eq(c.status, "processing"),
      eq(c.owner, owner),
      eq(c.attempts, attempt),
      sql`${c.leaseUntil} is not null`,
      sql.raw(ofPending),
    );
    const changed = db.update(c).set(changesOf(result)).where(mine);
    const [row] = await changed.returning({ authorization: c.authorizationId, type: c.type });
    if (row === undefined) return false;
    const { authorization, type } = row;
    if (result.kind === "again") return true;
    const decided =
      result.kind === "proved"
        ? { status: "valid", method: type, expiresAt: result.validUntil }
        : { status: "invalid" };
    await db.update(z).set(decided).where(eq(z.id, authorization));
    await rest(authorization);
    await setOrders(authorization, result);
    return true;
  };
}

function changesOf(result: AttemptResult) {
  const free = { owner: null, leaseUntil: null };
  switch (result.kind) {
    case "proved":
      return { ...free, status: "valid", validatedAt: result.at, error: null, nextAt: null };
    case "again":
      return { ...free, error: JSON.stringify(result.error), nextAt: result.at };
    case "failed":
      return { ...free, status: "invalid", error: JSON.stringify(result.error), nextAt: null };
    default:
      return result satisfies never;
  }
}

/** What a decided authorization makes of the pending orders that name it. */
function ordersOf(connection: Connection) {
  const naming = `select order_id from acme_order_authorizations where authorization_id`;
  const list =
    connection.dialect === "sqlite"
      ? "select value from json_each(acme_orders.authorizations)"
      : "select json_array_elements_text(acme_orders.authorizations::json)";
  const ready = changer(
    connection,
    `update acme_orders set status = 'ready' where id in (${naming} = %1) and status = 'pending'
and not exists (select 1 from acme_authorizations z where z.id in (${list}) and z.status <> 'valid')`,
  );
  const invalid = changer(
    connection,
    `update acme_orders set status = 'invalid', error = %1
where id in (${naming} = %2) and status = 'pending'`,
  );
  return async (authorization: string, result: AttemptResult): Promise<void> => {
    if (result.kind === "proved") await ready([authorization]);
    else await invalid([JSON.stringify(result.error), authorization]);
  };
}
