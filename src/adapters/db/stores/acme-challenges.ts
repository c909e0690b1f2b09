/** Challenges of ACME in the database: the work that is due, and what becomes of it. */

import { and, asc, eq, isNull, lte, notInArray, or, type SQL, sql } from "drizzle-orm";

import type {
  AcmeReads,
  AcmeWrites,
  AttemptResult,
  ChallengeClaim,
  ValidationJob,
} from "#domain/acme/store.ts";
import {
  breath,
  changer,
  inTexts,
  selector,
  type Connection,
  type Value,
} from "#adapters/db/engine/connection.ts";
import { ownedByDead } from "#adapters/db/engine/owners.ts";

import { accountFrom } from "./acme-accounts.ts";
import { authorizationFrom, challengesOf, restingOf } from "./acme-authorizations.ts";
import { challengeFrom } from "./acme-challenge-rows.ts";

/** Challenges as last committed. */
export function challengeReads(connection: Connection): Pick<AcmeReads, "challenge"> {
  const { t } = connection;
  const find = selector(connection, t.acmeChallenges, "where id = %1");
  const authorizationOf = selector(connection, t.acmeAuthorizations, "where id = %1");
  const withChallenges = challengesOf(connection);
  return {
    challenge: async (id) => {
      const [row] = await find([id]);
      if (row === undefined) return undefined;
      const rows = await authorizationOf([row.authorizationId]);
      const [authorization] = await withChallenges(rows);
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

/** One that was just begun is taken by itself, all others are looked for now and then. */
function claimingOf(connection: Connection, owner: number): AcmeWrites["claimChallenges"] {
  const [one, due] = [claimingOne(connection, owner), claimingDue(connection, owner)];
  return async (claim) => {
    const { only } = claim;
    return only === undefined ? await due(claim) : await one({ ...claim, only });
  };
}

function claimingOne(connection: Connection, owner: number) {
  const { t } = connection;
  const find = selector(
    connection,
    t.acmeChallenges,
    `where id = %1 and status = 'processing' and next_at <= %2
and (lease_until is null or lease_until <= %3)`,
  );
  const authorizationOf = selector(connection, t.acmeAuthorizations, "where id = %1");
  const accountOf = selector(connection, t.acmeAccounts, "where id = %1");
  const take = changer(
    connection,
    "update acme_challenges set attempts = attempts + 1, owner = %1, lease_until = %2 where id = %3",
  );
  return async (claim: ChallengeClaim & { readonly only: string }) => {
    const { at, leaseUntil, only, exceptAccounts } = claim;
    const [challenge] = await find([only, at, at]);
    if (challenge === undefined || exceptAccounts.includes(challenge.account)) return [];
    const [authorization] = await authorizationOf([challenge.authorizationId]);
    const [account] = await accountOf([challenge.account]);
    if (authorization === undefined || account === undefined) return [];
    await take([owner, leaseUntil, only]);
    return [jobOf({ challenge, authorization, account })];
  };
}

interface TakenRows {
  readonly challenge: Connection["t"]["acmeChallenges"]["$inferSelect"];
  readonly authorization: Connection["t"]["acmeAuthorizations"]["$inferSelect"];
  readonly account: Connection["t"]["acmeAccounts"]["$inferSelect"];
}

/** As it is once it has been taken. */
const jobOf = ({ challenge, authorization, account }: TakenRows): ValidationJob => ({
  challenge: challengeFrom({ ...challenge, attempts: challenge.attempts + 1 }),
  authorization: authorizationFrom(authorization),
  account: accountFrom(account),
});

function claimingDue(connection: Connection, owner: number): AcmeWrites["claimChallenges"] {
  const { db, t } = connection;
  const { acmeChallenges: c, acmeAuthorizations: z, acmeAccounts: a } = t;
  const due = dueOf(connection, owner);
  return async (claim) => {
    const ids = await due(claim);
    if (ids.length === 0) return [];
    const { leaseUntil } = claim;
    const taken = inTexts(connection, c.id, ids);
    const rows = await db
      .select({ challenge: c, authorization: z, account: a })
      .from(c)
      .innerJoin(z, eq(z.id, c.authorizationId))
      .innerJoin(a, eq(a.id, z.account))
      .where(taken)
      .orderBy(asc(c.nextAt), asc(c.id));
    await db
      .update(c)
      .set({ attempts: sql`${c.attempts} + 1`, owner, leaseUntil })
      .where(taken);
    return rows.map(jobOf);
  };
}

/** The ids of what may be taken, oldest first, by a walk of the index some rows at a time. */
function dueOf(connection: Connection, owner: number) {
  const { db, t } = connection;
  const c = t.acmeChallenges;
  const others = othersDead(connection, owner);
  return async ({ at, limit, exceptAccounts }: ChallengeClaim): Promise<readonly string[]> => {
    const free = or(isNull(c.leaseUntil), lte(c.leaseUntil, at), others);
    const named =
      exceptAccounts.length > 0 ? notInArray(c.account, [...exceptAccounts]) : undefined;
    // Literal, not a parameter: otherwise no planner may use the partial index.
    const due = and(sql`status = 'processing'`, lte(c.nextAt, at));
    const found: string[] = [];
    for (let behind: SQL | undefined; ; ) {
      const rows = await db
        .select({ nextAt: c.nextAt, id: c.id, kept: sql<unknown>`(${and(free, named)})` })
        .from(c)
        .where(and(due, behind))
        .orderBy(asc(c.nextAt), asc(c.id))
        .limit(walkedAtOnce);
      found.push(...rows.filter(({ kept }) => Boolean(kept)).map(({ id }) => id));
      const last = rows.at(-1);
      if (found.length >= limit || last === undefined || rows.length < walkedAtOnce) {
        return found.slice(0, limit);
      }
      behind = sql`(${c.nextAt}, ${c.id}) > (${last.nextAt}, ${last.id})`;
      if (connection.dialect === "sqlite") await breath();
    }
  };
}

/** Leases of stores that are gone; those of this store are not. */
function othersDead(connection: Connection, owner: number) {
  const { owner: whose } = connection.t.acmeChallenges;
  const dead = ownedByDead(connection, whose, owner);
  return and(sql`${whose} <> ${owner}`, dead);
}

function settlingOf(connection: Connection, owner: number): AcmeWrites["settleChallenge"] {
  const { acmeChallenges } = connection.t;
  const find = selector(connection, acmeChallenges, "where id = %1");
  const set = settingOf(connection);
  const valid = changer(
    connection,
    "update acme_authorizations set status = 'valid', method = %1, expires_at = %2 where id = %3",
  );
  const invalid = changer(
    connection,
    "update acme_authorizations set status = 'invalid' where id = %1",
  );
  const rest = restingOf(connection);
  const setOrders = ordersOf(connection);
  return async (id, attempt, result) => {
    const [row] = await find([id]);
    if (row === undefined || (await set(result, [id, owner, attempt])) !== 1) return false;
    const { authorizationId: authorization, type } = row;
    if (result.kind === "again") return true;
    if (result.kind === "failed") await invalid([authorization]);
    else await valid([type, result.validUntil, authorization]);
    await rest(authorization);
    await setOrders(authorization, result);
    return true;
  };
}

/** Writes what came of an attempt to its challenge, unless it is not the holder's any more. */
function settingOf(connection: Connection) {
  const set = "update acme_challenges set owner = null, lease_until = null";
  const mine = (first: number) =>
    `id = %${first} and status = 'processing' and owner = %${first + 1}
and attempts = %${first + 2} and lease_until is not null and ${ofPending}`;
  const proved = changer(
    connection,
    `${set}, status = 'valid', validated_at = %1, error = null, next_at = null where ${mine(2)}`,
  );
  const again = changer(connection, `${set}, error = %1, next_at = %2 where ${mine(3)}`);
  const failed = changer(
    connection,
    `${set}, status = 'invalid', error = %1, next_at = null where ${mine(2)}`,
  );
  return (result: AttemptResult, whose: readonly Value[]): number | Promise<number> => {
    switch (result.kind) {
      case "proved":
        return proved([result.at, ...whose]);
      case "again":
        return again([JSON.stringify(result.error), result.at, ...whose]);
      case "failed":
        return failed([JSON.stringify(result.error), ...whose]);
      default:
        return result satisfies never;
    }
  };
}

/** What a decided authorization makes of the pending orders that name it. */
function ordersOf(connection: Connection) {
  const ready = changer(connection, readying[connection.dialect]);
  const invalid = changer(connection, invalidating[connection.dialect]);
  return async (authorization: string, result: AttemptResult): Promise<void> => {
    if (result.kind === "proved") await ready([authorization]);
    else await invalid([JSON.stringify(result.error), authorization]);
  };
}

/** The statement that makes orders ready whose every authorization is valid. */
const readying: Record<Connection["dialect"], string> = {
  sqlite: `update acme_orders set status = 'ready'
where id in (select order_id from acme_order_authorizations where authorization_id = %1)
and status = 'pending' and not exists (select 1 from acme_authorizations z
where z.id in (select value from json_each(acme_orders.authorizations)) and z.status <> 'valid')`,
  // An array is looked up in the index; of a subquery PostgreSQL makes a scan of all there are.
  postgres: `update acme_orders set status = 'ready'
where id = any(array(select order_id from acme_order_authorizations where authorization_id = %1))
and status = 'pending' and not exists (select 1 from acme_authorizations z
where z.id = any(array(select json_array_elements_text(acme_orders.authorizations::json)))
and z.status <> 'valid')`,
};

const invalidating: Record<Connection["dialect"], string> = {
  sqlite: `update acme_orders set status = 'invalid', error = %1
where id in (select order_id from acme_order_authorizations where authorization_id = %2)
and status = 'pending'`,
  postgres: `update acme_orders set status = 'invalid', error = %1
where id = any(array(select order_id from acme_order_authorizations where authorization_id = %2))
and status = 'pending'`,
};

const walkedAtOnce = 1000;
