/**
 * Importing CRLs: what an older or foreign list of the CA says becomes true here, and nothing else
 * does.
 */

import { beforeEach, expect, test } from "bun:test";

import { integer, octetString, oid, sequence, time } from "#core/asn1/der.ts";
import { parseSerial, type Serial } from "#core/ids.ts";
import { addSeconds } from "#core/time.ts";
import { assembleSigned } from "#core/x509/certificate.ts";
import { encodeTbsCertList } from "#core/x509/crl.ts";
import { crlNumber } from "#core/x509/extensions.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import { issuerOf } from "#domain/revocation/issuers.ts";
import { ticketFor } from "#test/support/keys/signing.ts";
import { rootOrigin, type SmallCa, smallCa } from "#test/support/worlds/small-ca.ts";

let small: SmallCa;
beforeEach(async () => {
  small = await smallCa();
});

const asked = (serial: Serial, ca: CaRecord = small.ca) => ({
  ca,
  serial,
  origin: rootOrigin,
  mayManageCa: true,
});
/** A list of the CA as another instance with its key would sign it. */
async function foreignList(serials: readonly string[], ca: CaRecord = small.ca) {
  for (const text of serials)
    await small.revoker.revoke(asked(parseSerial(text), ca), "superseded");
  const der = await small.publisher.der(await small.publisher.publishBase(ca, rootOrigin));
  const remove = "delete from revocations where ca_id = ? and serial = ?";
  for (const text of serials) await small.store.tamper(remove, ca.id, text);
  return der;
}
const importing = (der: Uint8Array, ca = small.ca) => small.crlImport.import(ca, der, rootOrigin);
const counts = (imported: number, alreadyRevoked: number) => ({
  imported,
  alreadyRevoked,
  skipped: 0,
  skippedSerials: [],
});
const entry = (serial: string, ca = small.ca) =>
  small.store.read.revocations.bySerial(ca.id, parseSerial(serial));
const refusalOf = (promise: Promise<unknown>) =>
  promise.then(
    () => "accepted",
    (error) => `${error.code}: ${error.facts?.reason}`,
  );
const lastEvent = () => small.store.listEvents().at(-1);

test("what nobody has heard of becomes bare entries at the times the list says", async () => {
  const then = small.clock.at;
  const der = await foreignList(["77", "78"]);
  small.clock.advance(3600);
  expect(await importing(der)).toEqual(counts(2, 0));
  expect(await entry("77")).toMatchObject({ known: false, revokedAt: then, reason: "superseded" });
  expect(lastEvent()).toMatchObject({
    action: "crl.import",
    detail: "imported=2 already_revoked=0",
    target: small.ca.id,
  });
  expect(await importing(der)).toEqual(counts(0, 2));
  small.clock.advance(1);
  await small.refresh.deltas();
  const delta = await small.store.read.revocations.crlHead(small.ca.id, "full", "delta");
  expect(delta).toMatchObject({ entries: 2 });
});

test("a certificate of the inventory is revoked by it, and a hold gives way", async () => {
  const [good, held] = [await small.issue(), await small.issue()];
  const der = await foreignList([good.serial, held.serial]);
  for (const row of [good, held]) {
    const renew =
      "update certificates set status = 'good', revoked_at = null, reason = null where serial = ?";
    await small.store.tamper(renew, row.serial);
  }
  await small.revoker.suspend(asked(held.serial));
  expect(await importing(der)).toEqual(counts(2, 0));
  for (const { serial } of [good, held]) {
    expect(await entry(serial)).toMatchObject({ known: true, reason: "superseded" });
    const row = await small.store.read.certificates.bySerial(small.ca.id, serial);
    expect(row?.status).toBe("revoked");
  }
});

test("an entry that is here already keeps its first time and reason", async () => {
  const der = await foreignList(["5"]);
  small.clock.advance(60);
  await small.revoker.revoke(asked(parseSerial("5")), "keyCompromise");
  expect(await importing(der)).toEqual(counts(0, 1));
  expect(await entry("5")).toMatchObject({ reason: "keyCompromise", revokedAt: small.clock.at });
});

test("a list of an older key of the lineage goes to that key", async () => {
  const older = await small.addCa({ lineage: small.ca });
  const der = await foreignList(["9"], older);
  const subject = older.certificate;
  expect(subject).toBeDefined();
  expect(await importing(der)).toEqual(counts(1, 0));
  expect(await entry("9", older)).toBeDefined();
  expect(await entry("9")).toBeUndefined();
});

test("a list of another CA, a forged one, and what is no list are refused, and nothing changes", async () => {
  const stranger = await smallCa();
  await stranger.revoker.revoke(
    { ca: stranger.ca, serial: parseSerial("3"), origin: rootOrigin, mayManageCa: true },
    "superseded",
  );
  const foreign = await stranger.publisher.der(
    await stranger.publisher.publishBase(stranger.ca, rootOrigin),
  );
  const unsigned = "invalid_field: is not signed by a key of this CA";
  expect(await refusalOf(importing(foreign))).toBe(unsigned);
  const forged = await foreignList(["4"]);
  forged[forged.length - 1] = (forged.at(-1) ?? 0) ^ 1;
  const before = small.store.countRows("events");
  expect(await refusalOf(importing(forged))).toBe(unsigned);
  expect(await refusalOf(importing(Uint8Array.of(0x30, 1)))).toContain("cannot be read");
  expect(small.store.countRows("events")).toBe(before);
  expect(await entry("4")).toBeUndefined();
});

test("RES-2: every scope of the CA continues above the number of an imported list", async () => {
  const sharded = await smallCa({ crl: { shards: 2 } });
  const { ca, store, publisher, crlImport } = sharded;
  const raise = (scope: string, number: number) =>
    store.atomically((tx) => tx.revocations.raiseCrlNumber(ca.id, scope, number));
  const publish = async () => (await publisher.publishBase(ca, rootOrigin)).number;
  await raise("full", 70_000_000_000_000);
  const list = await publisher.publishBase(ca, rootOrigin);
  const der = await publisher.der(list);
  // As after a restore: the stored numbers are older than the list.
  await store.tamper("update crl_reservations set number = 7");
  await crlImport.import(ca, der, rootOrigin);
  expect(await publish()).toBe(list.number + 1);
  for (const scope of ["partition-0", "partition-1"]) {
    expect(await raise(scope, list.number)).toBe(false);
    expect(await raise(scope, list.number + 1)).toBe(true);
  }
  await crlImport.import(ca, der, rootOrigin);
  expect(await publish()).toBe(list.number + 2);
});

test("entries later than now are taken as of now", async () => {
  const der = await foreignList(["6"]);
  small.clock.advance(-3600);
  await importing(der);
  expect((await entry("6"))?.revokedAt).toBe(addSeconds(small.clock.at, 0));
});

/** Returns a list of the CA whose entries have an extension of `bytes` bytes each. */
async function signLongList(count: number, bytes: number): Promise<Uint8Array> {
  const { ca, clock, keys } = small;
  const extension = sequence(oid("2.999.1"), octetString(new Uint8Array(bytes)));
  const encodeEntry = (serial: number) =>
    sequence(integer(serial), time(clock.at), sequence(extension));
  const tbs = encodeTbsCertList({
    signature: "ecdsa-sha256",
    issuer: issuerOf(ca).subject.der,
    thisUpdate: clock.at,
    nextUpdate: clock.at,
    entries: Array.from({ length: count }, (_, at) => encodeEntry(at + 1)),
    extensions: [crlNumber(1)],
  });
  const handle = { ref: ca.key, keyType: ca.keyType, spki: ca.spki, deviceSerial: "" };
  const signature = await keys.sign(ticketFor(handle, "ecdsa-sha256", tbs), tbs);
  return assembleSigned(tbs, "ecdsa-sha256", signature);
}

test("a list of long entries is read in parts by its length, not by the number of entries", async () => {
  const list = await signLongList(200, 60_000);
  let ticks = 0;
  const count = () => {
    ticks += 1;
    timer = setImmediate(count);
  };
  let timer = setImmediate(count);
  expect(await importing(list)).toMatchObject({ imported: 200, alreadyRevoked: 0, skipped: 0 });
  clearImmediate(timer);
  // The list is read twice, and at most two entries in one tick of the event loop.
  expect(ticks).toBeGreaterThanOrEqual(200);
});

test("an entry whose extensions are longer than 64 KiB is refused before anything changes", async () => {
  const before = small.store.countRows("events");
  expect(await refusalOf(importing(await signLongList(2, 66_000)))).toContain(
    "the extensions take more than 65536 octets",
  );
  expect(small.store.countRows("events")).toBe(before);
});
