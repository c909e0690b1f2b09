/** Rows that the store remembers: never an answer from before an acknowledged change. */

import { beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";

import { caId, type TenantId, tenantId } from "#core/ids.ts";
import type { GrantRecord } from "#domain/access/store.ts";
import type { BlockedKeyRecord } from "#domain/key-checks/store.ts";
import type { Store } from "#domain/store.ts";
import { unlimited } from "#domain/tenants/store.ts";
import { type SharedPostgres, sharePostgres } from "#test/support/servers/postgres.ts";
import { type DatabaseUnderTest, postgresDatabase } from "#test/support/stores/stores.ts";
import { sqliteDatabase } from "#test/support/stores/stores.ts";
import * as make from "#test/support/stores/records.ts";

setDefaultTimeout(60_000);
let server: SharedPostgres;
beforeAll(async () => {
  server = await sharePostgres();
});

/** A database and two stores over it; on SQLite, which one process has, the same one twice. */
interface Opened {
  readonly database: DatabaseUnderTest;
  readonly a: Store;
  readonly b: Store;
}

async function onPostgres(): Promise<Opened> {
  const database = await postgresDatabase(server);
  return { database, a: await database.open(), b: await database.open() };
}

async function onSqlite(): Promise<Opened> {
  const database = sqliteDatabase();
  const only = await database.open();
  return { database, a: only, b: only };
}

const closeAll = (opened: Opened) =>
  Promise.all([...new Set([opened.a, opened.b])].map((store) => store.close()));

describe.each([
  ["SQLite", onSqlite],
  ["two replicas on PostgreSQL", onPostgres],
] as const)("on %s", (_name, open) => {
  test("a change that is acknowledged is in the very next answer, read or found by a unit", async () => {
    const opened = await open();
    for (const [a, b] of [
      [opened.a, opened.b],
      [opened.b, opened.a],
    ] as const) {
      for (const { change, undo, look } of changes()) {
        const facts = await prepared(a);
        for (const replica of [a, b]) expect(await look(replica, facts)).toBe("before");
        await change(a, facts);
        for (const replica of [b, a]) expect(await look(replica, facts)).toBe("after");
        if (undo === undefined) continue;
        await undo(b, facts);
        for (const replica of [a, b]) expect(await look(replica, facts)).toBe("before");
      }
    }
    await closeAll(opened);
  });

  test("whoever asks after a change was acknowledged sees it or a later one, however many ask and change", async () => {
    const opened = await open();
    const { tenant } = await prepared(opened.a);
    const number = async (store: Store, n: number) => {
      const read = await store.read.tenants.named(tenant);
      const found = await store.atomically((tx) => tx.tenants.state(tenant));
      return n % 2 === 0 ? read?.quotas.maxCertsPerDay : found?.maxCertsPerDay;
    };
    let acknowledged = 0;
    let writing = true;
    const readers = Array.from({ length: 16 }, async (_, at) => {
      for (let n = at; writing; n += 2) {
        const begun = acknowledged;
        expect(await number(n % 3 === 0 ? opened.a : opened.b, at)).toBeGreaterThanOrEqual(begun);
      }
    });
    for (let n = 1; n <= 100; n++) {
      await setQuota(n % 2 === 0 ? opened.a : opened.b, tenant, n);
      acknowledged = n;
    }
    writing = false;
    await Promise.all(readers);
    await closeAll(opened);
  });

  test("a unit sees what it and its neighbours have changed, and nothing of what was undone", async () => {
    const opened = await open();
    const { a } = opened;
    const { tenant } = await prepared(a);
    const state = () => a.atomically((tx) => tx.tenants.state(tenant));
    expect(await state()).toMatchObject({ status: "active" });
    const failing = a.atomically(async (tx) => {
      await tx.tenants.update({ ...make.tenant(tenant), status: "suspended" });
      expect(await tx.tenants.state(tenant)).toMatchObject({ status: "suspended" });
      throw new Error("no");
    });
    // All of them share a batch.
    const [failed, meanwhile] = await Promise.all([failing.catch(String), state()]);
    expect(failed).toBe("Error: no");
    expect(meanwhile).toMatchObject({ status: "active" });
    const suspending = a.atomically((tx) =>
      tx.tenants.update({ ...make.tenant(tenant), status: "suspended" }),
    );
    const [, neighbour] = await Promise.all([suspending, state()]);
    expect(neighbour).toMatchObject({ status: "suspended" });
    expect(await state()).toMatchObject({ status: "suspended" });
    await closeAll(opened);
  });

  test("a key is found blocked or own among few marked keys and among many", async () => {
    const opened = await open();
    const { a, b } = opened;
    const { tenant } = await prepared(a);
    const own = "cc".repeat(32);
    const digests = Array.from({ length: 1100 }, (_, n) => n.toString(16).padStart(64, "0"));
    for (const some of [digests.slice(0, 10), digests.slice(10)]) {
      const rows = some.map((spkiSha256) => blocked({ spkiSha256, tenant }));
      await a.atomically((tx) => tx.keyChecks.blockMany(rows));
      await a.atomically((tx) => tx.keyChecks.claim(own));
      const status = (spkiSha256: string, whose: TenantId) =>
        b.read.keyChecks.keyStatus({ spkiSha256, tenant: whose, duplicate: undefined });
      const none = { blocked: false, own: false, duplicate: false };
      const last = some.at(-1) ?? "";
      expect(await status(last, tenant)).toEqual({ ...none, blocked: true });
      expect(await status(last, tenantId("another"))).toEqual(none);
      expect(await status(own, tenant)).toEqual({ ...none, own: true });
      expect(await status("dd".repeat(32), tenant)).toEqual(none);
    }
    await closeAll(opened);
  });
});

test("what is changed by hand is in the next answer of every replica", async () => {
  const opened = await onPostgres();
  const { database, a, b } = opened;
  const { tenant } = await prepared(a);
  for (const replica of [a, b]) {
    expect(await replica.read.tenants.named(tenant)).toMatchObject({ status: "active" });
    await replica.atomically((tx) => tx.tenants.state(tenant));
  }
  await database.tamper(`update tenants set status = 'suspended' where id = '${tenant}'`);
  for (const replica of [a, b]) {
    expect(await replica.read.tenants.named(tenant)).toMatchObject({ status: "suspended" });
    const found = await replica.atomically((tx) => tx.tenants.state(tenant));
    expect(found).toMatchObject({ status: "suspended" });
  }
  await closeAll(opened);
});

test("the version moves with every table of which rows are remembered, and not with the use of a token", async () => {
  const opened = await onPostgres();
  const { database } = opened;
  await prepared(opened.a);
  const version = async () => {
    const [row] = await database.query("select rows_version from heads");
    return Number((row as { rows_version: string }).rows_version);
  };
  const moves = async (text: string) => {
    const before = await version();
    await database.tamper(text);
    return (await version()) > before;
  };
  for (const text of [
    "update cas set status = status",
    "update tenants set name = name",
    "update api_tokens set revoked_by = 'x'",
    "update api_tokens set revoked_by = 'y', last_used_at = 7",
    "delete from grants",
    "delete from blocked_keys",
    "insert into own_keys values ('aa')",
    "delete from own_keys",
    "delete from api_tokens",
  ]) {
    expect([text, await moves(text)]).toEqual([text, true]);
  }
  await opened.a.atomically((tx) => tx.access.insertApiToken(make.token()));
  expect(await moves("update api_tokens set last_used_at = 8, last_used_ip = 'z'")).toBe(false);
  expect(await moves("delete from presigned")).toBe(false);
  await closeAll(opened);
});

test("a use of a token is in its next answer, on the replica that wrote it down", async () => {
  const opened = await onPostgres();
  const { hash, token } = await prepared(opened.a);
  const lastUsed = async () => (await opened.a.read.access.apiTokenByHash(hash))?.lastUsedAt;
  expect(await lastUsed()).toBeUndefined();
  await opened.a.atomically((tx) => tx.access.touchApiToken(token, make.noon, "192.0.2.1"));
  expect(await lastUsed()).toBe(make.noon);
  await closeAll(opened);
});

/** Rows of their own, and what of them is looked at. */
interface Facts {
  readonly tenant: TenantId;
  readonly ca: ReturnType<typeof caId>;
  readonly token: string;
  readonly hash: string;
  readonly blocked: BlockedKeyRecord;
  readonly grant: GrantRecord;
}

async function prepared(store: Store): Promise<Facts> {
  const name = crypto.randomUUID();
  const [tenant, ca, hash] = [tenantId(`t-${name}`), caId(name), `hash ${name}`];
  await store.atomically(async (tx) => {
    await tx.tenants.insert(make.tenant(tenant));
    await tx.cas.insert(make.ca({ id: ca, tenant }));
    await tx.access.insertApiToken(make.token({ id: name, tokenHash: hash }));
  });
  const grant: GrantRecord = {
    grantId: name,
    ca,
    lineage: ca,
    tenant,
    type: "user",
    id: `user ${name}`,
    role: "ca-issuer",
    scope: "self",
    createdBy: "root",
    createdAt: make.noon,
  };
  return { tenant, ca, token: name, hash, blocked: blocked({ id: name, tenant }), grant };
}

const blocked = (facts: Partial<BlockedKeyRecord>): BlockedKeyRecord => ({
  id: crypto.randomUUID(),
  tenant: undefined,
  spkiSha256: `${crypto.randomUUID()}${crypto.randomUUID()}`.replaceAll("-", ""),
  reason: "leaked",
  source: "api",
  createdBy: "root",
  createdAt: make.noon,
  ...facts,
});

const setQuota = (store: Store, tenant: TenantId, maxCertsPerDay: number) =>
  store.atomically((tx) =>
    tx.tenants.update(make.tenant(tenant, { quotas: { ...unlimited, maxCertsPerDay } })),
  );

interface Change {
  readonly change: (store: Store, facts: Facts) => Promise<unknown>;
  readonly undo?: (store: Store, facts: Facts) => Promise<unknown>;
  readonly look: (store: Store, facts: Facts) => Promise<"before" | "after">;
}

const said = (after: boolean) => (after ? "after" : "before");

/** Everything that is remembered, each changed and looked at as callers do. */
function changes(): readonly Change[] {
  const suspended =
    (status: "active" | "suspended") =>
    (store: Store, { tenant }: Facts) =>
      store.atomically((tx) => tx.tenants.update(make.tenant(tenant, { status })));
  const supersede: Change["change"] = (store, { ca }) =>
    store.atomically((tx) => tx.cas.supersede(ca, caId("next"), undefined));
  return [
    {
      change: (store, { token }) =>
        store.atomically((tx) => tx.access.revokeApiToken(token, make.noon, "root")),
      look: async ({ read }, { hash }) =>
        said((await read.access.apiTokenByHash(hash))?.revokedAt !== undefined),
    },
    {
      change: suspended("suspended"),
      undo: suspended("active"),
      look: async ({ read }, { tenant }) =>
        said((await read.tenants.named(tenant))?.status === "suspended"),
    },
    {
      change: suspended("suspended"),
      undo: suspended("active"),
      look: async (store, { tenant }) =>
        said((await store.atomically((tx) => tx.tenants.state(tenant)))?.status === "suspended"),
    },
    {
      change: supersede,
      look: async ({ read }, { ca }) => said((await read.cas.byId(ca))?.status === "superseded"),
    },
    {
      change: supersede,
      look: async (store, { ca }) =>
        said((await store.atomically((tx) => tx.cas.status(ca))) === "superseded"),
    },
    {
      change: (store, { ca }) => store.atomically((tx) => tx.cas.insert(make.ca({ lineage: ca }))),
      look: async ({ read }, { ca }) => said((await read.cas.lineage(ca)).length === 2),
    },
    ...grantsAndKeys(),
  ];
}

function grantsAndKeys(): readonly Change[] {
  return [
    {
      change: (store, { grant }) => store.atomically((tx) => tx.access.grant(grant)),
      undo: (store, { grant }) => store.atomically((tx) => tx.access.revokeGrant(grant)),
      look: async ({ read }, { grant: { type, id } }) =>
        said((await read.access.grantsTo([{ type, id }])).length === 1),
    },
    {
      change: (store, { blocked: row }) => store.atomically((tx) => tx.keyChecks.block(row)),
      undo: (store, { blocked: row }) => store.atomically((tx) => tx.keyChecks.unblock(row.id)),
      look: async ({ read }, { blocked: { spkiSha256 }, tenant }) => {
        const question = { spkiSha256, tenant, duplicate: undefined };
        return said((await read.keyChecks.keyStatus(question)).blocked);
      },
    },
    {
      change: (store, { blocked: row }) =>
        make.issue(store, make.certificate({ kind: "ca", spkiSha256: row.spkiSha256 })),
      look: async ({ read }, { blocked: { spkiSha256 }, tenant }) => {
        const question = { spkiSha256, tenant, duplicate: undefined };
        return said((await read.keyChecks.keyStatus(question)).own);
      },
    },
  ];
}
