/** API tokens, and beside them grants and passkeys, in the database. */

import { and, desc, eq, gt, isNull, or } from "drizzle-orm";

import type { AccessReads, AccessWrites, ApiTokenRecord } from "#domain/access/store.ts";
import { personAt } from "#adapters/db/tables/people.ts";
import {
  counted,
  inserter,
  olderThan,
  pageOf,
  selector,
  type Connection,
} from "#adapters/db/engine/connection.ts";

import { within } from "./cas.ts";
import { grantReads, grantWrites } from "./grants.ts";
import { passkeyReads, passkeyWrites } from "./passkeys.ts";

/** Tokens as last committed; lists newest first. */
export function accessReads(connection: Connection): AccessReads {
  const { db, t } = connection;
  const byHash = selector(connection, t.tokens, "where token_hash = %1");
  const byId = selector(connection, t.tokens, "where id = %1");
  return {
    apiTokenByHash: async (hash) => first(await byHash([hash])),
    apiTokenById: async (id) => first(await byId([id])),
    tokens: async (reach, tenant, limit, after) => {
      const { createdAt, id } = t.tokens;
      const named = tenant === undefined ? undefined : eq(t.tokens.tenant, tenant);
      const where = and(within({ tenant: t.tokens.tenant }, reach), named);
      const found = await db
        .select()
        .from(t.tokens)
        .where(and(where, olderThan(createdAt, id, after)))
        .orderBy(desc(createdAt), desc(id))
        .limit(limit + 1);
      const [sum] = await db.select({ total: counted }).from(t.tokens).where(where);
      const keyOf = (apiToken: ApiTokenRecord) => ({ at: apiToken.createdAt, id: apiToken.id });
      return pageOf(found.map(record), limit, sum?.total ?? 0, keyOf);
    },
    ...grantReads(connection),
    ...passkeyReads(connection),
    activeApiTokens: async (now) => {
      const alive = or(isNull(t.tokens.expiresAt), gt(t.tokens.expiresAt, now));
      const active = and(isNull(t.tokens.revokedAt), alive);
      const [sum] = await db.select({ total: counted }).from(t.tokens).where(active);
      return sum?.total ?? 0;
    },
  };
}

/** Token writes of a unit on the writing connection. */
export function accessWrites(connection: Connection): AccessWrites {
  const { db, t } = connection;
  const insertToken = inserter(connection, t.tokens);
  return {
    insertApiToken: async (apiToken) => {
      await insertToken(row(apiToken));
    },
    revokeApiToken: async (id, at, by) => {
      const revoked = await db
        .update(t.tokens)
        .set({ revokedAt: at, revokedBy: by })
        .where(and(eq(t.tokens.id, id), isNull(t.tokens.revokedAt)))
        .returning({ id: t.tokens.id });
      return revoked.length === 1;
    },
    revokeApiTokensOf: async (tenant, at, by) => {
      const living = and(eq(t.tokens.tenant, tenant), isNull(t.tokens.revokedAt));
      const set = { revokedAt: at, revokedBy: by };
      return (await db.update(t.tokens).set(set).where(living).returning()).map(record);
    },
    ...grantWrites(connection),
    ...passkeyWrites(connection),
    touchApiToken: async (id, at, ip) => {
      await db.update(t.tokens).set({ lastUsedAt: at, lastUsedIp: ip }).where(eq(t.tokens.id, id));
    },
  };
}

const first = (rows: readonly Row[]): ApiTokenRecord | undefined => rows[0] && record(rows[0]);

type Row = Connection["t"]["tokens"]["$inferSelect"];

function row({ person, ...facts }: ApiTokenRecord) {
  return {
    ...facts,
    personSubject: person.subject,
    personVoucher: person.voucher,
    personIssuer: person.issuer,
    personAddress: person.address,
  };
}

/**
 * Only `insertApiToken` fills the table, so its texts are the closed words the record's types name.
 */
function record(stored: Row): ApiTokenRecord {
  const { personSubject, personVoucher, personIssuer, personAddress, ...facts } = stored;
  return {
    ...facts,
    person: personAt({
      subject: personSubject,
      voucher: personVoucher,
      issuer: personIssuer,
      address: personAddress,
    }),
    tenant: facts.tenant ?? undefined,
    expiresAt: facts.expiresAt ?? undefined,
    lastUsedAt: facts.lastUsedAt ?? undefined,
    revokedAt: facts.revokedAt ?? undefined,
  } as ApiTokenRecord; // See above.
}
