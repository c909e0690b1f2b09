/**
 * Renewal: identity never changes, today's rules apply, and the active member of the lineage signs.
 */

import { beforeEach, expect, test } from "bun:test";
import { X509Certificate } from "node:crypto";

import { ProfileSet } from "#core/policy/profiles.ts";
import { Problem } from "#core/problems.ts";
import { caId } from "#core/ids.ts";
import { secondsPerDay } from "#core/time.ts";
import { mustStaple } from "#core/x509/extensions.ts";
import type { Issued } from "#domain/certificates/issue.ts";
import type { RenewRequest } from "#domain/certificates/renew.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import {
  csr,
  initRoot,
  issuanceWorld,
  leafRequest,
  newKey,
  rootOrigin,
  type World,
} from "#test/support/worlds/issuance.ts";

let world: World;
let root: CaRecord;
let old: Issued;
const key = newKey("ecdsa-p256");
const identity = { dns: ["a.example", "b.example"], subject: [{ type: "CN", value: "a.example" }] };

beforeEach(async () => {
  world = issuanceWorld({ urlBase: "https://pki.example" });
  root = await initRoot(world);
  old = await issue();
  world.clock.advance(100 * secondsPerDay);
});

const issue = (profile = "server") =>
  world.issuance.issue(rootOrigin, root, leafRequest({ csr: csr({ ...identity, key }), profile }));
const renew = (request: Partial<RenewRequest> = {}, ca = root) =>
  world.issuance.renew(rootOrigin, ca, {
    serial: old.serial,
    csr: undefined,
    validityDays: undefined,
    caller: "interactive",
    ...request,
  });
const refusalOf = (promise: Promise<unknown>) =>
  promise.then(
    () => "accepted",
    (error) => {
      if (!(error instanceof Problem)) throw error;
      return error.code;
    },
  );
const read = ({ certificate }: Issued) => new X509Certificate(certificate);
const events = () => world.store.listEvents();

test("a renewal has the same subject, names, key and profile, a new serial and a later end", async () => {
  const renewed = await renew();
  const [before, after] = [read(old), read(renewed)];
  expect(after.subject).toBe(before.subject);
  expect(after.subjectAltName).toBe(before.subjectAltName);
  expect(after.publicKey.equals(before.publicKey)).toBe(true);
  expect(renewed.serial).not.toBe(old.serial);
  expect(after.validToDate.getTime()).toBeGreaterThan(before.validToDate.getTime());
  expect(renewed.record.profile).toBe("server");
});

test("a renewal is one event that names what it replaces", async () => {
  const count = events().length;
  const { serial } = await renew();
  expect(events()).toHaveLength(count + 1);
  expect(events().at(-1)).toMatchObject({
    action: "cert.renew",
    result: "success",
    serial,
    target: root.id,
    targetName: serial,
  });
  expect(events().at(-1)?.detail).toStartWith(`renewed_from=${old.serial} profile=server `);
});

test("of a request only the key is taken, and only when it names the same identity", async () => {
  const fresh = newKey("ecdsa-p384");
  const keyType = "ecdsa-p384";
  const same = csr({ ...identity, dns: ["b.example", "a.example"], key: fresh, keyType });
  const renewed = await renew({ csr: same });
  expect(read(renewed).publicKey.equals(fresh.publicKey)).toBe(true);
  expect(read(renewed).subjectAltName).toBe(read(old).subjectAltName);
  const signed = world.keys.signed.length;
  for (const other of [
    { ...identity, dns: ["a.example"] },
    { ...identity, dns: [...identity.dns, "c.example"] },
    { ...identity, dns: [] },
    { ...identity, subject: [{ type: "CN", value: "b.example" }] },
    { ...identity, subject: [...identity.subject, { type: "O", value: "Other" }] },
    { ...identity, subject: [] },
  ]) {
    expect(await refusalOf(renew({ csr: csr(other) }))).toBe("identity_mismatch");
  }
  const differing = async (other: object) =>
    await renew({ csr: csr({ ...identity, ...other }) }).catch((error) => error.facts.mismatch);
  const subject = [{ type: "CN", value: "b.example" }];
  expect(await differing({ dns: [] })).toEqual(["sans"]);
  expect(await differing({ subject })).toEqual(["subject"]);
  expect(await differing({ dns: [], subject })).toEqual(["subject", "sans"]);
  expect(await refusalOf(renew({ csr: csr({ ...identity, stolen: true }) }))).toBe("bad_csr");
  expect(world.keys.signed).toHaveLength(signed);
});

test.each(["revoked", "held"] as const)("what is %s is not renewed", async (status) => {
  await world.store.atomically((tx) =>
    tx.certificates.setStatus(root.id, old.serial, status, world.clock.now(), "unspecified"),
  );
  await expect(renew()).rejects.toMatchObject({ code: "not_renewable", facts: { status } });
});

test("an expired certificate is renewed for thirty days, and not a second longer", async () => {
  const { notAfter } = old.record;
  world.clock.advance((notAfter - world.clock.now()) / 1000 + 30 * secondsPerDay);
  expect(await refusalOf(renew())).toBe("accepted");
  world.clock.advance(1);
  await expect(renew()).rejects.toMatchObject({ facts: { status: "expired" } });
});

test("an unknown serial and a certificate of pkid itself are not found", async () => {
  expect(await refusalOf(renew({ serial: "12" as typeof old.serial }))).toBe("not_found");
  const own = root.serial ?? old.serial;
  expect(await refusalOf(renew({ serial: own }))).toBe("not_found");
});

test("any member of a lineage is accepted, and the active one signs and is named", async () => {
  const next = await initRoot(world, { label: "next" });
  const { store } = world;
  await store.tamper("update cas set status = 'superseded' where id = ?", root.id);
  await store.tamper("update cas set lineage = ? where id = ?", root.lineage, next.id);
  for (const { id } of [root, next]) {
    const asked = await store.read.cas.byId(id);
    if (asked === undefined) throw new Error("both are stored");
    const renewed = await renew({}, asked);
    expect(renewed.caId).toBe(caId(next.id));
  }
  await store.tamper("update cas set status = 'retired' where id in (?, ?)", root.id, next.id);
  expect(await refusalOf(renew({}, await store.read.cas.byId(root.id)))).toBe("ca_not_active");
});

test("today's profile applies: its limit, its name policy, and its absence", async () => {
  expect(await refusalOf(renew({ validityDays: 398 }))).toBe("validity_exceeds_limit");
  const server = new ProfileSet().named("server");
  const narrow = { ...server, names: { ...server.names, permittedDns: ["other.example"] } };
  world = issuanceWorld({ profiles: [{ ...server, name: "here" }] });
  root = await initRoot(world);
  old = await issue("here");
  world.setProfiles([{ ...narrow, name: "here" }]);
  expect(await refusalOf(renew())).toBe("gate_refused");
  expect(events().at(-1)).toMatchObject({ action: "cert.issue", result: "denied" });
  expect(events().at(-1)?.detail).toContain(`renewed_from=${old.serial}`);
  world.setProfiles([]);
  expect(await refusalOf(renew())).toBe("unknown_profile");
});

test("must-staple is kept where the request decided it", async () => {
  const asked = csr({ ...identity, extensions: [mustStaple()] });
  const request = {
    ...leafRequest({ csr: asked, profile: "server-muststaple" }),
    mustStaple: false,
  };
  old = await world.issuance.issue(rootOrigin, root, request);
  const renewed = await renew();
  expect(renewed.certificate.toHex()).not.toContain(tlsFeature);
  const stapled = { ...request, mustStaple: true };
  old = await world.issuance.issue(rootOrigin, root, stapled);
  expect((await renew()).certificate.toHex()).toContain(tlsFeature);
});

/** The OID of the TLS feature extension in DER. */
const tlsFeature = "06082b06010505070118";
