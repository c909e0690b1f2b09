/** Challenges of ACME in the database: the work that is due, and what becomes of it. */

import { and, asc, eq, isNull, lte, notInArray, or, type SQL, sql } from "drizzle-orm";

import type { Instant } from "#core/time.ts";
import type {
  AcmeReads,
  AcmeWrites,
  AttemptResult,
  ChallengeClaim,
  DueChallenge,
  ValidationJob,
} from "#domain/acme/store.ts";
import type { PageKey } from "#domain/page.ts";
import {
  breath,
  changer,
  inTexts,
  rowsAtOnce,
  selector,
  type Connection,
  type Value,
} from "#adapters/db/engine/connection.ts";
import { ownedByDead } from "#adapters/db/engine/owners.ts";

import { accountFrom } from "./acme-accounts.ts";
import { authorizationFrom, challengesOf, restingOf } from "./acme-authorizations.ts";
import { challengeFrom } from "./acme-challenge-rows.ts";

/** Challenges as last committed; `owner` is this store's number among the replicas. */
export function challengeReads(
  connection: Connection,
  owner: number,
): Pick<AcmeReads, "challenge" | "dueChallenges"> {
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
    dueChallenges: dueOf(connection, owner),
  };
}

/** By a walk of the index some rows at a time; what it does not hold is looked up of few. */
function dueOf(connection: Connection, owner: number): AcmeReads["dueChallenges"] {
  const { db, t } = connection;
  const c = t.acmeChallenges;
  return async ({ at, exceptAccounts, exceptHosts }, limit, after) => {
    const named =
      exceptAccounts.length > 0 ? notInArray(c.account, [...exceptAccounts]) : undefined;
    const wanted = and(unleased(connection, owner, at), named);
    const found: DueRow[] = [];
    for (let behind = after; ; ) {
      const rows = await db
        .select({ at: c.nextAt, id: c.id, kept: sql<unknown>`(${wanted})` })
        .from(c)
        .where(and(isDue(connection, at), isBehind(connection, behind)))
        .orderBy(asc(c.nextAt), asc(c.id))
        .limit(walkedAtOnce);
      const walked = rows.map((row) => ({ at: Number(row.at), id: row.id, kept: row.kept }));
      const kept = walked.filter((row) => Boolean(row.kept));
      // One more than is asked for shows that there are more.
      for (let from = 0; from < kept.length && found.length <= limit; from += rowsAtOnce) {
        const keys = kept.slice(from, from + rowsAtOnce);
        found.push(...(await withHosts(connection, keys, exceptHosts)));
      }
      behind = walked.at(-1);
      if (found.length > limit || walked.length < walkedAtOnce) return duePage(found, limit);
      if (connection.dialect === "sqlite") await breath();
    }
  };
}

interface DueRow extends DueChallenge {
  readonly at: number;
}

function duePage(found: readonly DueRow[], limit: number) {
  const rows = found.slice(0, limit);
  const last = found.length > limit ? rows.at(-1) : undefined;
  const items = rows.map(({ at: _at, ...challenge }) => challenge);
  return { items, next: last && { at: last.at, id: last.id } };
}

/** Those whose host may be asked, in the order of the keys. */
async function withHosts(
  connection: Connection,
  keys: readonly PageKey[],
  except: readonly string[],
): Promise<readonly DueRow[]> {
  const { acmeChallenges: c, acmeAuthorizations: z } = connection.t;
  const ids = keys.map(({ id }) => id);
  const rows = await connection.db
    .select({ id: c.id, account: c.account, host: z.identifier })
    .from(c)
    .innerJoin(z, eq(z.id, c.authorizationId))
    .where(inTexts(connection, c.id, ids));
  const byId = new Map(rows.map((row) => [row.id, row]));
  return keys.flatMap(({ at, id }) => {
    const row = byId.get(id);
    return row === undefined || except.includes(row.host) ? [] : { ...row, at };
  });
}

/** Literal, not a parameter: otherwise no planner may use the partial index. */
const isDue = ({ t }: Connection, at: Instant) =>
  and(sql`status = 'processing'`, lte(t.acmeChallenges.nextAt, at));

function isBehind({ t }: Connection, key: PageKey | undefined): SQL | undefined {
  const { nextAt, id } = t.acmeChallenges;
  return key && sql`(${nextAt}, ${id}) > (${key.at}, ${key.id})`;
}

/** In nobody's lease; those of stores that are gone are none. */
function unleased(connection: Connection, owner: number, at: Instant): SQL | undefined {
  const { leaseUntil, owner: whose } = connection.t.acmeChallenges;
  const gone = and(sql`${whose} <> ${owner}`, ownedByDead(connection, whose, owner));
  return or(isNull(leaseUntil), lte(leaseUntil, at), gone);
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

/** One that was just begun, which is in nobody's lease, is taken by few and short statements. */
function claimingOf(connection: Connection, owner: number): AcmeWrites["claimChallenges"] {
  const [one, many] = [claimingOne(connection, owner), claimingMany(connection, owner)];
  return async (claim) => {
    const [only, ...others] = claim.ids;
    const taken = others.length === 0 ? await one(claim, only ?? "") : undefined;
    return taken ?? (await many(claim));
  };
}

/** Gives undefined where it takes a closer look. */
function claimingOne(connection: Connection, owner: number) {
  const { t } = connection;
  const find = selector(
    connection,
    t.acmeChallenges,
    "where id = %1 and status = 'processing' and next_at <= %2",
  );
  const authorizationOf = selector(connection, t.acmeAuthorizations, "where id = %1");
  const accountOf = selector(connection, t.acmeAccounts, "where id = %1");
  const take = changer(
    connection,
    "update acme_challenges set attempts = attempts + 1, owner = %1, lease_until = %2 where id = %3",
  );
  return async ({ at, leaseUntil }: ChallengeClaim, id: string) => {
    const [challenge] = await find([id, at]);
    if (challenge === undefined) return [];
    if (challenge.leaseUntil !== null) return undefined;
    const [authorization] = await authorizationOf([challenge.authorizationId]);
    const [account] = await accountOf([challenge.account]);
    if (authorization === undefined || account === undefined) return [];
    await take([owner, leaseUntil, id]);
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

function claimingMany(connection: Connection, owner: number): AcmeWrites["claimChallenges"] {
  const { db, t } = connection;
  const { acmeChallenges: c, acmeAuthorizations: z, acmeAccounts: a } = t;
  return async ({ ids, at, leaseUntil }) => {
    const rows = await db
      .select({ challenge: c, authorization: z, account: a })
      .from(c)
      .innerJoin(z, eq(z.id, c.authorizationId))
      .innerJoin(a, eq(a.id, z.account))
      .where(
        and(
          inTexts(connection, c.id, ids),
          eq(c.status, "processing"),
          lte(c.nextAt, at),
          unleased(connection, owner, at),
        ),
      )
      .orderBy(asc(c.nextAt), asc(c.id));
    const taken = rows.map(({ challenge }) => challenge.id);
    if (taken.length === 0) return [];
    await db
      .update(c)
      .set({ attempts: sql`${c.attempts} + 1`, owner, leaseUntil })
      .where(inTexts(connection, c.id, taken));
    return rows.map(jobOf);
  };
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
