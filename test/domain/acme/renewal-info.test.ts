/** When clients are told to renew: plans, what is urgent, and which of them goes first. */

import { afterEach, beforeEach, describe, expect, test } from "bun:test";

import { caId } from "#core/ids.ts";
import { certId } from "#core/acme/renewal.ts";
import { oids } from "#core/asn1/oids.ts";
import { addSeconds, instant, secondsPerDay } from "#core/time.ts";
import { extensionOf, parseCertificate } from "#core/x509/certificate.ts";
import { parseSubjectKeyIdentifier } from "#core/x509/extensions.ts";
import { Directories } from "#domain/acme/directories.ts";
import { Inventory } from "#domain/acme/inventory.ts";
import { RenewalInfo } from "#domain/acme/renewal-info.ts";
import type { CertificateRecord } from "#domain/certificates/store.ts";
import type { Store } from "#domain/store.ts";
import * as make from "#test/support/stores/acme-records.ts";
import { sqliteDatabase } from "#test/support/stores/stores.ts";
import { rootOrigin, type SmallCa, smallCa, smallCaOn } from "#test/support/worlds/small-ca.ts";

let world: SmallCa<Store>;
let record: CertificateRecord;

beforeEach(async () => {
  world = await smallCa();
  record = await world.issue();
});

/** What ARI tells about the certificate now. */
async function told() {
  const { store, clock, ca } = world;
  const acme = {
    enabled: true,
    base_url: "https://acme.test",
    directory_path: "/acme",
    ca_id: ca.id as string,
    ca_label: undefined,
    profile: "server",
    require_eab: false,
    profiles: {},
    directories: {},
    renewal_window_days: 0,
    renewal_window_width_hours: 0,
    renewal_poll_hours: 6,
    renewal_explanation_url: undefined,
  };
  const config = () => ({ acme }) as never; // Nothing else of it is asked for here.
  const directories = new Directories({ store, config });
  const inventory = new Inventory(store);
  const renewal = new RenewalInfo({ store, clock, config, directories, inventory });
  const [directory] = directories.all();
  if (directory === undefined) throw new Error("one directory is served");
  const certificate = parseCertificate(ca.certificate ?? new Uint8Array());
  const keyId = extensionOf(certificate, oids.subjectKeyIdentifier)?.value ?? new Uint8Array();
  return await renewal.of(directory, certId(parseSubjectKeyIdentifier(keyId), record.serial));
}

async function plan(startSeconds: number, seconds: number) {
  const start = addSeconds(world.clock.now(), startSeconds);
  // The later one is the one that counts.
  const plan = make.replacement({ createdAt: instant(startSeconds) });
  const { caId, serial } = record;
  const own = { caId, serial, start, end: addSeconds(start, seconds) };
  await world.store.atomically(async (tx) => {
    await tx.replacements.addReplacement(plan);
    await tx.replacements.addItems([make.item(plan.id, own)]);
  });
  return { plan, start: own.start, end: own.end };
}

async function supersede() {
  const { store, ca, addCa } = world;
  const successor = await addCa({ lineage: ca });
  await store.atomically((tx) => tx.cas.supersede(ca.id, successor.id, undefined));
}

const hurry = () => {
  const now = world.clock.now();
  return { start: addSeconds(now, -3600), end: now, retryAfterSeconds: 3600 };
};

test("a plan pulls the window to its own, and clients ask soon enough to see it", async () => {
  const { start, end } = await plan(3600, 4800);
  expect(await told()).toMatchObject({ start, end, retryAfterSeconds: 1200 });
});

test("a plan that is called off leaves the usual window", async () => {
  const usual = await told();
  const { plan: made } = await plan(3600, 4800);
  await world.store.atomically((tx) => tx.replacements.endReplacement(made.id, "canceled"));
  expect(await told()).toEqual(usual);
});

test("a plan never lets a certificate wait longer than usual, or past its end", async () => {
  const usual = await told();
  const early = await plan(59 * secondsPerDay, 60 * secondsPerDay);
  expect(await told()).toMatchObject({ start: early.start, end: usual.end });
  await plan(80 * secondsPerDay, 4800);
  expect(await told()).toEqual(usual);
});

test("a superseded issuer hurries its certificates, but for those of a plan", async () => {
  await supersede();
  expect(await told()).toMatchObject(hurry());
  const { start, end } = await plan(3600, 4800);
  expect(await told()).toMatchObject({ start, end });
});

test("what is revoked or held is hurried, whatever is planned for it", async () => {
  await plan(3600, 4800);
  const request = {
    ca: world.ca,
    serial: record.serial,
    origin: rootOrigin,
    mayManageCa: true,
  };
  await world.revoker.suspend(request);
  expect(await told()).toMatchObject(hurry());
  await world.revoker.release(request);
  expect((await told()).start).toBeGreaterThan(world.clock.now());
  await world.revoker.revoke(request, "superseded");
  expect(await told()).toMatchObject(hurry());
});

test("a key that was blocked is hurried, whatever is planned for it", async () => {
  record = await world.issue({ facts: { spkiSha256: "ab".repeat(32) } });
  await plan(3600, 4800);
  const blocked = {
    id: "blocked",
    spkiSha256: record.spkiSha256,
    tenant: undefined,
    reason: "leaked",
    source: "api",
    createdBy: "root",
    createdAt: instant(0),
  } as const;
  await world.store.atomically((tx) => tx.keyChecks.block(blocked));
  expect(await told()).toMatchObject(hurry());
});

describe("in a database", () => {
  let store: Store;
  beforeEach(async () => {
    store = await sqliteDatabase().open();
    world = await smallCaOn(store);
    record = await world.issue();
  });
  afterEach(() => store.close());

  const archive = () =>
    store.atomically((tx) => tx.retention.archive(record.caId, [record.serial], world.clock.now()));

  test("ARI-1: a certificate is found in the archive as it was in the inventory", async () => {
    const facts = { certificate: new Uint8Array([0x30, 0x00]) };
    record = await world.issue({ facts });
    const before = await told();
    expect(await archive()).toHaveLength(1);
    const shown = await store.read.certificates.bySerial(record.caId, record.serial);
    expect(shown?.certificate).toEqual(facts.certificate);
    expect(await told()).toEqual(before);
  });

  test("ARI-1: one of which only the row is left is told about all the same", async () => {
    const before = await told();
    await archive();
    await store.atomically((tx) => tx.retention.prune(record.caId, [record.serial]));
    expect(await told()).toEqual(before);
  });

  test("ARI-3: a retired issuer hurries its certificates, but for those of a plan", async () => {
    // Another member with the same name and key, as after a rollover that kept both.
    const retired = { id: caId("retired"), label: "retired", status: "retired" } as const;
    const ca = { ...world.ca, ...retired };
    await store.atomically((tx) => tx.cas.insert(ca));
    record = await world.issue({ ca });
    expect(await told()).toMatchObject(hurry());
    const { start, end } = await plan(3600, 4800);
    expect(await told()).toMatchObject({ start, end });
  });

  test("ARI-3: a superseded issuer hurries its certificates", async () => {
    expect((await told()).start).toBeGreaterThan(world.clock.now());
    await supersede();
    expect(await told()).toMatchObject(hurry());
  });
});
