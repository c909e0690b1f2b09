/** When CRLs are signed anew: after revocations, at half of their life, after a crash, and again after a failure. */

import { beforeEach, expect, test } from "bun:test";

import { refuse } from "#core/problems.ts";
import type { RevocationReason } from "#core/x509/reasons.ts";
import { CrlRefresh } from "#domain/revocation/refresh.ts";
import { rootOrigin, type SmallCa, smallCa } from "#test/support/small-ca.ts";

let small: SmallCa;
beforeEach(async () => {
  small = await smallCa();
  await small.refresh.renewals();
  await small.refresh.afterRevocations();
});

const head = () => small.store.read.revocations.crlHead(small.ca.id, "full");
const number = async () => (await head())?.number;

async function revoke(reason: RevocationReason = "superseded") {
  const { serial } = await small.issue();
  const request = { ca: small.ca, serial, origin: rootOrigin, mayManageCa: true };
  await small.revoker.revoke(request, reason);
}

test("a new CA gets its first CRL by itself", async () => {
  expect(await number()).toBe(1);
});

test("a revocation is on the CRL a minute later, with those that came meanwhile", async () => {
  await revoke();
  small.clock.advance(59);
  await revoke();
  await small.refresh.afterRevocations();
  expect(await number()).toBe(1);
  small.clock.advance(1);
  await small.refresh.afterRevocations();
  expect(await head()).toMatchObject({ number: 2, entries: 2 });
  small.clock.advance(120);
  await small.refresh.afterRevocations();
  expect(await number()).toBe(2);
});

test("a compromised key is on the CRL at once", async () => {
  await revoke();
  await revoke("keyCompromise");
  await small.refresh.afterRevocations();
  expect(await head()).toMatchObject({ number: 2, entries: 2 });
});

test("without delay every revocation is on the CRL at once", async () => {
  small = await smallCa({ crl: { refreshAfterRevocationSeconds: 0 } });
  await revoke();
  expect(small.woken.times).toBe(1);
  await small.refresh.afterRevocations();
  expect(await head()).toMatchObject({ entries: 1 });
});

test("a release is published like a revocation", async () => {
  const { serial } = await small.issue();
  const request = { ca: small.ca, serial, origin: rootOrigin, mayManageCa: true };
  await small.revoker.suspend(request);
  small.clock.advance(60);
  await small.refresh.afterRevocations();
  await small.revoker.release(request);
  small.clock.advance(60);
  await small.refresh.afterRevocations();
  expect(await head()).toMatchObject({ number: 3, entries: 0 });
});

test("a CRL that could not be signed is tried again", async () => {
  await revoke("keyCompromise");
  small.keys.beforeSign = () => {
    throw refuse("key_unavailable", { retry_after: 2 });
  };
  await small.refresh.afterRevocations();
  expect(small.failures).toHaveLength(1);
  small.keys.beforeSign = () => {};
  small.clock.advance(5);
  await small.refresh.afterRevocations();
  expect(await head()).toMatchObject({ entries: 1 });
});

test("what another process, or this one before a crash, revoked is published too", async () => {
  await revoke();
  const after = new CrlRefresh({
    ...{ store: small.store, clock: small.clock, publisher: small.publisher, wake: () => {} },
    ...{ refreshAfterRevocationSeconds: 60, onFailure: () => {} },
  });
  await after.afterRevocations();
  expect(await number()).toBe(1);
  small.clock.advance(60);
  await after.afterRevocations();
  expect(await head()).toMatchObject({ number: 2, entries: 1 });
});

test("a CRL is renewed at half of its life, and not before", async () => {
  small.clock.advance(84 * 3600 - 151);
  await small.refresh.renewals();
  expect(await number()).toBe(1);
  small.clock.advance(1);
  await small.refresh.renewals();
  expect(await number()).toBe(2);
});
