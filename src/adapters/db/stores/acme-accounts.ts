/** Accounts of ACME and their keys in the database. */

import { and, asc, desc, eq, gt, inArray, lt, sql } from "drizzle-orm";

import { coversTenant } from "#core/access/principal.ts";
import { tenantId } from "#core/ids.ts";
import { type Instant, instant } from "#core/time.ts";
import type { AccountRecord, AcmeReads, AcmeWrites } from "#domain/acme/store.ts";
import {
  breath,
  changer,
  counted,
  inserter,
  inTexts,
  pageOf,
  placeholder,
  rowsAtOnce,
  selector,
  type Connection,
} from "#adapters/db/engine/connection.ts";

import { isOpen } from "./acme-authorizations.ts";
import { isOpen as isOpenOrder } from "./acme-order-lists.ts";
import { countOf, newestOf, pairsOf } from "./grouped-lists.ts";

type AccountReads = Pick<
  AcmeReads,
  | "account"
  | "accountByKey"
  | "thumbprints"
  | "isAccountKey"
  | "accounts"
  | "boundAccounts"
  | "idleSinceBeyond"
>;
type AccountWrites = Pick<
  AcmeWrites,
  | "addAccount"
  | "lockAccount"
  | "setContacts"
  | "endAccount"
  | "endAccountsOf"
  | "changeKey"
  | "endRecords"
  | "setIdle"
  | "pruneAccounts"
>;

/** Accounts as last committed. */
export function accountReads(connection: Connection): AccountReads {
  const { db, t } = connection;
  const a = t.acmeAccounts;
  return {
    account: accountOf(connection),
    accountByKey: byKeyOf(connection),
    thumbprints: thumbprintsOf(connection),
    isAccountKey: isAccountKeyOf(connection),
    accounts: accountsOf(connection),
    boundAccounts: async (eab) => {
      const bound = and(eq(a.eabId, eab), eq(a.status, "valid"));
      const [sum] = await db.select({ total: counted }).from(a).where(bound);
      return sum?.total ?? 0;
    },
    idleSinceBeyond: async (count) => {
      const idle = db.select({ at: a.idleSince }).from(a).where(sql`idle_since is not null`);
      const [row] = await idle.orderBy(desc(a.idleSince), desc(a.id)).limit(1).offset(count);
      return row === undefined ? undefined : instant(Number(row.at));
    },
  };
}

/** By tenant and state, as their index has them. */
function accountsOf(connection: Connection): AcmeReads["accounts"] {
  const { db, t } = connection;
  const a = t.acmeAccounts;
  return async ({ reach, status }, limit, after) => {
    const pairs = await pairsOf(connection, a, [a.tenant, a.status]);
    const parts = pairs
      .filter(([tenant, state]) => coversTenant(reach, tenantId(tenant)) && isNamed(state, status))
      .map(([tenant, state]) => ({
        table: a,
        where: and(eq(a.tenant, tenant), eq(a.status, state)),
        keys: [a.createdAt, a.id] as const,
      }));
    const keys = await newestOf(connection, parts, limit + 1, after);
    const ids = keys.map(({ id }) => id);
    const rows = await db
      .select()
      .from(a)
      .where(inTexts(connection, a.id, ids));
    const byId = new Map(rows.map((row) => [row.id, accountFrom(row)]));
    const accounts = ids.flatMap((id) => byId.get(id) ?? []);
    let total = 0;
    for (const part of parts) total += await countOf(connection, part);
    return pageOf(accounts, limit, total, ({ createdAt: at, id }) => ({ at, id }));
  };
}

const isNamed = (state: string, status: string | undefined) =>
  status === undefined || status === state;

/** The changes of a unit. */
export function accountWrites(connection: Connection): AccountWrites {
  const { db, t } = connection;
  const a = t.acmeAccounts;
  const insert = inserter(connection, a, "skip");
  const byKey = byKeyOf(connection);
  const end = endingOf(connection);
  const contactsOf = changer(connection, "update acme_accounts set contacts = %1 where id = %2");
  const idle = "idle_since is not null and status = 'valid'";
  const idleOf = changer(
    connection,
    `update acme_accounts set idle_since = %1 where id = %2 and ${idle}`,
  );
  return {
    addAccount: async (account) => {
      const { termsAgreedAt = null, eabId = null, idleSince = null } = account;
      const row = { ...account, termsAgreedAt, eabId, idleSince };
      if ((await insert(row)) === 1) return undefined;
      return await byKey(account.directory, account.thumbprint);
    },
    lockAccount: accountOf(connection),
    setContacts: async (id, contacts) => {
      await contactsOf([JSON.stringify(contacts), id]);
    },
    endAccount: async (id, status, at) => (await end([id], status, at)).length === 1,
    endAccountsOf: async (eab, limit, at) => {
      const bound = and(eq(a.eabId, eab), eq(a.status, "valid"));
      const rows = db.select({ id: a.id }).from(a).where(bound).orderBy(asc(a.id)).limit(limit);
      const ids = (await rows).map(({ id }) => id);
      return await end(ids, "revoked", at);
    },
    setIdle: async (id, since) => {
      await idleOf([since ?? null, id]);
    },
    pruneAccounts: pruningOf(connection),
    changeKey: changeKeyOf(connection),
    endRecords: endingRecords(connection),
  };
}

/** An account by its id; this and the next are asked by every request. */
function accountOf(connection: Connection): AcmeReads["account"] {
  const find = selector(connection, connection.t.acmeAccounts, "where id = %1");
  return async (id) => {
    const [row] = await find([id]);
    return row && accountFrom(row);
  };
}

function byKeyOf(connection: Connection): AcmeReads["accountByKey"] {
  const named = "where directory = %1 and thumbprint = %2";
  const find = selector(connection, connection.t.acmeAccounts, named);
  return async (directory, thumbprint) => {
    const [row] = await find([directory, thumbprint]);
    return row && accountFrom(row);
  };
}

function thumbprintsOf({ db, t }: Connection): AcmeReads["thumbprints"] {
  const { acmeAccounts: a, acmeAccountKeys: k, acmeRecordEnds: e } = t;
  return async (account, identifier) => {
    const own = await db.select({ thumbprint: a.thumbprint }).from(a).where(eq(a.id, account));
    const named = and(eq(e.account, account), eq(e.identifier, identifier));
    const [end] = await db.select({ number: e.number }).from(e).where(named);
    const earlier = await db
      .select({ thumbprint: k.thumbprint })
      .from(k)
      .where(and(eq(k.account, account), gt(k.number, end?.number ?? 0)))
      .orderBy(desc(k.number))
      .limit(thumbprintsMax - 1);
    return [...own, ...earlier].map(({ thumbprint }) => thumbprint);
  };
}

function isAccountKeyOf(connection: Connection): AcmeReads["isAccountKey"] {
  const [one, two] = [placeholder(connection, 1), placeholder(connection, 2)];
  const text = `select exists (select 1 from acme_accounts where spki_sha256 = ${one})
or exists (select 1 from acme_account_keys where spki_sha256 = ${two})`;
  return async (spkiSha256) => {
    const found = connection.row(text, [spkiSha256, spkiSha256]);
    const row = found instanceof Promise ? await found : found;
    return Boolean(row?.[0]);
  };
}

/** Ends those of the accounts that are valid, with what is theirs; gives which they were. */
function endingOf(connection: Connection) {
  const { db, t } = connection;
  const a = t.acmeAccounts;
  return async (
    ids: readonly string[],
    status: "deactivated" | "revoked",
    at: Instant,
  ): Promise<readonly string[]> => {
    if (ids.length === 0) return [];
    const valid = and(inTexts(connection, a.id, ids), eq(a.status, "valid"));
    const ends = { status, idleSince: at };
    const rows = await db.update(a).set(ends).where(valid).returning({ id: a.id });
    const ended = rows.map(({ id }) => id);
    if (ended.length === 0) return [];
    for (const id of ended) await endProofs(connection, id);
    await endWork(connection, ended);
    await endOrders(connection, ended);
    return ended;
  };
}

/** Oldest first; the index of idle accounts has no other in it. */
function pruningOf(connection: Connection): AcmeWrites["pruneAccounts"] {
  const { db, t } = connection;
  const { acmeAccounts: a, acmeAccountKeys: k, acmeRecordEnds: e } = t;
  const { acmeOrders: o, acmeAuthorizations: z } = t;
  // An authorization that an order names goes with that order.
  const unnamed = sql`not exists (select 1 from ${o} where ${o.account} = ${a.id})
and not exists (select 1 from ${z} where ${z.account} = ${a.id} and not ${z.ordered})`;
  return async (before, limit) => {
    const over = db
      .select({ id: a.id })
      .from(a)
      .where(and(sql`idle_since is not null`, lt(a.idleSince, before), unnamed));
    const ids = (await over.orderBy(asc(a.idleSince), asc(a.id)).limit(limit)).map(({ id }) => id);
    if (ids.length === 0) return 0;
    await db.delete(e).where(inTexts(connection, e.account, ids));
    await db.delete(k).where(inTexts(connection, k.account, ids));
    await db.delete(a).where(inTexts(connection, a.id, ids));
    return ids.length;
  };
}

async function endProofs(connection: Connection, account: string): Promise<void> {
  const z = connection.t.acmeAuthorizations;
  const open = and(isOpen, eq(z.account, account));
  for (;;) {
    const rows = connection.db.select({ id: z.id }).from(z).where(open).limit(rowsAtOnce);
    const ids = (await rows).map(({ id }) => id);
    const named = inTexts(connection, z.id, ids);
    await connection.db.update(z).set({ status: "deactivated" }).where(named);
    if (ids.length < rowsAtOnce) return;
    if (connection.dialect === "sqlite") await breath();
  }
}

async function endWork(connection: Connection, accounts: readonly string[]): Promise<void> {
  const { db, t } = connection;
  const c = t.acmeChallenges;
  // Literal, not a parameter: otherwise no planner may use the partial index.
  const theirs = and(sql`status = 'processing'`, inTexts(connection, c.account, accounts));
  const ids = (await db.select({ id: c.id }).from(c).where(theirs)).map(({ id }) => id);
  const rested = { status: "pending", nextAt: null, owner: null, leaseUntil: null };
  for (let at = 0; at < ids.length; at += rowsAtOnce) {
    const named = inTexts(connection, c.id, ids.slice(at, at + rowsAtOnce));
    await db.update(c).set(rested).where(named);
    if (connection.dialect === "sqlite") await breath();
  }
}

async function endOrders(connection: Connection, accounts: readonly string[]): Promise<void> {
  const { db, t } = connection;
  const o = t.acmeOrders;
  const open = and(isOpenOrder, inArray(o.status, ["pending", "ready"]));
  const theirs = and(open, inTexts(connection, o.account, accounts));
  const ids = (await db.select({ id: o.id }).from(o).where(theirs)).map(({ id }) => id);
  for (let at = 0; at < ids.length; at += rowsAtOnce) {
    const named = inTexts(connection, o.id, ids.slice(at, at + rowsAtOnce));
    await db.update(o).set({ status: "invalid" }).where(named);
    if (connection.dialect === "sqlite") await breath();
  }
}

function changeKeyOf(connection: Connection): AcmeWrites["changeKey"] {
  const { db, t } = connection;
  const { acmeAccounts: a, acmeAccountKeys: k } = t;
  return async (id, { thumbprint, jwk, spkiSha256 }) => {
    const [account] = await db.select().from(a).where(eq(a.id, id));
    if (account === undefined || account.thumbprint === thumbprint) return undefined;
    const having = and(eq(a.directory, account.directory), eq(a.thumbprint, thumbprint));
    const [other] = await db.select({ id: a.id }).from(a).where(having);
    if (other !== undefined) return other.id;
    // A key it had before may come back.
    await db.delete(k).where(and(eq(k.account, id), eq(k.thumbprint, thumbprint)));
    const last = sql<number | null>`max(${k.number})`;
    const [row] = await db.select({ last }).from(k).where(eq(k.account, id));
    const earlier = { thumbprint: account.thumbprint, spkiSha256: account.spkiSha256 };
    await db.insert(k).values({ account: id, ...earlier, number: Number(row?.last ?? 0) + 1 });
    await db.update(a).set({ thumbprint, jwk, spkiSha256 }).where(eq(a.id, id));
    return undefined;
  };
}

function endingRecords(connection: Connection): AcmeWrites["endRecords"] {
  const { db, t } = connection;
  const { acmeAccountKeys: k, acmeRecordEnds: e } = t;
  const insert = inserter(connection, e, [e.account, e.identifier]);
  return async (account, identifiers) => {
    const last = sql<number | null>`max(${k.number})`;
    const [row] = await db.select({ last }).from(k).where(eq(k.account, account));
    const number = Number(row?.last ?? 0);
    if (number === 0) return;
    for (const identifier of identifiers) await insert({ account, identifier, number });
  };
}

/** Only `accountWrites` fills the table, so its texts are the words the record's type names. */
export function accountFrom(row: Connection["t"]["acmeAccounts"]["$inferSelect"]): AccountRecord {
  const { termsAgreedAt, eabId, idleSince } = row;
  return {
    ...row,
    termsAgreedAt: termsAgreedAt ?? undefined,
    eabId: eabId ?? undefined,
    idleSince: idleSince ?? undefined,
  } as AccountRecord; // See above.
}

/** Of keys that change every week in twenty years. */
const thumbprintsMax = 1000;
