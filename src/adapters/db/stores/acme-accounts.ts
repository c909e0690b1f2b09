/** Accounts of ACME and their keys in the database. */

import { and, asc, desc, eq, sql } from "drizzle-orm";

import type { AccountRecord, AcmeReads, AcmeWrites } from "#domain/acme/store.ts";
import {
  breath,
  changer,
  counted,
  inserter,
  inTexts,
  olderThan,
  pageOf,
  placeholder,
  rowsAtOnce,
  selector,
  type Connection,
} from "#adapters/db/engine/connection.ts";

import { isOpen } from "./acme-authorizations.ts";
import { within } from "./cas.ts";

type AccountReads = Pick<
  AcmeReads,
  "account" | "accountByKey" | "thumbprints" | "isAccountKey" | "accounts" | "boundAccounts"
>;
type AccountWrites = Pick<
  AcmeWrites,
  "addAccount" | "lockAccount" | "setContacts" | "endAccount" | "endAccountsOf" | "changeKey"
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
    accounts: async ({ reach, status }, limit, after) => {
      const named = status === undefined ? undefined : eq(a.status, status);
      const among = and(within({ tenant: a.tenant }, reach), named);
      const rows = await db
        .select()
        .from(a)
        .where(and(among, olderThan(a.createdAt, a.id, after)))
        .orderBy(desc(a.createdAt), desc(a.id))
        .limit(limit + 1);
      const [sum] = await db.select({ total: counted }).from(a).where(among);
      const keyOf = ({ createdAt: at, id }: AccountRecord) => ({ at, id });
      return pageOf(rows.map(accountFrom), limit, sum?.total ?? 0, keyOf);
    },
    boundAccounts: async (eab) => {
      const bound = and(eq(a.eabId, eab), eq(a.status, "valid"));
      const [sum] = await db.select({ total: counted }).from(a).where(bound);
      return sum?.total ?? 0;
    },
  };
}

/** The changes of a unit. */
export function accountWrites(connection: Connection): AccountWrites {
  const { db, t } = connection;
  const a = t.acmeAccounts;
  const insert = inserter(connection, a, "skip");
  const byKey = byKeyOf(connection);
  const end = endingOf(connection);
  const contactsOf = changer(connection, "update acme_accounts set contacts = %1 where id = %2");
  return {
    addAccount: async (account) => {
      const { termsAgreedAt, eabId } = account;
      const row = { ...account, termsAgreedAt: termsAgreedAt ?? null, eabId: eabId ?? null };
      if ((await insert(row)) === 1) return undefined;
      return await byKey(account.directory, account.thumbprint);
    },
    lockAccount: accountOf(connection),
    setContacts: async (id, contacts) => {
      await contactsOf([JSON.stringify(contacts), id]);
    },
    endAccount: async (id, status) => (await end([id], status)).length === 1,
    endAccountsOf: async (eab, limit) => {
      const bound = and(eq(a.eabId, eab), eq(a.status, "valid"));
      const rows = db.select({ id: a.id }).from(a).where(bound).orderBy(asc(a.id)).limit(limit);
      const ids = (await rows).map(({ id }) => id);
      return await end(ids, "revoked");
    },
    changeKey: changeKeyOf(connection),
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
  const { acmeAccounts: a, acmeAccountKeys: k } = t;
  return async (account) => {
    const own = await db.select({ thumbprint: a.thumbprint }).from(a).where(eq(a.id, account));
    const earlier = await db
      .select({ thumbprint: k.thumbprint })
      .from(k)
      .where(eq(k.account, account))
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
  const { acmeAccounts: a, acmeChallenges: c } = t;
  return async (
    ids: readonly string[],
    status: "deactivated" | "revoked",
  ): Promise<readonly string[]> => {
    if (ids.length === 0) return [];
    const valid = and(inTexts(connection, a.id, ids), eq(a.status, "valid"));
    const rows = await db.update(a).set({ status }).where(valid).returning({ id: a.id });
    const ended = rows.map(({ id }) => id);
    if (ended.length === 0) return [];
    for (const id of ended) await endProofs(connection, id);
    await db
      .update(c)
      .set({ status: "pending", nextAt: null, owner: null, leaseUntil: null })
      // Literal, not a parameter: otherwise no planner may use the partial index.
      .where(and(sql`status = 'processing'`, inTexts(connection, c.account, ended)));
    await endOrders(connection, ended);
    return ended;
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

async function endOrders(connection: Connection, accounts: readonly string[]): Promise<void> {
  const { db, t } = connection;
  const o = t.acmeOrders;
  // Literal, as above.
  const open = sql`status <> 'valid' and status in ('pending', 'ready')`;
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

/** Only `accountWrites` fills the table, so its texts are the words the record's type names. */
export function accountFrom(row: Connection["t"]["acmeAccounts"]["$inferSelect"]): AccountRecord {
  const { termsAgreedAt, eabId } = row;
  return {
    ...row,
    termsAgreedAt: termsAgreedAt ?? undefined,
    eabId: eabId ?? undefined,
  } as AccountRecord; // See above.
}

const thumbprintsMax = 20;
