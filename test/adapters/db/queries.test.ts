/**
 * What each request asks the database, query by query, once what is remembered has been read: a
 * query that comes to a hot path shows here.
 */

import { beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";

import { openStore } from "#adapters/db/open.ts";
import { systemClock, systemRandom } from "#adapters/system.ts";
import { parseSerial, type Serial, tenantId } from "#core/ids.ts";
import { encodeOcspRequest } from "#core/x509/ocsp.ts";
import { parseOcspResponse } from "#core/x509/ocsp-responses.ts";
import { issuerOf } from "#domain/revocation/issuers.ts";
import type { Store } from "#domain/store.ts";
import type { MemoryStore } from "#test/support/stores/memory-store.ts";
import { type SharedPostgres, sharePostgres } from "#test/support/servers/postgres.ts";
import { openWire } from "#test/support/servers/postgres-wire.ts";
import { postgresDatabase, postgresLimits, sqliteDatabase } from "#test/support/stores/stores.ts";
import { heardStatements } from "#test/support/stores/statements.ts";
import { governedWorld, type Json, somebody } from "#test/support/worlds/governed-world.ts";
import { csr, rootOrigin } from "#test/support/worlds/issuance.ts";
import { smallCaOn } from "#test/support/worlds/small-ca.ts";

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
  // Whether its serial is free; on PostgreSQL its open row too, both together with the head row.
  issue: { versions: 3, tables: ["certificates", "open_intents"] },
  renew: { versions: 3, tables: ["certificates", "certificates", "open_intents"] },
  // First the CA of the lineage that has signed the serial is looked up (ROL-3).
  revoke: { versions: 2, tables: ["certificates", "certificates", "revocations"] },
  show: { versions: 2, tables: ["certificates", "certificates"] },
  // Of a kept answer serial and responder are looked up once after each revocation.
  "OCSP, kept since before a revocation": { versions: 1, tables: ["certificates", "certificates"] },
  "OCSP, kept": { versions: 1, tables: [] },
  "OCSP, fresh, after a revocation": { versions: 1, tables: ["certificates"] },
  "OCSP, fresh": { versions: 1, tables: [] },
  "OCSP of a serial not asked before": { versions: 1, tables: ["certificates"] },
  CRL: { versions: 1, tables: ["crl_heads"] },
};

let server: SharedPostgres;
beforeAll(async () => {
  server = await sharePostgres();
});

describe.each([
  ["sqlite", watchedSqlite],
  ["postgres", watchedPostgres],
] as const)("on %s", (dialect, open) => {
  test("each request asks what the table says, and PostgreSQL parses none of it again", async () => {
    const watched = await open();
    const world = {
      ...(await requestsOf(watched.store)),
      ...(await statusOf(watched.store)),
    };
    // The first of each has everything read that is remembered, or changes some of it: the first
    // use of a token is written down, and the first answer of OCSP has a responder made.
    for (const _ of [1, 2]) for (const request of Object.values(world)) await request();
    for (const [name, request] of Object.entries(world)) {
      const { versions, tables } = asked[name] ?? { versions: 0, tables: [] };
      const [from, parsedFrom] = [watched.sent.length, watched.parsed.length];
      await request();
      const queried = watched.sent.slice(from).flatMap(tableOf);
      const rows = queried.filter((table) => table !== "heads");
      // On SQLite nobody else writes, so what is open is known to whom opened it.
      const known = dialect === "sqlite" ? ["open_intents"] : [];
      expect([name, rows]).toEqual([name, tables.filter((table) => !known.includes(table))]);
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

async function statusOf(store: Store): Promise<Readonly<Record<string, () => Promise<unknown>>>> {
  const small = await smallCaOn(store);
  const { ca, ocsp, publisher } = small;
  const serials = [1, 2, 3, 4].map((n) => parseSerial(String(7919 * n)));
  for (const serial of serials) await small.issue({ serial });
  const issuer = {
    issuerName: issuerOf(ca).subject.der,
    issuerSpki: ca.spki,
    hash: "sha1",
  } as const;
  const ask = async (serial: Serial | undefined, nonce?: Uint8Array) => {
    if (serial === undefined) throw new Error("there is no serial left");
    const question = encodeOcspRequest({ ...issuer, serial, nonce });
    const { der } = await ocsp.answer(ca.id, question);
    expect(parseOcspResponse(der).basic?.answers[0]?.status.status).toBe("good");
  };
  const [first, ...rest] = serials;
  const nonce = () => crypto.getRandomValues(new Uint8Array(16));
  return {
    "OCSP, kept since before a revocation": () => ask(first),
    "OCSP, kept": () => ask(first),
    "OCSP, fresh, after a revocation": () => ask(first, nonce()),
    "OCSP, fresh": () => ask(first, nonce()),
    "OCSP of a serial not asked before": () => ask(rest.pop()),
    CRL: async () => {
      const known = await store.read.cas.byId(ca.id);
      if (known === undefined) throw new Error("the CA is stored");
      await publisher.current(known);
    },
  };
}

async function watchedSqlite(): Promise<Watched> {
  const { sent, deaf } = heardStatements();
  const store = await sqliteDatabase().open();
  const close = async () => {
    await store.close();
    deaf();
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
 * The first table of a query. The lock of the head row begins a batch, events are read for the feed
 * and rows folded when it is time, whoever asks.
 */
function tableOf(text: string): readonly string[] {
  if (!text.startsWith("select") || text.includes("for update")) return [];
  const [, table = ""] = /\b(?:from|join)\s+"?(?!json_)(\w+)/.exec(text) ?? [];
  // Each second the heartbeat reads the server and the last event.
  if (table.startsWith("pg_") || text.includes("event_seq")) return [];
  return ["", "events", "folds"].includes(table) ? [] : [table];
}
