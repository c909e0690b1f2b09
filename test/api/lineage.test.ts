/** Every operation that takes a CA and a serial finds the serial in the whole lineage (ROL-3). */

import { beforeEach, describe, expect, test } from "bun:test";

import { auditHandlers } from "#api/audit.ts";
import { bulkRevocationHandlers } from "#api/bulk-revocations.ts";
import { certificateHandlers } from "#api/certificates.ts";
import { issuanceHandlers } from "#api/issuance.ts";
import { pinningHandlers } from "#api/pinning.ts";
import { revocationHandlers } from "#api/revocations.ts";
import { transparencyHandlers } from "#api/transparency.ts";
import { type CaId, parseSerial, type Serial } from "#core/ids.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import type { CertificateRecord } from "#domain/certificates/store.ts";
import type { InclusionRecord } from "#domain/transparency/store.ts";
import { namesIn, operationOf, type OperationName, routeOf } from "#operations";
import { noon } from "#test/support/stores/records.ts";
import { openPipeline } from "#test/support/worlds/asking.ts";
import { describedCatalog } from "#test/support/worlds/described-catalog.ts";
import { admin, asker, type Json, refusal } from "#test/support/worlds/governed-world.ts";
import { leafRequest, rootOrigin } from "#test/support/worlds/issuance.ts";
import { rolloverWorld, sameAgain } from "#test/support/worlds/rollover.ts";

let world: Awaited<ReturnType<typeof rolloverWorld>>;
let call: ReturnType<typeof asker>;
let old: CaRecord;
let successor: CaRecord;
let ofOld: CertificateRecord;
let ofSuccessor: CertificateRecord;

beforeEach(async () => {
  world = await rolloverWorld();
  ofOld = await issue();
  ({ old, successor } = await world.authorities.rotate(rootOrigin, world.issuing, sameAgain));
  ofSuccessor = await issue();
  call = asker(openPipeline(world), {
    ...revocationHandlers(world),
    ...certificateHandlers(world),
    ...issuanceHandlers(world),
    ...bulkRevocationHandlers(world),
    ...pinningHandlers(world),
    ...auditHandlers({ ...world, lines: {} as never }), // Only an export uses it.
    ...transparencyHandlers({ ...world, monitor: { run: async () => ({}) as never } }), // As above.
  });
});

const issue = async () =>
  (await world.issuance.issue(rootOrigin, world.issuing, leafRequest())).record;
const loadStatus = async ({ caId, serial }: CertificateRecord) =>
  (await world.store.read.certificates.bySerial(caId, serial))?.status;
const loadEntry = (ca: CaRecord, serial: Serial) =>
  world.store.read.revocations.bySerial(ca.id, serial);

const createInclusion = (ca: CaId, serial: Serial): InclusionRecord => ({
  id: crypto.randomUUID(),
  caId: ca,
  tenant: old.tenant,
  serial,
  logId: "l",
  logName: "log",
  sctTimestamp: noon,
  leafHash: "cd".repeat(32),
  sctLeafIndex: undefined,
  status: "pending",
  dueAt: noon,
  treeSize: undefined,
  leafIndex: undefined,
  checks: 0,
  lastError: "",
  firstCheckedAt: undefined,
  lastCheckedAt: undefined,
  includedAt: undefined,
  alerted: false,
});

/** A call that names one CA of the lineage and a certificate of another. */
type Case = (named: CaRecord, certificate: CertificateRecord) => Promise<unknown>;

const suspend = async (named: CaRecord, { serial }: CertificateRecord): Promise<Json> =>
  await call("cert.suspend", admin, { path: { id: named.id, serial } });

const cases: Partial<Record<OperationName, Case>> = {
  "cert.show": async (named, { caId, serial }) => {
    const shown = await call("cert.show", admin, { path: { id: named.id, serial } });
    expect(shown).toMatchObject({ ca_id: caId, serial, superseded: false });
  },
  "cert.renew": async (named, { serial, commonName }) => {
    const renewed = await call("cert.renew", admin, { path: { id: named.id }, body: { serial } });
    const stored = await world.store.read.certificates.bySerial(successor.id, renewed.serial);
    expect([renewed.ca_id, stored?.commonName]).toEqual([successor.id, commonName]);
  },
  "dns.tlsa": async (named, { serial, caId }) => {
    const query = { host: "a.example", serial };
    const expected = await call("dns.tlsa", admin, { path: { id: caId }, query });
    expect(await call("dns.tlsa", admin, { path: { id: named.id }, query })).toEqual(expected);
    expect(expected.tlsa).toHaveLength(12);
  },
  "cert.revoke": async (named, certificate) => {
    const { caId, serial } = certificate;
    const body = { serial, reason: "keyCompromise" };
    const done = await call("cert.revoke", admin, { path: { id: named.id }, body });
    expect(done).toMatchObject({ ca_id: caId, serial });
    expect(await loadStatus(certificate)).toBe("revoked");
    expect(await loadEntry(named, serial)).toBeUndefined();
    const event = world.store.listEvents().findLast(({ action }) => action === "cert.revoke");
    expect(event).toMatchObject({ target: caId, caId, serial });
    expect(event?.detail).not.toContain("known=false");
    const again = await call("cert.revoke", admin, { path: { id: named.id }, body });
    expect(again).toMatchObject({ ca_id: caId, status: "already-revoked" });
  },
  "cert.suspend": async (named, certificate) => {
    const { caId, serial } = certificate;
    expect(await suspend(named, certificate)).toMatchObject({ ca_id: caId, serial });
    expect(await loadStatus(certificate)).toBe("held");
  },
  "cert.release": async (named, certificate) => {
    const { caId, serial } = certificate;
    await suspend(named, certificate);
    const done = await call("cert.release", admin, { path: { id: named.id, serial } });
    expect(done).toMatchObject({ ca_id: caId, status: "released" });
    expect(await loadStatus(certificate)).toBe("good");
  },
  "cert.revoke_bulk": async (named, certificate) => {
    const { caId, serial } = certificate;
    const order = { filter: { serials: [serial] }, confirm_count: 1 };
    const path = { id: named.id };
    const plan = await call("cert.revoke_bulk", admin, { path, body: { ...order, dry_run: true } });
    expect(plan).toMatchObject({ total: 1, known: 1, unknown: 0 });
    expect(plan.sample).toMatchObject([{ ca_id: caId, serial, known: true }]);
    const done = await call("cert.revoke_bulk", admin, { path, body: order });
    expect(done).toMatchObject({ revoked: 1, crl_scopes: ["full"] });
    expect(await loadStatus(certificate)).toBe("revoked");
    expect(await loadEntry(named, serial)).toBeUndefined();
  },
  "event.list": async (named, { caId, serial }) => {
    const list = await call("event.list", admin, { query: { ca: named.id, serial } });
    expect(list.items).toMatchObject([{ action: "cert.issue", ca_id: caId, serial }]);
  },
  "ct.inclusion": async (named, { caId, serial }) => {
    await world.store.atomically((tx) => tx.transparency.expect(createInclusion(caId, serial)));
    const list = await call("ct.inclusion", admin, { query: { ca: named.id, serial } });
    expect(list.items).toMatchObject([{ ca_id: caId, serial }]);
  },
};

/** Operations with a case in another file, or whose serials always concern the named key. */
const others: Partial<Record<OperationName, string>> = {
  "acme.replace.plan": "test/domain/acme/replacements.test.ts",
  "cert.import": "adopts certificates and entries of the key of the named CA",
  "import.check": "names no CA: the import has not created it yet",
};

test("every operation with a CA and a serial has a case", () => {
  const takesSerial: string[] = [];
  for (const [name, entry] of describedCatalog().entries) {
    if (entry.kind !== "mounted") continue;
    const { members: fields } = entry.mounted;
    const schemas = Object.entries(fields).map(([field, { schema }]) => [field, schema]);
    const text = JSON.stringify(Object.fromEntries(schemas));
    const inPath = namesIn(routeOf(name).path).includes("serial");
    const takesCa = operationOf(name).on === "ca" || "ca" in fields;
    if (takesCa && (inPath || /"serials?":/.test(text))) takesSerial.push(name);
  }
  const tested = [...Object.keys(cases), ...Object.keys(others)];
  expect(takesSerial.filter((name) => !tested.includes(name))).toEqual([]);
  expect(Object.keys(cases).filter((name) => !takesSerial.includes(name))).toEqual([]);
});

describe.each(Object.entries(cases))("%s", (_name, act) => {
  test("the old CA leads to a certificate of its successor", async () => {
    await act(old, ofSuccessor);
  });

  test("the successor leads to a certificate of the old CA", async () => {
    await act(successor, ofOld);
  });
});

test("a bulk selection covers every CA of the lineage", async () => {
  for (let more = 0; more < 3; more++) await issue();
  for (const { id } of [old, successor]) {
    const body = { all: true, dry_run: true };
    const plan = await call("cert.revoke_bulk", admin, { path: { id }, body });
    expect(plan).toMatchObject({ total: 5, known: 5 });
  }
  const body = { filter: { profile: "server" }, confirm_count: 5, batch_size: 2 };
  const done = await call("cert.revoke_bulk", admin, { path: { id: old.id }, body });
  expect(done).toMatchObject({ planned: 5, revoked: 5, batches: 3 });
  for (const certificate of [ofOld, ofSuccessor]) {
    expect(await loadStatus(certificate)).toBe("revoked");
    const issuer = certificate.caId === old.id ? old : successor;
    const head = await world.publisher.newest(issuer.id, "full");
    const entry = await loadEntry(issuer, certificate.serial);
    expect(head.base?.sequence).toBeGreaterThanOrEqual(entry?.sequence ?? Number.NaN);
    const response = await world.askOcsp(issuer, certificate.serial);
    expect(response.answers[0]?.status).toMatchObject({ status: "revoked" });
  }
});

test("a serial without issuer is listed by the named CA", async () => {
  for (const named of [old, successor]) {
    const serial = parseSerial(named === old ? "77" : "78");
    const done = await call("cert.revoke", admin, { path: { id: named.id }, body: { serial } });
    expect(done).toMatchObject({ ca_id: named.id, status: "revoked" });
    expect(await loadEntry(named, serial)).toMatchObject({ known: false });
  }
  // The entry of another key has no effect on this one.
  const body = { serial: "77" };
  const done = await call("cert.revoke", admin, { path: { id: successor.id }, body });
  expect(done).toMatchObject({ ca_id: successor.id, status: "revoked" });
  const unknown = { id: old.id, serial: "79" };
  expect((await refusal(call("cert.suspend", admin, { path: unknown }))).code).toBe("not_found");
});

test("an abandoned serial belongs to the CA that intended it", async () => {
  const serial = parseSerial("4711");
  const purpose = "certificate" as const;
  const at = { createdAt: world.clock.now(), requestedBy: "root", tbsDigest: "ab".repeat(32) };
  await world.store.atomically(async (tx) => {
    const intent = { opId: "op", caId: successor.id, serial, purpose, ...at };
    await tx.certificates.intend({ ...intent, state: "intended" });
    await tx.certificates.settle("op", "orphaned");
  });
  const body = { filter: { serials: [serial] }, confirm_count: 1 };
  const path = { id: old.id };
  const plan = await call("cert.revoke_bulk", admin, { path, body: { ...body, dry_run: true } });
  expect(plan.sample).toMatchObject([{ ca_id: successor.id, serial, known: false }]);
  const done = await call("cert.revoke", admin, { path, body: { serial } });
  expect(done).toMatchObject({ ca_id: successor.id, status: "revoked" });
});
