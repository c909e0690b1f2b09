/**
 * Taking in what another program has signed and revoked under the key of a CA: what is its own is
 * here afterwards, and nothing else is.
 */

import { beforeAll, beforeEach, expect, test } from "bun:test";
import { readFileSync } from "node:fs";

import fc from "fast-check";

import { decodePem } from "#core/asn1/pem.ts";
import { parseSerial, type Serial } from "#core/ids.ts";
import { addSeconds, instant } from "#core/time.ts";
import { parseCertificate } from "#core/x509/certificate.ts";
import type { AdoptionCall } from "#domain/revocation/adoption.ts";
import type { Offer } from "#domain/revocation/adoption-judge.ts";
import { OpensslCa } from "#test/support/instances/openssl-ca.ts";
import { rootOrigin, type SmallCa, smallCa } from "#test/support/worlds/small-ca.ts";

let old: OpensslCa;
let other: OpensslCa;
const issued: Record<string, Uint8Array> = {};
let small: SmallCa;

beforeAll(async () => {
  old = await OpensslCa.make({ cn: "Old Root" });
  other = await OpensslCa.make({ cn: "Old Root" });
  for (const name of ["one", "two", "three"]) issued[name] = der(old, await old.issue(name));
  issued.foreign = der(other, await other.issue("foreign"));
  const renamed = await OpensslCa.make({ cn: "Another Root" });
  issued.renamed = der(renamed, await renamed.issue("renamed"));
}, 60_000);

beforeEach(async () => {
  small = await smallCa();
  // After everything was signed.
  small.clock.at = instant(Date.now() + 60_000);
});

const pemAt = (path: string): Uint8Array =>
  decodePem(readFileSync(path, "utf8").replace(/^[\s\S]*(?=-----BEGIN)/, ""), ["CERTIFICATE"]) ??
  new Uint8Array();
const der = (ca: OpensslCa, serial: string) => pemAt(ca.file(`newcerts/${serial}.pem`));
const octetsOf = (name: string): Uint8Array => issued[name] ?? new Uint8Array();
const serialOf = (name: string): Serial => parseCertificate(octetsOf(name)).serial;

const call = (): AdoptionCall => ({
  ca: small.ca,
  issuer: { certificate: parseCertificate(pemAt(old.file("cacert.pem"))), profile: undefined },
  origin: rootOrigin,
});
const offer = (given: Partial<Offer>): Offer => ({
  certificate: undefined,
  serial: undefined,
  revoked: undefined,
  ...given,
});
const revokedFor = (reason: NonNullable<Offer["revoked"]>["reason"]) => ({
  at: addSeconds(small.clock.now(), -3600),
  reason,
});
const adopted = (...offers: Partial<Offer>[]) => small.adoption.adopt(call(), offers.map(offer));
const row = (name: string) => small.store.read.certificates.bySerial(small.ca.id, serialOf(name));
const entry = (serial: Serial) => small.store.read.revocations.bySerial(small.ca.id, serial);
const events = () => small.store.listEvents();

test("what the CA has signed is in the inventory, marked, with an event of its octets", async () => {
  const [result] = await adopted({ certificate: octetsOf("one"), serial: serialOf("one") });
  expect(result).toEqual({ result: "imported", serial: serialOf("one"), fault: undefined });
  expect(await row("one")).toMatchObject({
    status: "good",
    kind: "leaf",
    marker: "imported",
    commonName: "one",
    tenant: small.ca.tenant,
  });
  expect(events().at(-1)).toMatchObject({
    action: "cert.import",
    serial: serialOf("one"),
    detail: expect.stringMatching(/sha256=[0-9a-f]{64}/),
  });
});

test("what is no certificate of the CA is refused by its reason, and nothing changes", async () => {
  const before = events().length;
  const damaged = octetsOf("one").slice();
  damaged[damaged.length - 1] = (damaged.at(-1) ?? 0) ^ 1;
  const results = await adopted(
    { certificate: octetsOf("foreign") },
    { certificate: octetsOf("renamed") },
    { certificate: damaged },
    { certificate: octetsOf("one").subarray(0, 200) },
    { certificate: octetsOf("one"), serial: serialOf("two") },
    { certificate: new Uint8Array(70_000) },
    {},
    { serial: parseSerial("77") },
  );
  expect(results.map(({ fault }) => fault)).toEqual([
    "signature",
    "other_issuer",
    "signature",
    "unreadable",
    "other_serial",
    "too_large",
    "nothing_offered",
    "not_revoked",
  ]);
  expect(results.every(({ result }) => result === "refused")).toBe(true);
  expect(events()).toHaveLength(before);
  expect(small.store.countRows("certificates")).toBe(0);
});

test("the same a second time is there already, and another one under its serial is refused", async () => {
  await adopted({ certificate: octetsOf("one") });
  const before = events().length;
  expect(await adopted({ certificate: octetsOf("one") })).toMatchObject([{ result: "present" }]);
  const known = await row("one");
  expect(known).toBeDefined();
  const replace = "update certificates set certificate = ? where serial = ?";
  await small.store.tamper(replace, octetsOf("two"), serialOf("one"));
  expect(await adopted({ certificate: octetsOf("one") })).toMatchObject([
    { result: "refused", fault: "differs" },
  ]);
  // Retention has left a tombstone: nobody can say that it was another.
  await small.store.tamper(replace, new Uint8Array(), serialOf("one"));
  expect(await adopted({ certificate: octetsOf("one") })).toMatchObject([{ result: "present" }]);
  expect(events()).toHaveLength(before);
});

test("a serial that was drawn here for what came to nothing is refused", async () => {
  const [caId, serial] = [small.ca.id, serialOf("one")];
  const facts = { tbsDigest: "", requestedBy: "root", purpose: "certificate" as const };
  const intent = { ...facts, opId: "op", caId, serial, createdAt: small.clock.now() };
  await small.store.atomically((tx) => tx.certificates.intend({ ...intent, state: "intended" }));
  expect(await adopted({ certificate: octetsOf("one") })).toMatchObject([
    { result: "refused", fault: "serial_taken" },
  ]);
});

test("a revocation keeps its time and reason, comes with its event, and is never undone", async () => {
  const revoked = revokedFor("superseded");
  expect(await adopted({ certificate: octetsOf("one"), revoked })).toMatchObject([
    { result: "imported" },
  ]);
  expect(await row("one")).toMatchObject({ status: "revoked", revokedAt: revoked.at });
  expect(await entry(serialOf("one"))).toMatchObject({ reason: "superseded", known: true });
  expect(events().at(-1)).toMatchObject({ action: "cert.revoke", serial: serialOf("one") });
  const later = { certificate: octetsOf("one"), revoked: revokedFor("keyCompromise") };
  expect(await adopted(later)).toMatchObject([{ result: "present" }]);
  expect(await adopted({ certificate: octetsOf("one") })).toMatchObject([{ result: "present" }]);
  expect(await entry(serialOf("one"))).toMatchObject({ reason: "superseded" });
});

test("a hold is a hold, and gives way to a revocation", async () => {
  await adopted({ certificate: octetsOf("one"), revoked: revokedFor("certificateHold") });
  expect(await row("one")).toMatchObject({ status: "held" });
  const final = { certificate: octetsOf("one"), revoked: revokedFor("keyCompromise") };
  expect(await adopted(final)).toMatchObject([{ result: "revoked" }]);
  expect(await row("one")).toMatchObject({ status: "revoked", reason: "keyCompromise" });
});

test("an entry comes before its certificate or after it, and both are there in the end", async () => {
  const revoked = revokedFor("cessationOfOperation");
  const serial = serialOf("two");
  expect(await adopted({ serial, revoked })).toMatchObject([{ result: "entered" }]);
  expect(await entry(serial)).toMatchObject({ known: false });
  expect(await adopted({ certificate: octetsOf("two") })).toMatchObject([{ result: "imported" }]);
  expect(await row("two")).toMatchObject({ status: "revoked", reason: "cessationOfOperation" });
  await adopted({ certificate: octetsOf("three") });
  const late = await adopted({ serial: serialOf("three"), revoked });
  expect(late).toMatchObject([{ result: "revoked" }]);
  expect(await row("three")).toMatchObject({ status: "revoked" });
});

test("a certificate that nobody can read stays revoked by its serial", async () => {
  const serial = parseSerial("4711");
  const revoked = revokedFor("unspecified");
  const unreadable = { certificate: new Uint8Array([0x30, 0x03, 1, 2, 3]), serial, revoked };
  expect(await adopted(unreadable)).toMatchObject([{ result: "entered", serial }]);
  expect(await entry(serial)).toMatchObject({ known: false });
});

test("a key that was compromised is certified by nobody again", async () => {
  await adopted({ certificate: octetsOf("one"), revoked: revokedFor("keyCompromise") });
  const actions = events().map(({ action }) => action);
  expect(actions).toContain("key.block");
});

test("a time in the future is not later than now", async () => {
  const at = addSeconds(small.clock.now(), 86_400);
  await adopted({ certificate: octetsOf("one"), revoked: { at, reason: "superseded" } });
  expect(await entry(serialOf("one"))).toMatchObject({ revokedAt: small.clock.now() });
});

test("a look remembers the certificate of a serial beside what was said of it later", async () => {
  const certificate = octetsOf("one");
  const entry = { certificate: undefined, serial: serialOf("one") };
  const offers = [
    offer({ certificate }),
    offer({ ...entry, revoked: revokedFor("superseded") }),
    offer({ certificate }),
  ];
  const { ca, issuer } = call();
  const told = await small.adoption.check({ ca, issuer }, offers);
  expect(told.map(({ result }) => result)).toEqual(["imported", "revoked", "present"]);
  expect(await small.adoption.adopt(call(), offers)).toEqual([...told]);
});

test("a look tells what adopting then does, in whatever order things come", async () => {
  const reasons = ["superseded", "certificateHold", "keyCompromise"] as const;
  const one = fc.record({
    name: fc.constantFrom("one", "two", "foreign"),
    bare: fc.boolean(),
    reason: fc.option(fc.constantFrom(...reasons), { nil: undefined }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(one, { minLength: 1, maxLength: 4 }), async (wanted) => {
      small = await smallCa();
      small.clock.at = instant(Date.now() + 60_000);
      for (let round = 0; round < 3; round += 1) {
        const offers = wanted.map(({ name, bare, reason }) =>
          offer({
            certificate: bare ? undefined : octetsOf(name),
            serial: serialOf(name),
            revoked: reason && revokedFor(reason),
          }),
        );
        const { ca, issuer } = call();
        const told = await small.adoption.check({ ca, issuer }, offers);
        expect(await small.adoption.adopt(call(), offers)).toEqual([...told]);
      }
    }),
    { numRuns: 40 },
  );
}, 60_000);
