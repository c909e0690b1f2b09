/** Tests the copies of CRLs that are served while the database is unavailable. */

import { afterAll, beforeEach, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { openCrlFiles } from "#adapters/crl-files.ts";
import { decodePem } from "#core/asn1/pem.ts";
import { sha256Hex } from "#core/crypto.ts";
import { parseSerial } from "#core/ids.ts";
import { refuse } from "#core/problems.ts";
import { parseCrl } from "#core/x509/crl.ts";
import { CrlCopies } from "#domain/revocation/crl-copies.ts";
import { crlHandlers } from "#protocols/crl.ts";
import { rootOrigin, type SmallCa, smallCa } from "#test/support/worlds/small-ca.ts";

const dataDir = mkdtempSync(join(tmpdir(), "pkid-copies-"));
const folder = join(dataDir, "crl-copies");
afterAll(() => rmSync(dataDir, { recursive: true, force: true }));

let ca: SmallCa;
let copies: CrlCopies;
let isAvailable: boolean;
let handlers: ReturnType<typeof crlHandlers>;

beforeEach(async () => {
  ca = await smallCa({ crl: { shards: 3, base_url: "http://crl.example" } });
  copies = new CrlCopies({ ...ca, files: openCrlFiles(dataDir) });
  isAvailable = true;
  const findCa: typeof ca.store.read.cas.byId = async (id) => {
    if (!isAvailable) throw refuse("storage_unavailable", { retry_after: 2 });
    return await ca.store.read.cas.byId(id);
  };
  const store = {
    ...ca.store,
    read: { ...ca.store.read, cas: { ...ca.store.read.cas, byId: findCa } },
  };
  handlers = crlHandlers({ ...ca, store, crlCopies: copies, crl: { http_max_age_seconds: 0 } });
});

async function read(
  operation: keyof typeof handlers = "crl.read",
  { query = "", shard = undefined as string | undefined, headers = {}, id = `${ca.ca.id}` } = {},
): Promise<Response> {
  const request = new Request("http://pki.example/", { headers });
  const path = shard === undefined ? { id } : { id, shard };
  return await handlers[operation]({ request, path, query, ip: "192.0.2.1", requestId: "r" });
}

const readCode = (...input: Parameters<typeof read>) =>
  read(...input).then(
    () => "accepted",
    (error) => error.code,
  );

test("an unavailable database leaves every list served with the same bytes and validators", async () => {
  const operations: readonly Parameters<typeof read>[] = [
    ["crl.read", {}],
    ["crl.read", { query: "format=pem" }],
    ["crl.delta", {}],
    ["crl.partition", { shard: "2" }],
    ["crl.partition_delta", { shard: "2" }],
  ];
  const readAll = () =>
    Promise.all(
      operations.map(async (operation) => {
        const response = await read(...operation);
        return [Object.fromEntries(response.headers), sha256Hex(await response.bytes())];
      }),
    );
  // The first reads sign the lists.
  await readAll();
  const before = await readAll();
  await copies.refresh();
  isAvailable = false;
  expect(await readAll()).toEqual(before);
  const etag = (await read()).headers.get("etag") ?? "";
  expect((await read("crl.read", { headers: { "if-none-match": etag } })).status).toBe(304);
  expect(await readCode("crl.read", { id: "unknown" })).toBe("storage_unavailable");
  expect(await readCode("crl.partition", { shard: "1" })).toBe("storage_unavailable");
  expect(await readCode("crl.partition", { shard: "x" })).toBe("storage_unavailable");
});

test("an expired copy is not served, nor a delta without its base", async () => {
  await ca.publisher.publishAll(ca.ca, rootOrigin);
  await copies.refresh();
  isAvailable = false;
  ca.clock.advance(3600);
  expect(await readCode("crl.read")).toBe("accepted");
  expect(await readCode("crl.delta")).toBe("storage_unavailable");
  ca.clock.advance(168 * 3600);
  expect(await readCode("crl.read")).toBe("storage_unavailable");
});

test("a list that another replica published replaces its copy, and the earlier file is removed", async () => {
  await ca.publisher.publishAll(ca.ca, rootOrigin);
  await copies.refresh();
  const { length } = readdirSync(folder);
  ca.clock.advance(60);
  await ca.reopen().publisher.publishAll(ca.ca, rootOrigin);
  await copies.refresh();
  expect(readdirSync(folder)).toHaveLength(length);
  const { number } = await ca.publisher.current(ca.ca);
  isAvailable = false;
  expect(parseCrl(await (await read()).bytes()).number).toBe(number);
});

test("a copy is served instead of the older list of a database that lacks acknowledged changes", async () => {
  const publish = async () => {
    ca.clock.advance(60);
    await ca.publisher.publishAll(ca.ca, rootOrigin);
    return await ca.publisher.current(ca.ca);
  };
  const older = await publish();
  const newer = await publish();
  let rollback: ReturnType<typeof ca.store.rollback>;
  const store = { ...ca.store, rollback: () => rollback };
  const rolledBack = { ...ca, store };
  copies = new CrlCopies({ ...rolledBack, files: openCrlFiles(dataDir) });
  await copies.refresh();
  const publisher = {
    newest: async () => ({ base: older, delta: undefined }),
    current: async () => older,
    pieces: (...input: Parameters<typeof ca.publisher.pieces>) => ca.publisher.pieces(...input),
  };
  const crl = { http_max_age_seconds: 0 };
  handlers = crlHandlers({ ...rolledBack, publisher, crlCopies: copies, crl });
  const readNumber = async () => parseCrl(await (await read()).bytes()).number;
  expect(await readNumber()).toBe(older.number);
  rollback = {
    reason: "event 9 is missing",
    found: { event: 8, ledger: 1 },
    acknowledged: { event: 9, ledger: 1 },
  };
  await copies.refresh();
  expect(await readNumber()).toBe(newer.number);
});

test("a copy of several chunks is served whole, as a range and as PEM", async () => {
  await ca.store.atomically((tx) =>
    tx.revocations.putMany(
      ca.ca.id,
      Array.from({ length: 30_000 }, (_, n) => ({
        caId: ca.ca.id,
        serial: parseSerial(String(10n ** 30n + BigInt(n))),
        revokedAt: ca.clock.at,
        reason: "keyCompromise" as const,
        known: false,
        expiresAt: undefined,
      })),
    ),
  );
  const whole = await (await read()).bytes();
  expect(whole.length).toBeGreaterThan(1_048_576);
  await copies.refresh();
  isAvailable = false;
  expect(Buffer.from(await (await read()).bytes()).equals(whole)).toBe(true);
  const range = await read("crl.read", { headers: { range: "bytes=524280-1100000" } });
  expect(Buffer.from(await range.bytes()).equals(whole.slice(524_280, 1_100_001))).toBe(true);
  const pem = await (await read("crl.read", { query: "format=pem" })).text();
  expect(decodePem(pem, ["X509 CRL"])).toEqual(whole);
}, 20_000);

test("copies of an earlier process are removed at the start", () => {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "earlier"), "");
  openCrlFiles(dataDir);
  expect(() => readdirSync(folder)).toThrow("ENOENT");
});
