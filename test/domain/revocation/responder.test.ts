/**
 * Delegated responders: what their certificate says, when they are renewed, and what replaces a
 * revoked one.
 */

import { beforeEach, expect, test } from "bun:test";

import { Problem, refuse } from "#core/problems.ts";
import { addSeconds } from "#core/time.ts";
import { parseCertificate } from "#core/x509/certificate.ts";
import { nameText } from "#core/x509/names.ts";
import { encodeOcspRequest } from "#core/x509/ocsp.ts";
import { spkiSha256 } from "#core/x509/public-keys.ts";
import { type Issuer, issuerOf } from "#domain/revocation/issuers.ts";
import type { ResponderRecord } from "#domain/revocation/store.ts";
import { rootOrigin, type SmallCa, smallCa } from "#test/support/worlds/small-ca.ts";
import { defaultTenant } from "#core/ids.ts";

let small: SmallCa;
let issuer: Issuer;
beforeEach(async () => {
  small = await smallCa();
  issuer = issuerOf(small.ca);
});

const newest = () => small.store.read.revocations.responder(small.ca.id);
const signer = async () =>
  await small.responders.signer(issuer, await small.store.read.revocations.sequence());

async function stored(): Promise<ResponderRecord> {
  const responder = await newest();
  if (responder === undefined) throw new Error("no responder is stored");
  return responder;
}

test("callers at once share one new responder, known to OCSP and announced in the ledger", async () => {
  const [one, two] = await Promise.all([signer(), signer()]);
  expect(one).toBe(two);
  expect(small.store.countRows("responders")).toBe(1);
  const { serial } = await stored();
  expect(await small.store.read.revocations.certStatus(small.ca.id, serial)).toMatchObject({
    status: "good",
  });
  const entries = small.store.listLedger();
  expect(entries.map(({ kind, purpose }) => `${kind} ${purpose}`)).toEqual([
    "key ",
    "intent responder_certificate",
    "outcome responder_certificate",
  ]);
});

test("KCK-2: the key of a responder is the instance's own", async () => {
  const { handle } = await signer();
  const question = {
    spkiSha256: spkiSha256(handle.spki),
    tenant: defaultTenant,
    duplicate: undefined,
  };
  expect((await small.store.read.keyChecks.keyStatus(question)).own).toBe(true);
});

test("the certificate has the extensions of a responder and no pointers", async () => {
  await signer();
  const { certificate } = await stored();
  const parsed = parseCertificate(certificate);
  expect(nameText(parsed.subject)).toBe(`${nameText(issuer.subject)} OCSP Responder`);
  expect(parsed.extensions.map(({ oid, critical }) => `${oid} ${critical}`)).toEqual([
    "2.5.29.15 true",
    "2.5.29.37 false",
    "2.5.29.14 false",
    "2.5.29.35 false",
    "1.3.6.1.5.5.7.48.1.5 false",
  ]);
  expect(parsed.notBefore).toBe(addSeconds(small.clock.at, -300));
  expect(parsed.notAfter).toBe(addSeconds(small.clock.at, 168 * 3600 - 301));
});

test("a responder is renewed with its key at half of its life, and not before", async () => {
  await signer();
  const first = await stored();
  small.clock.advance(83 * 3600);
  await small.responders.renewals();
  expect((await stored()).serial).toBe(first.serial);
  small.clock.advance(3600);
  await small.responders.renewals();
  const second = await stored();
  expect([second.keyId, second.serial === first.serial]).toEqual([first.keyId, false]);
  expect((await signer()).serial).toBe(second.serial);
});

test("a failed renewal keeps the old responder and is reported", async () => {
  await signer();
  const first = await stored();
  small.clock.advance(100 * 3600);
  small.keys.checkTicket = () => {
    throw refuse("key_unavailable", { retry_after: 2 });
  };
  await small.responders.renewals();
  expect(small.failures).toHaveLength(1);
  expect((await signer()).serial).toBe(first.serial);
});

test("an expired responder that cannot be renewed is no signer, and the CA key does not stand in", async () => {
  await signer();
  small.clock.advance(168 * 3600);
  small.keys.checkTicket = () => {
    throw refuse("key_unavailable", { retry_after: 2 });
  };
  const refused = await signer().catch((error) => error);
  expect(refused).toBeInstanceOf(Problem);
  expect(refused.code).toBe("key_unavailable");
});

test("a revoked responder is replaced at once, with another key", async () => {
  await signer();
  const first = await stored();
  const request = { ca: small.ca, serial: first.serial, origin: rootOrigin, mayManageCa: false };
  await small.revoker.revoke(request, "keyCompromise");
  const next = await signer();
  expect([next.serial === first.serial, next.key.id === first.keyId]).toEqual([false, false]);
});

test("an answer by a revoked responder is not given again", async () => {
  const { serial } = await small.issue();

  const question = { issuerName: issuer.subject.der, issuerSpki: small.ca.spki, serial };
  const der = encodeOcspRequest({ ...question, hash: "sha1" });
  const kept = await small.ocsp.answer(small.ca.id, der);
  expect(await small.ocsp.stillTrue(kept)).toBe(true);
  const responder = await stored();
  const request = { ca: small.ca, serial: responder.serial, origin: rootOrigin };
  await small.revoker.revoke({ ...request, mayManageCa: false }, "superseded");
  expect(await small.ocsp.stillTrue(kept)).toBe(false);
  expect(await small.ocsp.answer(small.ca.id, der)).not.toBe(kept);
});

test("a key that got no certificate is destroyed, once per rest however many ask", async () => {
  small.keys.checkTicket = () => {
    throw refuse("key_unavailable", { retry_after: 2 });
  };
  for (let question = 0; question < 3; question++) await signer().catch(() => {});
  expect(small.keys.held.size).toBe(1);
  const keys = small.store.listLedger().filter(({ kind }) => kind === "key");
  expect(keys.map(({ operation }) => operation)).toEqual(["generate", "destroy"]);
  small.keys.checkTicket = () => {};
  small.clock.advance(60);
  expect((await signer()).role).toBe("responder");
});

test("a responder whose commit was made, though its answer was lost, keeps its key and is the next signer", async () => {
  const { atomically } = small.store;
  // The answer to the commit of the responder is lost: nobody can say whether it was made.
  Object.assign(small.store, {
    atomically: async (unit: Parameters<typeof atomically>[0]) => {
      const before = small.store.countRows("responders");
      const result = await atomically(unit);
      if (small.store.countRows("responders") > before) throw refuse("storage_unavailable");
      return result;
    },
  });
  expect(await signer().catch((error) => error.code)).toBe("key_unavailable");
  Object.assign(small.store, { atomically });
  const { keyId, serial } = await stored();
  expect(small.keys.held.has(keyId)).toBe(true);
  small.clock.advance(60);
  expect((await signer()).serial).toBe(serial);
});

test("a key that cannot be destroyed either hides nothing of why there is no responder", async () => {
  small.keys.checkTicket = () => {
    throw refuse("overloaded", { retry_after: 2 });
  };
  const { destroy } = small.keys;
  Object.assign(small.keys, { destroy: () => Promise.reject(refuse("key_unavailable")) });
  await signer().catch(() => {});
  Object.assign(small.keys, { destroy });
  expect(small.failures).toMatchObject([{ code: "key_unavailable" }, { code: "overloaded" }]);
});

test("what keeps a responder from being made is told again once the rest after a failure is over", async () => {
  small.keys.checkTicket = () => {
    throw refuse("overloaded", { retry_after: 2 });
  };
  await small.responders.ensure(small.ca.id);
  await small.responders.ensure(small.ca.id);
  expect(small.failures).toMatchObject([{ code: "overloaded" }]);
  small.clock.advance(61);
  const { cas } = small.store.read;
  const { byId } = cas;
  Object.assign(cas, { byId: () => Promise.reject(refuse("storage_unavailable")) });
  await small.responders.ensure(small.ca.id);
  Object.assign(cas, { byId });
  expect(small.failures).toMatchObject([{ code: "overloaded" }, { code: "storage_unavailable" }]);
});

const away = () => Promise.reject(refuse("key_unavailable", { retry_after: 2 }));

test("a responder whose key is gone is followed at once by one with a new key, found by the job or by a question, and told", async () => {
  await signer();
  const first = await stored();
  small.keys.held.delete(first.keyId);
  small.clock.advance(60);
  await small.responders.renewals();
  const second = await stored();
  expect([second.keyId === first.keyId, small.failures.length]).toEqual([false, 1]);
  expect((await signer()).serial).toBe(second.serial);
  small.keys.held.delete(second.keyId);
  small.clock.advance(60);
  const anew = small.reopen().responders;
  const asked = await anew.signer(issuer, await small.store.read.revocations.sequence());
  expect([asked.serial === second.serial, asked.serial === (await stored()).serial]).toEqual([
    false,
    true,
  ]);
  expect(small.failures).toHaveLength(2);
  const events = small.store.listEvents().filter(({ result }) => result === "error");
  expect(events).toHaveLength(2);
});

test("a responder whose key cannot be had is waited for: its provider is away, or it does not open; told once per rest", async () => {
  await signer();
  const first = await stored();
  const before = small.keys.held.size;
  const { find, list, facts } = small.keys;
  const kept = [...small.keys.held.entries()];
  const absent = async () => (await facts()).map((one) => ({ ...one, available: false }));
  const ways: readonly (() => void)[] = [
    () => Object.assign(small.keys, { find: away }),
    () => Object.assign(small.keys, { find: away, list: away }),
    // A token that was pulled out lists nothing, and then does not answer.
    () => Object.assign(small.keys, { find: away, list: async () => [], facts: absent }),
  ];
  for (const [round, way] of ways.entries()) {
    way();
    const anew = small.reopen().responders;
    const sequence = await small.store.read.revocations.sequence();
    for (let question = 0; question < 3; question += 1) {
      await expect((async () => anew.signer(issuer, sequence))()).rejects.toMatchObject({
        code: "key_unavailable",
      });
    }
    await small.responders.renewals();
    expect([small.failures.length, small.keys.held.size]).toEqual([2 * (round + 1), before]);
    Object.assign(small.keys, { find, list, facts });
    // Back, it serves without waiting for the rest to end.
    expect((await anew.signer(issuer, sequence)).serial).toBe(first.serial);
  }
  expect([...small.keys.held.entries()]).toEqual(kept);
});

test("a responder that has ended, and whose key cannot be had, is followed by one with a new key", async () => {
  await signer();
  const first = await stored();
  const { find } = small.keys;
  small.keys.find = (ref) => (ref.id === first.keyId ? away() : find(ref));
  small.clock.advance(100 * 3600);
  await small.responders.renewals();
  expect((await stored()).serial).toBe(first.serial);
  small.clock.advance(68 * 3600);
  const next = await signer();
  expect([next.serial === first.serial, next.key.id === first.keyId]).toEqual([false, false]);
});
