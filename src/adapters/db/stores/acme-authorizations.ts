/** Authorizations of ACME in the database. */

import { and, asc, eq, gt, gte, or, sql } from "drizzle-orm";

import type {
  AcmeReads,
  AcmeWrites,
  AuthorizationFacts,
  AuthorizationRecord,
} from "#domain/acme/store.ts";
import {
  bulkInserter,
  changer,
  isAmong,
  selector,
  textList,
  type Connection,
} from "#adapters/db/engine/connection.ts";

import { countOf } from "./grouped-lists.ts";
import { challengeFrom, rowOf as challengeRow } from "./acme-challenge-rows.ts";

/** Authorizations as last committed. */
export function authorizationReads(
  connection: Connection,
): Pick<AcmeReads, "authorization" | "authorizations" | "openAuthorizations" | "validFor"> {
  return {
    authorization: byIdOf(connection),
    authorizations: listedOf(connection),
    openAuthorizations: openOf(connection),
    validFor: validOf(connection),
  };
}

/** Asked by every order. */
function validOf(connection: Connection): AcmeReads["validFor"] {
  const withChallenges = challengesOf(connection);
  const find = selector(
    connection,
    connection.t.acmeAuthorizations,
    // Literal, not parameters: otherwise no planner may use the partial index.
    `where status in ('pending', 'valid') and status = 'valid' and account = %1
and ${isAmong(connection, "identifier", "%2")} and expires_at > %3
order by created_at desc, id desc limit ${validMax}`,
  );
  return async (account, wanted, now) => {
    if (wanted.length === 0) return [];
    const names = wanted.map(({ identifier }) => identifier.value);
    const rows = await find([account, textList(names), now]);
    const keys = new Set(
      wanted.map(({ identifier, wildcard }) => keyOf(identifier.type, identifier.value, wildcard)),
    );
    const fitting = rows.filter((row) =>
      keys.has(keyOf(row.identifierType, row.identifier, row.wildcard)),
    );
    return await withChallenges(fitting);
  };
}

/** By the partial index, which has them in the order of their names. */
function openOf(connection: Connection): AcmeReads["openAuthorizations"] {
  const { db, t } = connection;
  const z = t.acmeAuthorizations;
  const withChallenges = challengesOf(connection);
  return async (account, limit, after) => {
    const open = and(isOpen, eq(z.account, account));
    const behind =
      after &&
      and(gte(z.identifier, after.name), or(gt(z.identifier, after.name), gt(z.id, after.id)));
    const rows = await db
      .select()
      .from(z)
      .where(and(open, behind))
      .orderBy(asc(z.identifier), asc(z.id))
      .limit(limit + 1);
    const part = { table: z, where: open, keys: [z.identifier, z.id] } as const;
    const total = await countOf(connection, part);
    const items = await withChallenges(rows.slice(0, limit));
    const last = rows.length > limit ? items.at(-1) : undefined;
    const next = last && { name: last.identifier.value, id: last.id };
    return { items, next, total };
  };
}

/** Literal, not parameters: otherwise no planner may use the partial index. */
export const isOpen = sql`status in ('pending', 'valid')`;

const keyOf = (type: string, value: string, wildcard: boolean) =>
  JSON.stringify([type, value, wildcard]);

/** The changes of a unit. */
export function authorizationWrites(
  connection: Connection,
): Pick<AcmeWrites, "addAuthorization" | "endAuthorization"> {
  const add = addingAuthorizations(connection);
  const end = (status: "deactivated" | "revoked", from: string) =>
    changer(
      connection,
      `update acme_authorizations set status = '${status}' where id = %1 and status in (${from})`,
    );
  const deactivate = end("deactivated", "'pending', 'valid'");
  const revoke = end("revoked", "'valid'");
  const rest = restingOf(connection);
  return {
    addAuthorization: async (authorization) => await add([authorization], false),
    endAuthorization: async (id, status) => {
      const changed = await (status === "revoked" ? revoke([id]) : deactivate([id]));
      if (changed === 1) await rest(id);
      return changed === 1;
    },
  };
}

/** Adds authorizations with their challenges; `ordered` when an order names them. */
export function addingAuthorizations(
  connection: Connection,
): (created: readonly AuthorizationRecord[], ordered: boolean) => Promise<void> {
  const insert = bulkInserter(connection, connection.t.acmeAuthorizations);
  const insertChallenges = bulkInserter(connection, connection.t.acmeChallenges);
  return async (created, ordered) => {
    await insert(
      created.map(({ identifier, challenges, ...facts }) => ({
        ...facts,
        identifierType: identifier.type,
        identifier: identifier.value,
        method: facts.method ?? null,
        challenges: challenges.map(({ id }) => id),
        ordered,
      })),
    );
    const theirs = created.flatMap(({ account, challenges }) =>
      challenges.map((challenge) => challengeRow(challenge, account)),
    );
    await insertChallenges(theirs);
  };
}

/** Nobody goes on working on the challenges of an authorization that is decided. */
export function restingOf(connection: Connection): (authorization: string) => Promise<void> {
  const its = "(select challenges from acme_authorizations where id = %1)";
  const rest = changer(
    connection,
    `update acme_challenges set status = 'pending', next_at = null, owner = null,
lease_until = null where status = 'processing' and ${isAmong(connection, "id", its)}`,
  );
  return async (authorization) => {
    await rest([authorization]);
  };
}

function byIdOf(connection: Connection): AcmeReads["authorization"] {
  const find = selector(connection, connection.t.acmeAuthorizations, "where id = %1");
  const withChallenges = challengesOf(connection);
  return async (id) => (await withChallenges(await find([id])))[0];
}

function listedOf(connection: Connection): AcmeReads["authorizations"] {
  const named = isAmong(connection, "id", "%1");
  const find = selector(connection, connection.t.acmeAuthorizations, `where ${named}`);
  return async (ids) => {
    if (ids.length === 0) return [];
    const found = await find([textList(ids)]);
    const byId = new Map(found.map((row) => [row.id, authorizationFrom(row)]));
    return ids.flatMap((id) => byId.get(id) ?? []);
  };
}

type Row = Connection["t"]["acmeAuthorizations"]["$inferSelect"];

/** The same authorizations with the challenges of each. */
export function challengesOf(
  connection: Connection,
): (rows: readonly Row[]) => Promise<readonly AuthorizationRecord[]> {
  const named = isAmong(connection, "id", "%1");
  const find = selector(connection, connection.t.acmeChallenges, `where ${named}`);
  return async (rows) => {
    if (rows.length === 0) return [];
    const all = await find([textList(rows.flatMap(({ challenges }) => challenges))]);
    const byId = new Map(all.map((row) => [row.id, challengeFrom(row)]));
    return rows.map((row) => ({
      ...authorizationFrom(row),
      challenges: row.challenges.flatMap((id) => byId.get(id) ?? []),
    }));
  };
}

/** Only the writes of these stores fill the table, so its texts are what the record's type says. */
export function authorizationFrom(row: Row): AuthorizationFacts {
  const { identifierType, identifier, challenges: _c, ordered: _o, method, ...facts } = row;
  return {
    ...facts,
    identifier: { type: identifierType, value: identifier },
    method: method ?? undefined,
  } as AuthorizationFacts; // See above.
}

/** Of what was proved again and again only the newest is of use. */
const validMax = 1000;
