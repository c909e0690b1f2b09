/**
 * What each request asks the database, query by query, once what is remembered has been read: a
 * query that comes to a hot path shows here.
 */

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, spyOn, test } from "bun:test";

import { SqliteConnection } from "#adapters/db/engine/sqlite-connection.ts";
import { openStore } from "#adapters/db/open.ts";
import { systemClock, systemRandom } from "#adapters/system.ts";
import { tenantId } from "#core/ids.ts";
import type { Store } from "#domain/store.ts";
import type { MemoryStore } from "#test/support/memory/store.ts";
import { type PostgresServer, startPostgres } from "#test/support/servers/postgres.ts";
import { openWire } from "#test/support/servers/postgres-wire.ts";
import { postgresDatabase, postgresLimits, sqliteDatabase } from "#test/support/stores/stores.ts";
import { governedWorld, type Json, somebody } from "#test/support/worlds/governed-world.ts";
import { csr, rootOrigin } from "#test/support/worlds/issuance.ts";

setDefaultTimeout(60_000);

/** One store, and the queries it has sent. */
interface Watched {
  readonly store: Store;
  readonly sent: readonly string[];
  /** Those among them that a server was given to parse. */
  readonly parsed: readonly string[];
  close(): Promise<void>;
}

/**
 * The tables asked, in order, and how often PostgreSQL is asked which version of the remembered
 * rows is the committed one.
 */
const asked: Readonly<Record<string, { readonly versions: number; readonly tables: string[] }>> = {
  authenticate: { versions: 1, tables: [] },
  // Whether its serial is free, and its open row; on PostgreSQL both together with the head row.
  issue: { versions: 3, tables: ["certificates", "open_intents"] },
  renew: { versions: 4, tables: ["certificates", "certificates", "open_intents"] },
  revoke: { versions: 2, tables: ["certificates", "revocations"] },
  show: { versions: 2, tables: ["certificates", "certificates"] },
};

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.stop());

describe.each([
  ["sqlite", watchedSqlite],
  ["postgres", watchedPostgres],
] as const)("on %s", (dialect, open) => {
  test("each request asks what the table says, and PostgreSQL parses none of it again", async () => {
    const watched = await open();
    const world = await requestsOf(watched.store);
    // The first of each has everything read that is remembered; the first use of a token is
    // written down, after which it is read anew.
    for (const request of Object.values(world)) for (const _ of [1, 2]) await request();
    for (const [name, request] of Object.entries(world)) {
      const { versions, tables } = asked[name] ?? { versions: 0, tables: [] };
      const [from, parsedFrom] = [watched.sent.length, watched.parsed.length];
      await request();
      const queried = watched.sent.slice(from).flatMap(tableOf);
      const rows = queried.filter((table) => table !== "heads");
      expect([name, rows]).toEqual([name, tables]);
      const questions = queried.length - rows.length;
      expect([name, questions]).toEqual([name, dialect === "postgres" ? versions : 0]);
      expect(watched.parsed.slice(parsedFrom).flatMap(tableOf)).toEqual([]);
    }
    await watched.close();
  });
});

test("64 requests at a time share one question or two for the version", async () => {
  const { store, sent, close } = await watchedPostgres();
  const { authenticate } = await requestsOf(store);
  for (const _ of [1, 2]) await authenticate?.();
  const from = sent.length;
  await Promise.all(Array.from({ length: 64 }, () => authenticate?.()));
  expect(sent.slice(from).flatMap(tableOf)).toEqual(["heads", "heads"]);
  await close();
});

async function requestsOf(store: Store): Promise<Readonly<Record<string, () => Promise<unknown>>>> {
  // The world takes any store whose state no test of its looks at.
  const world = await governedWorld({ store: store as MemoryStore });
  const { id } = await world.ca("web-issuing");
  const { secret } = await world.apiTokens.create(rootOrigin, {
    name: "device",
    description: "",
    roles: ["issuer"],
    scope: "tenant",
    tenant: tenantId("web"),
    expiresAt: undefined,
  });
  const issuer = somebody("issuer", { web: ["issuer"] });
  const body = { csr: csr(), profile: "server" };
  const path = { id };
  const issue = async (): Promise<Json> => await world.ask("cert.issue", issuer, { path, body });
  const { serial } = await issue();
  const revoke = async () => {
    const { serial: last } = await issue();
    return () => world.ask("cert.revoke", issuer, { path, body: { serial: last } });
  };
  const revokes = [await revoke(), await revoke(), await revoke()];
  return {
    authenticate: () => world.apiTokens.verify(secret, "192.0.2.1"),
    issue,
    renew: () => world.ask("cert.renew", issuer, { path, body: { serial } }),
    revoke: async () => await revokes.pop()?.(),
    show: () => world.ask("cert.show", issuer, { path: { id, serial } }),
  };
}

async function watchedSqlite(): Promise<Watched> {
  const sent: string[] = [];
  const compiled = SqliteConnection.prototype.compiled;
  const watch = spyOn(SqliteConnection.prototype, "compiled").mockImplementation(function (
    this: SqliteConnection,
    text,
  ) {
    sent.push(text);
    return compiled.call(this, text);
  });
  const store = await sqliteDatabase().open();
  const close = async () => {
    await store.close();
    watch.mockRestore();
  };
  return { store, sent, parsed: [], close };
}

async function watchedPostgres(): Promise<Watched> {
  const { target } = await postgresDatabase(server);
  const address = new URL(target);
  const wire = await openWire(Number(address.port));
  address.port = String(wire.port);
  const dsn = String(address);
  const options = { driver: "postgres", dsn, ...postgresLimits, migrate: true } as const;
  const store = await openStore(options, { clock: systemClock, random: systemRandom });
  const close = async () => {
    await store.close();
    wire.close();
  };
  return { store, sent: wire.executed, parsed: wire.parsed, close };
}

/**
 * The first table of a query. The lock of the head row begins a batch, and events are read for the
 * feed, whoever asks.
 */
function tableOf(text: string): readonly string[] {
  if (!text.startsWith("select") || text.includes("for update")) return [];
  const [, table = ""] = /\bfrom "?(\w+)/.exec(text) ?? [];
  return table === "" || table === "events" ? [] : [table];
}
