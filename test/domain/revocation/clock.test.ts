/**
 * After a clock that leapt ahead is put right (PRC-4), OCSP, presigned answers and deltas are of
 * the present again.
 */

import { beforeEach, expect, test } from "bun:test";

import type { Serial } from "#core/ids.ts";
import { refuse } from "#core/problems.ts";
import { parseCertificate } from "#core/x509/certificate.ts";
import { encodeOcspRequest } from "#core/x509/ocsp.ts";
import { parseOcspResponse } from "#core/x509/ocsp-responses.ts";
import { crlsFresh } from "#domain/preflight/crls.ts";
import { rootOrigin, type SmallCa, smallCa } from "#test/support/worlds/small-ca.ts";

let small: SmallCa;
let serial: Serial;
beforeEach(async () => {
  small = await smallCa({ presign: { enabled: true } });
  serial = (await small.issue({ validitySeconds: 3 * year })).serial;
});

const freshness = () =>
  crlsFresh({ store: small.store, now: small.clock.now(), shards: 0, target: undefined });
const year = 365 * 86_400;
/**
 * What a relying party is answered now, and since when the responder's certificate has been valid.
 */
async function asked() {
  const { subject, spki } = parseCertificate(small.ca.certificate ?? new Uint8Array(0));
  const names = { issuerName: subject.der, issuerSpki: spki };
  const request = encodeOcspRequest({ ...names, serial, hash: "sha1", nonce: undefined });
  const { basic, status } = parseOcspResponse((await small.ocsp.answer(small.ca.id, request)).der);
  const [answer] = basic?.answers ?? [];
  if (basic === undefined || answer === undefined) throw new Error(`no answer: ${status}`);
  const [responder] = basic.certificates.map(parseCertificate);
  return { ...answer, begun: responder?.notBefore ?? 0 };
}
const revoke = () =>
  small.revoker.revoke(
    { ca: small.ca, serial, origin: rootOrigin, mayManageCa: true },
    "superseded",
  );

test("answers kept and signed ahead in the leap are not given, nor is its responder used", async () => {
  small.clock.step(year);
  await small.presigner.sweep();
  await asked();
  small.clock.step(-year);
  const now = await asked();
  expect(now.thisUpdate).toBeLessThanOrEqual(small.clock.now());
  expect(now.begun).toBeLessThanOrEqual(small.clock.now());
  await small.responders.renewals();
  await asked();
  // The one of the leap, and one of the present: no further one is made.
  expect(small.store.countRows("responders")).toBe(2);
});

test("a sweep signs anew what was signed ahead in the leap", async () => {
  small.clock.step(year);
  await small.presigner.sweep();
  small.clock.step(-year);
  const { signed } = await small.presigner.sweep();
  expect(signed).toBeGreaterThanOrEqual(2);
  small.keys.checkTicket = () => {
    throw refuse("key_unavailable");
  };
  expect((await asked()).thisUpdate).toBeLessThanOrEqual(small.clock.now());
});

test("a responder that could not be made in the leap is tried again at once", async () => {
  small.clock.step(year);
  small.keys.checkTicket = () => {
    throw refuse("key_unavailable");
  };
  await expect(asked()).rejects.toThrow("no answer");
  small.keys.checkTicket = () => {};
  small.clock.step(-year);
  expect((await asked()).status).toMatchObject({ status: "good" });
});

test("a revocation is in base and delta as soon as ever", async () => {
  await small.refresh.renewals();
  small.clock.step(year);
  await small.refresh.renewals();
  await small.refresh.afterRevocations();
  const other = await small.issue();
  await small.revoker.revoke(
    { ca: small.ca, serial: other.serial, origin: rootOrigin, mayManageCa: true },
    "superseded",
  );
  await small.refresh.afterRevocations();
  small.clock.step(-year);
  await revoke();
  await small.refresh.afterRevocations();
  const { base, delta } = await small.publisher.newest(small.ca.id, "full");
  const covered = await small.store.read.revocations.sequence();
  expect(Math.max(base?.sequence ?? 0, delta?.sequence ?? 0)).toBe(covered);
});

test("set back before the CA itself, the responder there is goes on", async () => {
  const { begun } = await asked();
  small.clock.step(-10 * year);
  small.reopen();
  small.keys.checkTicket = ({ purpose }) => {
    // What the gates say of a certificate that begins before its issuer.
    if (purpose === "responder_certificate") throw refuse("gate_refused");
  };
  expect((await asked()).begun).toBe(begun);
});

const heads = () => small.publisher.newest(small.ca.id, "full");
const resets = () => small.store.listEvents().filter(({ action }) => action === "crl.clock_reset");

test("CRL-2: lists signed while the clock was ahead are replaced once it is right, with higher numbers and an event", async () => {
  await small.refresh.renewals();
  small.clock.step(year);
  await small.refresh.renewals();
  await small.publisher.publishBase(small.ca, rootOrigin);
  const poisoned = await heads();
  small.clock.step(-year);
  await small.refresh.renewals();
  const { base, delta } = await heads();
  expect(base?.thisUpdate).toBeLessThanOrEqual(small.clock.now());
  expect(base?.number).toBeGreaterThan(poisoned.base?.number ?? 0);
  expect(delta?.thisUpdate).toBeGreaterThan(base?.thisUpdate ?? 0);
  expect(delta?.thisUpdate).toBeLessThanOrEqual(small.clock.now());
  expect(resets().map(({ target, targetName }) => [target, targetName])).toEqual([
    [small.ca.id, "full"],
  ]);
  expect(resets()[0]?.detail).toMatch(/^number=\d+ from=2027-\S+Z to=2026-\S+Z$/);
  await small.refresh.renewals();
  expect((await heads()).base?.number).toBe(base?.number ?? 0);
});

test("a poisoned list is not served, a revocation after the leap is on the one that replaces it", async () => {
  await small.refresh.renewals();
  small.clock.step(year);
  await small.publisher.publishAll(small.ca, rootOrigin);
  small.clock.step(-year);
  await revoke();
  for (const kind of ["delta", "base"] as const) {
    const served = await small.publisher.current(small.ca, "full", kind);
    expect(served.thisUpdate).toBeLessThanOrEqual(small.clock.now());
  }
  await small.refresh.afterRevocations();
  const covered = await small.store.read.revocations.sequence();
  const { base, delta } = await heads();
  expect(Math.max(base?.sequence ?? 0, delta?.sequence ?? 0)).toBe(covered);
  for (const head of [base, delta]) expect(head?.thisUpdate).toBeLessThanOrEqual(small.clock.now());
});

test("while nobody has confirmed the step lists go on where they are, and are put right after that", async () => {
  await small.refresh.renewals();
  small.clock.step(year);
  await small.publisher.publishAll(small.ca, rootOrigin);
  small.clock.step(-year);
  small.leapt.believed = false;
  const before = await heads();
  await small.publisher.publishBase(small.ca, rootOrigin);
  const doubted = await heads();
  expect(doubted.base?.thisUpdate).toBeGreaterThan(before.base?.thisUpdate ?? 0);
  expect(await freshness()).toMatchObject({
    status: "fail",
    detail: expect.stringContaining("begins in the future"),
  });
  small.leapt.believed = true;
  await small.refresh.renewals();
  expect((await heads()).base?.thisUpdate).toBeLessThanOrEqual(small.clock.now());
  expect(resets()).toHaveLength(1);
  expect((await freshness()).status).toBe("pass");
});

test("a clock that was ahead by less than lists are backdated changes nothing", async () => {
  await small.refresh.renewals();
  small.clock.step(200);
  await small.publisher.publishAll(small.ca, rootOrigin);
  small.clock.step(-200);
  const before = await heads();
  await small.refresh.renewals();
  await small.publisher.publishBase(small.ca, rootOrigin);
  const after = await heads();
  expect(after.base?.thisUpdate).toBeGreaterThan(before.base?.thisUpdate ?? 0);
  expect(resets()).toEqual([]);
});

test("lists do not run into the future however many changes there are", async () => {
  small = await smallCa({ issuance: { backdate_seconds: 2 } });
  for (let quarter = 0; quarter < 120; quarter++) {
    const { serial: next } = await small.issue();
    const request = { ca: small.ca, serial: next, origin: rootOrigin, mayManageCa: true };
    await small.revoker.revoke(request, "superseded");
    await small.refresh.deltas();
    small.clock.advance(0.25);
    const { delta } = await heads();
    expect(delta?.thisUpdate ?? 0).toBeLessThanOrEqual(small.clock.now());
  }
});
