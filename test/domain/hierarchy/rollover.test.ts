/** Rollover: a new key under the same name, nothing signed with the old one, and its retirement. */

import { beforeEach, expect, test } from "bun:test";

import { decodePemBlocks, encodePem } from "#core/asn1/pem.ts";
import { oids } from "#core/asn1/oids.ts";
import { Problem, refuse } from "#core/problems.ts";
import { extensionOf, parseCertificate } from "#core/x509/certificate.ts";
import { chainBundle } from "#domain/authorities/bundle.ts";
import { CrossSigning } from "#domain/hierarchy/cross-sign.ts";
import { rotationStatus } from "#domain/hierarchy/rollover.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import { caRequest, csr, leafRequest, rootOrigin } from "#test/support/worlds/issuance.ts";
import {
  certificateOf,
  opensslVerifies,
  rolloverWorld,
  rotateAfterLook,
  sameAgain,
} from "#test/support/worlds/rollover.ts";

let world: Awaited<ReturnType<typeof rolloverWorld>>;
beforeEach(async () => {
  world = await rolloverWorld();
});

const issue = (ca: CaRecord) => world.issuance.issue(rootOrigin, ca, leafRequest());
const rotate = (ca: CaRecord, request = {}) =>
  world.authorities.rotate(rootOrigin, ca, { ...sameAgain, ...request });
const retire = (ca: CaRecord, force = false) =>
  world.retirement.retire(rootOrigin, ca, { reason: "cessationOfOperation", force });
const bundle = (ca: CaRecord) => chainBundle(world.store.read.cas, ca);
const stored = async (ca: CaRecord) => (await world.store.read.cas.byId(ca.id)) ?? ca;
const refusal = (promise: Promise<unknown>) =>
  promise.then(
    () => ({ code: "accepted", facts: {} }),
    (error) => {
      if (!(error instanceof Problem)) throw error;
      return { code: error.code as string, facts: error.facts };
    },
  );
const serialsOf = (ca: CaRecord) => world.store.listSerials().filter(({ caId }) => caId === ca.id);
const actionsOf = () => world.store.listEvents().map(({ action }) => action);

test("a rotation gives a new key the same name, place, path length and constraints", async () => {
  const policies = {
    oids: ["1.2.3.4"],
    cps: undefined,
    critical: true,
    requireExplicitPolicy: 0,
    mappings: [{ issuer: "1.2.3.4", subject: "1.2.3.5" }],
    inhibitPolicyMapping: undefined,
  };
  const bound = await world.authorities.issueIntermediate(
    rootOrigin,
    world.root,
    caRequest({ label: "bound", maxPathLength: 3, policies }),
  );
  const leaf = await issue(world.issuing);
  const { old, successor } = await rotate(bound);
  expect(old).toMatchObject({ id: bound.id, status: "superseded", successor: successor.id });
  expect(successor).toMatchObject({
    label: "bound-r2",
    status: "active",
    parent: world.root.id,
    lineage: bound.id,
    predecessor: bound.id,
    maxPathLength: 3,
    subject: bound.subject,
    keyType: bound.keyType,
  });
  expect(successor.spki).not.toEqual(bound.spki);
  const [before, after] = [bound, successor].map((ca) => parseCertificate(certificateOf(ca)));
  expect(after?.subject.der).toEqual(before?.subject.der ?? new Uint8Array());
  for (const oid of [oids.certificatePolicies, oids.policyMappings, oids.policyConstraints]) {
    const copied = after && extensionOf(after, oid);
    expect(copied).toEqual(before && extensionOf(before, oid));
    expect(copied).toBeDefined();
  }
  expect((await rotate(world.issuing)).old.retireAfter).toBe(leaf.record.notAfter);
  expect(actionsOf().filter((action) => action === "ca.rotate")).toHaveLength(2);
  const event = world.store.listEvents().find(({ action }) => action === "ca.rotate");
  expect(event).toMatchObject({ target: successor.id, targetName: "bound-r2", result: "success" });
  expect(event?.detail).toContain(`old_ca=${bound.id} new_ca=${successor.id}`);
});

test("every member of a lineage issues and rotates with the active one", async () => {
  const second = (await rotate(world.issuing)).successor;
  const third = (await rotate(world.issuing)).successor;
  expect([second.label, third.label]).toEqual(["issuing-r2", "issuing-r3"]);
  expect(await stored(second)).toMatchObject({ status: "superseded", successor: third.id });
  for (const member of [world.issuing, await stored(world.issuing), second, third]) {
    expect((await issue(await stored(member))).caId).toBe(third.id);
  }
});

test("what cannot be rotated says why, and no key is made for it", async () => {
  const held = world.keys.held.size;
  expect(await refusal(rotate(world.root))).toMatchObject({
    code: "not_rotatable",
    facts: { reason: "root" },
  });
  expect(await refusal(rotate({ ...world.issuing, csr: new Uint8Array(1) }))).toMatchObject({
    code: "not_rotatable",
    facts: { reason: "externally_signed" },
  });
  expect(await refusal(rotate(world.issuing, { label: "root" }))).toMatchObject({
    code: "already_exists",
  });
  expect((await refusal(rotate(world.issuing, { validityDays: 36_500 }))).code).toBe(
    "validity_exceeds_limit",
  );
  expect(world.keys.held.size).toBe(held);
});

test("two rotations at once follow each other; each key is superseded once", async () => {
  const rotations = await Promise.all([rotate(world.issuing), rotate(world.issuing)]);
  expect(rotations.map(({ old }) => old.label).sort()).toEqual(["issuing", "issuing-r2"]);
  const lineage = await world.store.read.cas.lineage(world.issuing.id);
  expect(Object.fromEntries(lineage.map(({ label, status }) => [label, status]))).toEqual({
    issuing: "superseded",
    "issuing-r2": "superseded",
    "issuing-r3": "active",
  });
});

test("a successor that another replica made first refuses, and its signature is said to be thrown away", async () => {
  const { store } = world;
  world.keys.checkTicket = () =>
    store.tamper("update cas set status = 'superseded' where id = ?", world.issuing.id);
  expect(await refusal(rotate(world.issuing))).toMatchObject({ code: "ca_not_active" });
  expect(store.listRows("cas").map(({ label }) => label)).toEqual(["root", "issuing"]);
  expect(world.store.listLedger().at(-1)).toMatchObject({
    kind: "outcome",
    result: "error",
    error: "ca_not_active",
  });
});

test("no certificate is signed on a superseded key, however the rotation falls between look and intent", async () => {
  rotateAfterLook(world, world.issuing);
  const issued = await issue(world.issuing);
  expect(issued.caId).not.toBe(world.issuing.id);
  expect(serialsOf(world.issuing)).toEqual([]);
  expect(actionsOf().filter((action) => action === "cert.issue")).toHaveLength(1);
});

test("a renewal, a new CA and a cross certificate wait out a rotation as an issue does", async () => {
  const upper = await world.authorities.issueIntermediate(
    rootOrigin,
    world.root,
    caRequest({ label: "upper" }),
  );
  const leaf = await issue(upper);
  const renewed = { serial: leaf.serial, csr: undefined, validityDays: undefined };
  const works: Record<string, (ca: CaRecord) => Promise<string | undefined>> = {
    renew: async (ca) =>
      (await world.issuance.renew(rootOrigin, ca, { ...renewed, caller: "interactive" })).caId,
    create: async (ca) => {
      const request = caRequest({ label: "below", maxPathLength: 0 });
      return (await world.authorities.issueIntermediate(rootOrigin, ca, request)).parent;
    },
    cross: async (ca) => {
      const request = { validityDays: undefined, maxPathLength: undefined };
      const subject = { source: "local-ca" as const, ca: world.issuing };
      const crossSigning = new CrossSigning(world);
      return (await crossSigning.sign(rootOrigin, ca, { ...request, subject })).issuer;
    },
  };
  let ca: CaRecord = upper;
  for (const [name, work] of Object.entries(works)) {
    const signed = serialsOf(ca).length;
    const rotations = rotateAfterLook(world, ca);
    const signedBy = await work(ca);
    const old = await stored(ca);
    expect([name, rotations(), signedBy]).toEqual([name, 1, old.successor]);
    expect(serialsOf(ca)).toHaveLength(signed);
    ca =
      (await world.store.read.cas.lineage(upper.lineage)).find(({ id }) => id === signedBy) ?? ca;
  }
  // The key made for the first attempt is gone.
  const owned = world.store
    .listRows("cas")
    .map(({ keyId }) => keyId)
    .sort();
  expect([...world.keys.held.keys()].sort()).toEqual(owned);
});

test("a rotation waits out that of its parent, and leaves no key behind", async () => {
  const upper = await world.authorities.issueIntermediate(
    rootOrigin,
    world.root,
    caRequest({ label: "upper" }),
  );
  const request = caRequest({ label: "lower", maxPathLength: 0 });
  const lower = await world.authorities.issueIntermediate(rootOrigin, upper, request);
  const signed = serialsOf(upper).length;
  rotateAfterLook(world, upper);
  const { old, successor } = await rotate(lower);
  const newUpper = (await stored(upper)).successor;
  expect([old.id, old.successor, successor.parent]).toEqual([lower.id, successor.id, newUpper]);
  expect(successor.label).toBe("lower-r2");
  expect(serialsOf(upper)).toHaveLength(signed);
  const owned = world.store
    .listRows("cas")
    .map(({ keyId }) => keyId)
    .sort();
  expect([...world.keys.held.keys()].sort()).toEqual(owned);
  const kinds = world.store.listLedger().filter(({ operation }) => operation === "destroy");
  expect(kinds).toHaveLength(1);
});

test("under load, every intent on the old key precedes the rotation in the ledger", async () => {
  let running = true;
  const serials = new Map<string, string>();
  const load = Array.from({ length: 8 }, async () => {
    while (running) {
      const { serial, caId } = await issue(world.issuing);
      serials.set(serial, caId);
      await Bun.sleep(0);
    }
  });
  for (let round = 0; round < 3; round++) {
    await Bun.sleep(5);
    await rotate(world.issuing);
  }
  running = false;
  await Promise.all(load);
  expect(serials.size).toBeGreaterThan(3);
  const entries = world.store.listLedger();
  for (const ca of await world.store.read.cas.lineage(world.issuing.id)) {
    if (ca.successor === undefined) continue;
    // The successor's own certificate is closed in the unit that supersedes this CA.
    const { serial } = await stored({ ...ca, id: ca.successor });
    const superseded = entries.find((e) => e.kind === "outcome" && e.artifact === serial)?.number;
    const intents = entries.filter((e) => e.kind === "intent" && e.caId === ca.id);
    for (const { number } of intents) expect(number).toBeLessThan(superseded ?? 0);
  }
});

test("openssl accepts old and new leaves with the one bundle, in every state of the rollover", async () => {
  const oldLeaf = (await issue(world.issuing)).certificate;
  const accepted = async (leaf: Uint8Array, ca: CaRecord) =>
    opensslVerifies({
      leaf,
      trusted: [certificateOf(world.root)],
      untrustedPem: await bundle(ca),
      at: world.clock.now(),
    });
  expect(await accepted(oldLeaf, world.issuing)).toBe(true);
  const { successor } = await rotate(world.issuing, { keyType: "ecdsa-p384" });
  const newLeaf = (await issue(world.issuing)).certificate;
  for (const ca of [world.issuing, successor]) {
    expect(await accepted(oldLeaf, ca)).toBe(true);
    expect(await accepted(newLeaf, ca)).toBe(true);
  }
  const anchored = { at: world.clock.now(), untrustedPem: "", partial: true };
  const trusted = [certificateOf(successor)];
  expect(opensslVerifies({ ...anchored, leaf: newLeaf, trusted })).toBe(true);
  expect(opensslVerifies({ ...anchored, leaf: oldLeaf, trusted })).toBe(false);
  await retire(world.issuing, true);
  expect(await accepted(newLeaf, successor)).toBe(true);
  expect(await accepted(oldLeaf, successor)).toBe(false);
});

test("a bundle has a path for every member, also when the parent was rolled over in between", async () => {
  const upper = await world.authorities.issueIntermediate(
    rootOrigin,
    world.root,
    caRequest({ label: "upper" }),
  );
  const lower = await world.authorities.issueIntermediate(
    rootOrigin,
    upper,
    caRequest({ label: "lower" }),
  );
  const newUpper = (await rotate(upper)).successor;
  const newLower = (await rotate(lower)).successor;
  expect(newLower.parent).toBe(newUpper.id);
  const blocks = decodePemBlocks(await bundle(lower), "CERTIFICATE", 10) ?? [];
  const expected = [newLower, lower, newUpper, upper, world.root].map(certificateOf);
  expect(blocks).toEqual(expected);
});

test("retire refuses while certificates of the old key live, and counts what is being signed", async () => {
  const leaf = await issue(world.issuing);
  const { old } = await rotate(world.issuing);
  const refused = await refusal(retire(old));
  expect(refused).toMatchObject({ code: "leaves_outstanding", facts: { outstanding_leaves: 1 } });
  expect(
    await rotationStatus(world.store.read, await stored(old), world.clock.now()),
  ).toMatchObject({
    outstanding: 1,
    safeToRetire: false,
    retireAfter: leaf.record.notAfter,
  });
  await world.revoker.revoke(
    { ca: old, serial: leaf.serial, origin: rootOrigin, mayManageCa: true },
    "superseded",
  );
  const now = world.clock.now();
  expect((await rotationStatus(world.store.read, await stored(old), now)).safeToRetire).toBe(true);
  expect((await retire(old)).ca.status).toBe("retired");
  expect((await refusal(retire(old))).code).toBe("ca_not_superseded");
});

test("retire revokes the old certificate under its parent, whose CRL says so before the answer", async () => {
  const { old, successor } = await rotate(world.issuing);
  const retired = await retire(successor);
  expect(retired).toMatchObject({ outstanding: 0, parent: { id: world.root.id } });
  const crl = await world.publisher.current(world.root);
  expect(crl).toMatchObject({ number: retired.crlNumber, entries: 1 });
  const certStatus = await world.store.read.revocations.certStatus(
    world.root.id,
    old.serial ?? ("" as never),
  );
  expect(certStatus).toMatchObject({ status: "revoked", reason: "cessationOfOperation" });
  // The base and the delta of the parent's full scope.
  const published = ["crl.publish", "crl.publish"];
  expect(actionsOf().slice(-4)).toEqual(["cert.revoke", "ca.retire", ...published]);
  expect(await bundle(successor)).not.toContain(encodePem("CERTIFICATE", certificateOf(old)));
  expect(await refusal(retire(world.root))).toMatchObject({ code: "ca_not_superseded" });
});

test("a client that names a retired CA is served by the active member of its lineage, on every path", async () => {
  const upper = await world.authorities.issueIntermediate(
    rootOrigin,
    world.root,
    caRequest({ label: "upper", maxPathLength: 2 }),
  );
  const leaf = await issue(upper);
  const { old, successor } = await rotate(upper);
  await retire(old, true);
  const named = await stored(old);
  expect(named.status).toBe("retired");
  const renewed = { serial: leaf.serial, csr: undefined, validityDays: undefined };
  const made = [
    (await issue(named)).caId,
    (await world.issuance.renew(rootOrigin, named, { ...renewed, caller: "interactive" })).caId,
    (await world.authorities.issueIntermediate(rootOrigin, named, caRequest({ label: "lower" })))
      .parent,
  ];
  expect(made).toEqual([successor.id, successor.id, successor.id]);
  const asked = { csr: csr() };
  const request = { asked, profile: "server", validityDays: undefined, mustStaple: undefined };
  expect((await world.issuance.preview(named, request)).refusal).toBeUndefined();
  expect(await bundle(named)).toContain(encodePem("CERTIFICATE", certificateOf(successor)));
  expect((await rotate(named)).old.id).toBe(successor.id);
});

test("without an active member a retired CA stays refused", async () => {
  const retired = { ...world.issuing, status: "retired" as const };
  await world.store.tamper("update cas set status = 'retired' where id = ?", retired.id);
  expect(await refusal(issue(retired))).toMatchObject({
    code: "ca_not_active",
    facts: { status: "retired" },
  });
});

test("a retirement whose event cannot be written retires nothing", async () => {
  const { old } = await rotate(world.issuing);
  let events = 0;
  world.store.checkWrite = (operation) => {
    if (operation === "audit.appendEvent" && ++events === 2) throw refuse("storage_unavailable");
  };
  expect((await refusal(retire(old))).code).toBe("storage_unavailable");
  world.store.checkWrite = () => {};
  expect((await stored(old)).status).toBe("superseded");
  expect(world.store.countRows("revocations")).toBe(0);
});

test("an expired CA signs nothing, and a default is never longer than the parent's life", async () => {
  const { successor } = await rotate(world.issuing);
  expect(successor.notAfter).toBe(world.issuing.notAfter);
  world.clock.at = successor.notAfter ?? world.clock.at;
  world.clock.advance(1);
  expect(await refusal(issue(successor))).toMatchObject({
    code: "ca_not_active",
    facts: { status: "expired" },
  });
});

test("a superseded and a retired member go on signing their lists until their end", async () => {
  const { old, successor } = await rotate(world.issuing);
  const numbers = async () =>
    (await world.publisher.publishAll(await stored(old), rootOrigin)).map(
      ({ base }) => base.number,
    );
  const [superseded = 0] = await numbers();
  await retire(successor);
  expect((await stored(old)).status).toBe("retired");
  const [retired = 0] = await numbers();
  expect(retired).toBeGreaterThan(superseded);
  world.clock.at = old.notAfter ?? world.clock.at;
  const [last = 0] = await numbers();
  expect(last).toBeGreaterThan(retired);
  world.clock.advance(1);
  expect(await refusal(numbers())).toMatchObject({ code: "crl_unavailable" });
});
