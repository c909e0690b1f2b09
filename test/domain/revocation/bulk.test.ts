/**
 * Bulk revocation: the plan, the count that must hold, the batches, and what a repetition or a
 * crash finds.
 */

import { beforeEach, expect, test } from "bun:test";

import { parseSerial, type Serial } from "#core/ids.ts";
import type { Selection } from "#core/policy/selection.ts";
import { Problem, refuse } from "#core/problems.ts";
import { instant } from "#core/time.ts";
import { parseCrl } from "#core/x509/crl.ts";
import { partitionOf } from "#core/x509/partitions.ts";
import type { StillMay } from "#domain/access/principal-now.ts";
import type { CertificateRecord } from "#domain/certificates/store.ts";
import type { BulkRevocationOrder } from "#domain/revocation/bulk.ts";
import { openRevocation } from "#domain/revocation/open.ts";
import { rememberShards } from "#domain/revocation/scopes.ts";
import { Signing } from "#domain/signing/signing.ts";
import { somebody } from "#test/support/worlds/governed-world.ts";
import { seededRandom } from "#test/support/ports.ts";
import {
  revocationDefaults,
  rootOrigin,
  type SmallCa,
  smallCa,
} from "#test/support/worlds/small-ca.ts";

let small: SmallCa;
beforeEach(async () => {
  small = await smallCa();
});

const orderOf = (wanted: Partial<BulkRevocationOrder> = {}): BulkRevocationOrder => ({
  operationId: undefined,
  reason: "superseded",
  selection: { includeExpired: false },
  all: true,
  batchSize: 500,
  confirmed: undefined,
  ...wanted,
});
const selecting = (selection: Partial<Selection>, wanted: Partial<BulkRevocationOrder> = {}) =>
  orderOf({ ...wanted, selection: { includeExpired: false, ...selection } });
const plan = (order: BulkRevocationOrder) => small.bulk.plan(small.ca, order);
const execute = (order: BulkRevocationOrder) => small.bulk.execute(rootOrigin, small.ca, order);
const refusalOf = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (error) => (error instanceof Problem ? { code: error.code, ...error.facts } : error),
  );
const certificate = (serial: string, facts: Partial<CertificateRecord> = {}) =>
  small.issue({ serial: parseSerial(serial), facts });
const events = (action: string) =>
  small.store.listEvents().filter((event) => event.action === action);
const findRun = (name: string) => small.store.listRows("bulkRuns").find(({ id }) => id === name);
const statusOf = async (serial: string) =>
  (await small.store.read.certificates.bySerial(small.ca.id, parseSerial(serial)))?.status;
const suspend = (serial: Serial) =>
  small.revoker.suspend({ ca: small.ca, serial, origin: rootOrigin, mayManageCa: true });
const revoke = (serial: Serial) =>
  small.revoker.revoke(
    { ca: small.ca, serial, origin: rootOrigin, mayManageCa: true },
    "privilegeWithdrawn",
  );

test("a plan counts what would change and what is passed over, and writes nothing", async () => {
  await certificate("1");
  await suspend((await certificate("2")).serial);
  await revoke((await certificate("3")).serial);
  await certificate("4", { notAfter: instant(small.clock.at - 1) });
  await certificate("5", { profile: "client" });
  const before = small.store.readAllTables();
  const serials = ["1", "2", "3", "4", "5", "6"].map(parseSerial);
  const found = await plan(selecting({ serials, profile: "server" }));
  expect(found).toMatchObject({
    total: 3,
    known: 2,
    unknown: 1,
    held: 1,
    alreadyRevoked: 1,
    filteredOut: 1,
    expiredExcluded: 1,
    filter: "profile=server serials=6",
  });
  expect(found.sample.map(({ serial, known }) => [String(serial), known])).toEqual([
    ["1", true] as const,
    ["2", true] as const,
    ["6", false] as const,
  ] as never);
  expect(small.store.readAllTables()).toEqual(before);
});

test("BLK-1: without serials only leaves are meant, and an empty filter must say all", async () => {
  await certificate("1");
  await small.issue({ serial: parseSerial("2"), kind: "ca" });
  await small.issue({ serial: parseSerial("3"), kind: "responder" });
  const other = await small.addCa();
  await small.issue({ serial: parseSerial("4"), ca: other });
  expect((await plan(orderOf())).total).toBe(1);
  expect(await refusalOf(plan(orderOf({ all: false })))).toMatchObject({ code: "empty_selection" });
  const onlyExpired = selecting({ includeExpired: true }, { all: false });
  expect(await refusalOf(execute(onlyExpired))).toMatchObject({ code: "empty_selection" });
});

test("a run revokes in the order of serials, batch by batch, each with its own time and events", async () => {
  for (const serial of ["10", "9", "2", "100", "33"]) await certificate(serial);
  const { atomically } = small.store;
  small.store.atomically = (unit) => {
    small.clock.advance(1);
    return atomically(unit);
  };
  const result = await execute(orderOf({ batchSize: 2, confirmed: 5, operationId: "op-1" }));
  expect(result).toMatchObject({
    planned: 5,
    revoked: 5,
    upgraded: 0,
    skipped: 0,
    batches: 3,
    crlScopes: ["full"],
    operationId: "op-1",
    reason: "superseded",
  });
  const revoked = events("cert.revoke");
  expect(revoked.map(({ serial }) => serial)).toEqual(["2", "9", "10", "33", "100"]);
  expect(new Set(revoked.map(({ timestamp }) => timestamp)).size).toBe(3);
  expect(revoked[0]).toMatchObject({
    detail: "reason=superseded bulk_op=op-1 sequence=1",
    target: small.ca.id,
    targetName: "2",
    actor: "root",
    ip: "192.0.2.1",
    requestId: "test-request",
  });
  const { items } = await small.store.read.revocations.page({ caId: small.ca.id }, 9);
  expect(items.map(({ sequence }) => sequence)).toEqual([5, 4, 3, 2, 1]);
});

test("BLK-5: one base and one delta at the end lists all of it, and one event tells the totals", async () => {
  for (const serial of ["1", "2", "3"]) await certificate(serial);
  const { durationSeconds } = await execute(selecting({ pattern: "LEAF*" }, { operationId: "o" }));
  expect(events("crl.publish").length).toBe(2);
  const crl = await small.publisher.der(await small.publisher.current(small.ca));
  expect(parseCrl(crl).entries.map(({ serial }) => String(serial))).toEqual(["1", "2", "3"]);
  expect(events("cert.revoke_bulk")).toMatchObject([
    {
      result: "success",
      target: small.ca.id,
      targetName: small.ca.label,
      caId: small.ca.id,
      detail:
        'op=o reason=superseded filter="pattern=LEAF*" planned=3 revoked=3 upgraded=0 ' +
        `already_skipped=0 batches=1 crl_scopes=full duration=${durationSeconds}`,
    },
  ]);
});

test("of a partitioned CRL only the scopes are signed that list what was revoked", async () => {
  small = await smallCa({ crl: { shards: 5, base_url: "http://crl.example" } });
  await rememberShards(small.store, 5);
  for (const serial of ["1", "2", "3", "4", "5", "6"]) await certificate(serial);
  await small.publisher.publishAll(small.ca, rootOrigin);
  const before = events("crl.publish").length;
  const serials = ["1", "2"].map(parseSerial);
  const { crlScopes } = await execute(selecting({ serials }));
  const partitions = serials.map((serial) => `partition-${partitionOf(serial, 5)}`);
  expect(new Set(crlScopes)).toEqual(new Set(["full", ...partitions]));
  expect(events("crl.publish").length).toBe(before + 2 * crlScopes.length);
});

test("BLK-5: no delta overtakes a run, whose end publishes all of it", async () => {
  for (const serial of ["1", "2", "3"]) await certificate(serial);
  await small.refresh.renewals();
  small.store.checkWrite = (operation) => {
    if (operation === "bulkRevocations.advance") small.clock.advance(10);
  };
  const looking: Promise<void>[] = [];
  const { atomically } = small.store;
  small.store.atomically = (unit) => {
    if (looking.length < 9) looking.push(small.refresh.deltas());
    return atomically(unit);
  };
  await execute(orderOf({ batchSize: 1 }));
  await Promise.all(looking);
  const told = events("crl.publish").map(({ detail }) => detail.replace(/ sha256=.*/, ""));
  expect(told.slice(2)).toEqual(["number=3 kind=base entries=3", "number=4 kind=delta entries=0"]);
});

test("what a run could not sign at its end is signed as soon as it can", async () => {
  for (const serial of ["1", "2"]) await certificate(serial);
  await small.refresh.renewals();
  small.keys.checkTicket = () => {
    throw refuse("key_unavailable");
  };
  expect(await execute(orderOf())).toMatchObject({ revoked: 2, crlScopes: [] });
  small.keys.checkTicket = () => {};
  for (const _ of [1, 2]) {
    await small.refresh.deltas();
    small.clock.advance(3);
  }
  expect(events("crl.publish").at(-1)?.detail).toMatch(/kind=delta entries=2 sha256=/);
});

test("BLK-6: held ones are upgraded, and the same id finds zero afterwards", async () => {
  await certificate("1");
  await suspend((await certificate("2")).serial);
  const first = await execute(orderOf({ operationId: "again", confirmed: 2 }));
  expect(first).toMatchObject({ planned: 2, revoked: 2, upgraded: 1 });
  expect(await statusOf("2")).toBe("revoked");
  expect(events("cert.revoke").at(-1)?.detail).toBe(
    "reason=superseded previous=held bulk_op=again sequence=3",
  );
  await certificate("3");
  const before = small.store.countRows("events");
  const again = await execute(orderOf({ operationId: "again", confirmed: 2 }));
  expect(again).toMatchObject({ planned: 0, revoked: 0, upgraded: 0, skipped: 2, batches: 0 });
  expect(small.store.countRows("events")).toBe(before);
  expect(await statusOf("3")).toBe("good");
});

test("BLK-3: a count that drifted changes nothing and is recorded as denied", async () => {
  for (const serial of ["1", "2", "3"]) await certificate(serial);
  const drifted = { code: "confirm_count_mismatch", confirm_count: 2, actual_count: 3 };
  expect(await refusalOf(execute(orderOf({ confirmed: 2, operationId: "d" })))).toEqual(drifted);
  expect([await statusOf("1"), await statusOf("2"), await statusOf("3")]).toEqual(
    Array(3).fill("good"),
  );
  expect(small.store.listEvents().at(-1)).toMatchObject({
    action: "cert.revoke_bulk",
    result: "denied",
    detail: "op=d reason=superseded confirm_count=2 actual_count=3",
  });
  expect(small.store.countRows("bulkRuns") + small.store.countRows("bulkSerials")).toBe(0);
  expect(await execute(orderOf({ confirmed: 3, operationId: "d" }))).toMatchObject({ revoked: 3 });
});

test("what is issued, revoked or released while serials are collected counts as it stands at the start", async () => {
  for (const serial of ["1", "2", "3"]) await certificate(serial);
  const { stage } = patched(small);
  stage.before = async () => {
    await certificate("4");
    await revoke(parseSerial("1"));
  };
  expect(await refusalOf(execute(orderOf({ confirmed: 4 })))).toMatchObject({ actual_count: 3 });
  expect(await execute(orderOf({ confirmed: 3 }))).toMatchObject({ planned: 3, revoked: 3 });
});

test("what somebody else revokes during the run keeps its first reason and is skipped", async () => {
  for (const serial of ["1", "2", "3", "4"]) await certificate(serial);
  const { atomically } = small.store;
  let units = 0;
  small.store.atomically = async (unit) => {
    units++;
    // Taking the id, collecting and starting are three; then the first batch has run.
    if (units === 5) await revoke(parseSerial("4"));
    return atomically(unit);
  };
  const result = await execute(orderOf({ batchSize: 2, confirmed: 4 }));
  expect(result).toMatchObject({ planned: 4, revoked: 3, skipped: 1 });
  const fourth = await small.store.read.revocations.bySerial(small.ca.id, parseSerial("4"));
  expect(fourth?.reason).toBe("privilegeWithdrawn");
  expect(events("cert.revoke").length).toBe(4);
});

test("named serials reach certificates of CAs, and unknown ones become bare entries", async () => {
  await small.issue({ serial: parseSerial("1"), kind: "ca" });
  const child = { ...small.ca, id: "child" as typeof small.ca.id, label: "child" };
  const row = { ...child, parent: small.ca.id, serial: parseSerial("1") };
  await small.store.atomically((tx) => tx.cas.insert(row));
  const serials = ["1", "77"].map(parseSerial);
  expect(await execute(selecting({ serials }))).toMatchObject({ planned: 2, revoked: 2 });
  expect((await small.store.read.cas.byId(child.id))?.status).toBe("retired");
  const bare = await small.store.read.revocations.bySerial(small.ca.id, parseSerial("77"));
  expect(bare).toMatchObject({ known: false, expiresAt: undefined });
  expect(events("cert.revoke").at(-1)?.detail).toMatch(/^reason=superseded known=false bulk_op=/);
  expect((await plan(selecting({ serials }))).alreadyRevoked).toBe(2);
});

test("a responder that is named is revoked and replaced at once", async () => {
  const signer = await small.issue({ kind: "responder" });
  await execute(selecting({ serials: [signer.serial] }));
  expect(await statusOf(signer.serial)).toBe("revoked");
  while ((await small.store.read.revocations.responder(small.ca.id)) === undefined) {
    await Bun.sleep(1);
  }
});

test("a hold suspends what is good, refuses unknown serials, and leaves the rest alone", async () => {
  await certificate("1");
  await suspend((await certificate("2")).serial);
  await certificate("3", { notAfter: instant(small.clock.at - 1) });
  await certificate("4", { profile: "public" });
  const hold = orderOf({ reason: "certificateHold" });
  expect(await plan(hold)).toMatchObject({
    total: 1,
    known: 1,
    held: 1,
    expiredExcluded: 1,
    filteredOut: 1,
  });
  const serials = [parseSerial("1"), parseSerial("9")];
  const unknown = selecting({ serials }, { reason: "certificateHold" });
  const refused = { code: "unknown_serials", serials: [parseSerial("9")] };
  expect(await refusalOf(plan(unknown))).toEqual(refused);
  expect(await refusalOf(execute(unknown))).toEqual(refused);
  expect(await execute({ ...hold, operationId: "h" })).toMatchObject({ revoked: 1 });
  expect([await statusOf("1"), await statusOf("4")]).toEqual(["held", "good"]);
  expect(events("cert.suspend").at(-1)?.detail).toMatch(
    /^reason=certificateHold bulk_op=h sequence=\d+$/,
  );
});

test("expired ones are revoked only when they are asked for", async () => {
  await certificate("1", { notAfter: instant(small.clock.at - 1) });
  expect((await plan(orderOf())).expiredExcluded).toBe(1);
  expect(await execute(selecting({ includeExpired: true }))).toMatchObject({ revoked: 1 });
});

test("keys of a compromise are blocked once each, with an event", async () => {
  const [one, two] = ["aa".repeat(32), "bb".repeat(32)];
  await certificate("1", { spkiSha256: one });
  await certificate("2", { spkiSha256: two });
  await certificate("3", { spkiSha256: two });
  await execute(orderOf({ reason: "keyCompromise" }));
  const blocked = small.store.listRows("blockedKeys");
  expect(blocked.map(({ spkiSha256 }) => spkiSha256).sort()).toEqual([one ?? "", two ?? ""]);
  expect(events("key.block").map(({ detail }) => detail)).toEqual([
    'reason="serial 1 was revoked" source=revocation',
    'reason="serial 2 was revoked" source=revocation',
  ]);
});

test("an id stands for one CA, reason and filter", async () => {
  await certificate("1");
  await execute(orderOf({ operationId: "op" }));
  const mismatch = { code: "operation_mismatch", operation_id: "op" };
  for (const other of [
    orderOf({ operationId: "op", reason: "unspecified" }),
    selecting({ profile: "server" }, { operationId: "op" }),
    selecting({ includeExpired: true }, { operationId: "op" }),
    selecting({ serials: [parseSerial("1")] }, { operationId: "op" }),
  ]) {
    expect(await refusalOf(execute(other))).toEqual(mismatch);
  }
  const elsewhere = small.bulk.execute(
    rootOrigin,
    await small.addCa({ lineage: small.ca }),
    orderOf({ operationId: "op" }),
  );
  expect(await refusalOf(elsewhere)).toEqual(mismatch);
  const run = findRun("op");
  expect(run).toMatchObject({ state: "finished", revoked: 1 });
});

test("an id chosen in another lineage neither shows nor is in the way", async () => {
  const stranger = await small.addCa();
  await small.issue({ serial: parseSerial("9"), ca: stranger });
  const theirs = orderOf({ operationId: "op", reason: "unspecified" });
  expect(await small.bulk.execute(rootOrigin, stranger, theirs)).toMatchObject({ revoked: 1 });
  await certificate("1");
  const mine = orderOf({ operationId: "op" });
  const both = await Promise.all([execute(mine), small.bulk.execute(rootOrigin, stranger, theirs)]);
  expect(both.map(({ planned }) => planned)).toEqual([1, 0]);
  expect(await statusOf("1")).toBe("revoked");
});

test("while a run is under way its id is refused", async () => {
  await certificate("1");
  const first = execute(orderOf({ operationId: "op" }));
  expect(await refusalOf(execute(orderOf({ operationId: "op" })))).toEqual({
    code: "operation_running",
    operation_id: "op",
  });
  expect(await first).toMatchObject({ revoked: 1 });
});

test("BLK-7: a batch that fails stops the run, what was committed stays, and a repetition completes it", async () => {
  for (let serial = 1; serial <= 6; serial++) await certificate(String(serial));
  let batches = 0;
  small.store.checkWrite = (operation) => {
    if (operation === "bulkRevocations.advance" && ++batches === 2) {
      throw refuse("storage_unavailable");
    }
  };
  const order = orderOf({ batchSize: 2, operationId: "op", confirmed: 6 });
  const partial = await execute(order);
  expect(partial).toMatchObject({ planned: 6, revoked: 2, batches: 1, crlScopes: ["full"] });
  expect(partial.failure).toMatchObject({ code: "storage_unavailable" });
  expect(events("cert.revoke").length).toBe(2);
  expect(events("cert.revoke_bulk")).toEqual([]);
  await small.bulk.resume();
  expect(events("cert.revoke").length).toBe(2);
  expect(await execute(order)).toMatchObject({ planned: 6, revoked: 6, batches: 3 });
  expect(events("cert.revoke").map(({ serial }) => serial)).toEqual(["1", "2", "3", "4", "5", "6"]);
  expect(events("cert.revoke_bulk").length).toBe(1);
});

test("State and audit cannot disagree: a batch whose events fail changes nothing, and the next call completes it", async () => {
  for (const serial of ["1", "2", "3"]) await certificate(serial);
  let told = 0;
  small.store.checkWrite = (operation) => {
    if (operation === "audit.appendEvent" && ++told === 2) throw refuse("storage_unavailable");
  };
  const order = orderOf({ operationId: "op", confirmed: 3, reason: "keyCompromise" });
  expect(await execute(order)).toMatchObject({ revoked: 0, batches: 0 });
  expect(small.store.countRows("revocations") + small.store.countRows("blockedKeys")).toBe(0);
  expect(await statusOf("1")).toBe("good");
  expect(await execute(order)).toMatchObject({ planned: 3, revoked: 3 });
  expect(events("cert.revoke").length).toBe(3);
});

test("a run that a crash left open is finished at the next start, in the name of who began it", async () => {
  for (let serial = 1; serial <= 4; serial++) await certificate(String(serial));
  const { atomically } = small.store;
  let units = 0;
  small.store.atomically = (unit) => {
    units++;
    // The process is gone after its first batch: nothing is written any more.
    return units > 4 ? new Promise(() => {}) : atomically(unit);
  };
  void execute(orderOf({ batchSize: 2, operationId: "op", confirmed: 4 }));
  while (units < 5) await Bun.sleep(1);
  small.store.atomically = atomically;
  const next = reopened();
  await next.bulk.resume();
  expect(findRun("op")).toMatchObject({ state: "finished", revoked: 4 });
  expect(events("cert.revoke").map(({ serial }) => serial)).toEqual(["1", "2", "3", "4"]);
  const resumed = events("cert.revoke").at(-1);
  expect(resumed).toMatchObject({ actor: "root", ip: "192.0.2.1", requestId: "test-request" });
  expect(events("cert.revoke_bulk").length).toBe(1);
});

test("a crash before the start leaves nothing to finish", async () => {
  await certificate("1");
  const { atomically } = small.store;
  let units = 0;
  small.store.atomically = (unit) => {
    units++;
    return units > 2 ? new Promise(() => {}) : atomically(unit);
  };
  void execute(orderOf({ operationId: "op", confirmed: 1 }));
  while (units < 3) await Bun.sleep(1);
  small.store.atomically = atomically;
  await reopened().bulk.resume();
  expect(small.store.countRows("bulkRuns")).toBe(0);
  expect(await statusOf("1")).toBe("good");
});

test("a CRL that cannot be signed does not undo the run, which names no scope", async () => {
  await certificate("1");
  small.keys.sign = async () => {
    throw refuse("key_unavailable");
  };
  const result = await execute(orderOf({ confirmed: 1 }));
  expect(result).toMatchObject({ revoked: 1, crlScopes: [] });
  expect(result.failure).toBeUndefined();
  expect(await statusOf("1")).toBe("revoked");
  expect(small.failures.length).toBe(1);
});

test("BLK-5: answers signed ahead are replaced at the end, and what keeps them from it is told", async () => {
  small = await smallCa({ presign: { enabled: true } });
  for (const serial of ["1", "2"]) await certificate(serial);
  await small.presigner.sweep();
  expect(small.store.countRows("presigned")).toBe(6); // The responder is a certificate too.
  expect(await execute(selecting({ serials: [parseSerial("1")] }))).toMatchObject({ presigned: 2 });
  const kept = small.store.listRows("presigned");
  expect(kept.filter(({ revokedAt }) => revokedAt !== null).length).toBe(2);
  small.keys.sign = async () => {
    throw refuse("key_unavailable");
  };
  const result = await execute(orderOf());
  expect(result).toMatchObject({ revoked: 1, presigned: 0 });
  expect(result.presignFailure).toMatchObject({ code: "key_unavailable" });
});

test("told to end, a run stops between two batches and stays open for the next start", async () => {
  for (let serial = 1; serial <= 4; serial++) await certificate(String(serial));
  let batches = 0;
  small.store.checkWrite = (operation) => {
    if (operation === "bulkRevocations.advance" && ++batches === 1) small.bulk.halt();
  };
  const partial = await execute(orderOf({ batchSize: 2, operationId: "op" }));
  expect(partial).toMatchObject({ revoked: 2, failure: { code: "shutting_down" } });
  expect(findRun("op")?.state).toBe("running");
  await reopened().bulk.resume();
  expect(findRun("op")).toMatchObject({ state: "finished", revoked: 4 });
});

test("a run asks before every batch whether its maker still may, and stops with what was committed", async () => {
  for (const serial of ["1", "2", "3", "4", "5"]) await certificate(serial);
  let left = 2;
  const { bulk } = reopened(async () => {
    if (left-- <= 0) throw refuse("forbidden", { capability: "ca:manage" });
  });
  const order = orderOf({ batchSize: 2, operationId: "op" });
  const partial = await bulk.execute(rootOrigin, small.ca, order);
  expect(partial).toMatchObject({ revoked: 4, batches: 2, failure: { code: "forbidden" } });
  expect([await statusOf("4"), await statusOf("5")]).toEqual(["revoked", "good"]);
  expect(findRun("op")?.state).toBe("stopped");
  const asked: unknown[] = [];
  const again = reopened(async ({ subject }, capability, ca) => {
    asked.push([subject, capability, ca.id]);
  });
  const other = { ...rootOrigin, principal: somebody("carol", ["admin"]) };
  expect(await again.bulk.execute(other, small.ca, order)).toMatchObject({ revoked: 5 });
  expect(asked).toEqual([
    ["carol", "ca:manage", small.ca.id],
    ["carol", "ca:manage", small.ca.id],
  ]);
});

test("a run that a crash left open goes on only while its maker still may", async () => {
  for (const serial of ["1", "2", "3", "4"]) await certificate(serial);
  let batches = 0;
  small.store.checkWrite = (operation) => {
    if (operation === "bulkRevocations.advance" && ++batches === 1) small.bulk.halt();
  };
  await execute(orderOf({ batchSize: 2, operationId: "op" }));
  const told: unknown[] = [];
  const next = reopened(
    async () => {
      throw refuse("invalid_token");
    },
    (error) => told.push(error instanceof Problem ? error.code : error),
  );
  await next.bulk.resume();
  expect(told).toEqual(["invalid_token"]);
  expect(findRun("op")).toMatchObject({ state: "stopped", revoked: 2 });
  expect(await statusOf("3")).toBe("good");
});

/** Another process over the same store. */
function reopened(
  stillMay: StillMay = async () => {},
  onFailure = (error: unknown): unknown => {
    throw error;
  },
) {
  const { store, keys, clock } = small;
  const random = seededRandom();
  return openRevocation(revocationDefaults, {
    stillMay,
    store,
    keys,
    clock,
    random,
    signing: new Signing({ store, keys, clock, random }),
    publicProfile: () => false,
    counts: { add: () => {} },
    clockAhead: () => false,
    clockBelieved: () => true,
    crlFiles: undefined,
    wake: () => {},
    signCertificate: async () => {},
    onFailure: (_what, error) => onFailure(error),
  });
}

/** Lets a test do something just before the first serials of a run are kept. */
function patched({ store }: SmallCa) {
  const stage: { before: (() => Promise<void>) | undefined } = { before: undefined };
  const { atomically } = store;
  let units = 0;
  store.atomically = async (unit) => {
    units++;
    const { before } = stage;
    if (units === 2 && before !== undefined) {
      stage.before = undefined;
      await before();
    }
    return atomically(unit);
  };
  return { stage };
}
