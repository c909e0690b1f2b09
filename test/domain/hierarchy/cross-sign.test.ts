/** Cross certificates: what they copy, what binds them, and that either root leads to the leaf. */

import { beforeEach, expect, test } from "bun:test";

import { decodePemBlocks, encodePem } from "#core/asn1/pem.ts";
import { defaultTenant } from "#core/ids.ts";
import { Problem } from "#core/problems.ts";
import { oids } from "#core/asn1/oids.ts";
import { extensionOf, parseCertificate } from "#core/x509/certificate.ts";
import { chainsOf } from "#domain/authorities/chains.ts";
import { CrossSigning, type CrossSubject } from "#domain/hierarchy/cross-sign.ts";
import { deleteCa } from "#domain/hierarchy/delete.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import { addSeconds } from "#core/time.ts";
import {
  caRequest,
  csr,
  initRoot,
  leafRequest,
  rootOrigin,
} from "#test/support/worlds/issuance.ts";
import { openssl, scratchDirectory } from "#test/support/encodings/openssl.ts";
import {
  certificateOf,
  opensslVerifies,
  rolloverWorld,
  sameAgain,
} from "#test/support/worlds/rollover.ts";

let world: Awaited<ReturnType<typeof rolloverWorld>>;
let other: CaRecord;
let crossSigning: CrossSigning;
beforeEach(async () => {
  world = await rolloverWorld();
  other = await initRoot(world, { label: "other" });
  crossSigning = new CrossSigning(world);
});

const sign = (subject: CrossSubject, more = {}) =>
  crossSigning.sign(rootOrigin, other, {
    subject,
    validityDays: undefined,
    maxPathLength: undefined,
    ...more,
  });
const local = (ca: CaRecord): CrossSubject => ({ source: "local-ca", ca });
const pem = (der: Uint8Array) => encodePem("CERTIFICATE", der);
const hexOf = (text: string) => Buffer.from(text).toString("hex");
const refusal = (promise: Promise<unknown>) =>
  promise.then(
    () => ({ code: "accepted", facts: {} }),
    (error) => {
      if (!(error instanceof Problem)) throw error;
      return { code: error.code as string, facts: error.facts };
    },
  );

test("a leaf verifies with either root, by the chains that are listed", async () => {
  const leaf = (await world.issuance.issue(rootOrigin, world.issuing, leafRequest())).certificate;
  const cross = await sign(local(world.root));
  const { cas } = world.store.read;
  const chains = await chainsOf(cas, world.issuing, world.clock.now());
  expect(chains.map(({ crossSign, issuer }) => [crossSign?.id, issuer.label])).toEqual([
    [undefined, "root"],
    [cross.id, "other"],
  ]);
  const common = { leaf, at: world.clock.now() };
  for (const [index, trusted] of [world.root, other].entries()) {
    const untrustedPem = chains[index]?.pem ?? "";
    expect(opensslVerifies({ ...common, trusted: [certificateOf(trusted)], untrustedPem })).toBe(
      true,
    );
  }
  const native = { ...common, untrustedPem: chains[0]?.pem ?? "" };
  expect(opensslVerifies({ ...native, trusted: [certificateOf(other)] })).toBe(false);
  expect(
    (await chainsOf(cas, world.root, world.clock.now())).map((one) => one.crossSign?.id),
  ).toEqual([cross.id]);
  const blocks = decodePemBlocks(chains[1]?.pem ?? "", "CERTIFICATE", 9) ?? [];
  expect(blocks).toEqual([certificateOf(world.issuing), cross.certificate, certificateOf(other)]);
});

test("name, key, key identifier, usages and constraints are the subject's", async () => {
  const none = { dns: [], ip: [], email: [], uri: [], dirNames: [] };
  const bound = await world.authorities.issueIntermediate(
    rootOrigin,
    world.root,
    caRequest({
      label: "bound",
      maxPathLength: 1,
      nameConstraints: { permitted: { ...none, dns: ["example"] }, excluded: none, critical: true },
    }),
  );
  const cross = await sign(local(bound), { maxPathLength: 0 });
  const [own, made] = [certificateOf(bound), cross.certificate].map(parseCertificate);
  expect(made?.subject.der).toEqual(own?.subject.der ?? new Uint8Array());
  expect(made?.spki).toEqual(own?.spki ?? new Uint8Array());
  for (const oid of [oids.subjectKeyIdentifier, oids.keyUsage, oids.nameConstraints]) {
    expect(made && extensionOf(made, oid)).toEqual(own && extensionOf(own, oid));
  }
  expect(made?.notAfter).toBe(bound.notAfter);
  expect(cross).toMatchObject({ subjectCa: bound.id, source: "local-ca", revoked: false });
  expect(world.store.listLedger().at(-1)).toMatchObject({
    purpose: "cross_certificate",
    result: "success",
    artifact: cross.serial,
  });
  expect(world.store.listEvents().at(-1)).toMatchObject({
    action: "ca.cross_sign",
    result: "success",
    caId: other.id,
    serial: cross.serial,
  });
});

test("what a CA elsewhere says of policies is copied octet for octet, inhibitAnyPolicy too", async () => {
  using scratch = scratchDirectory();
  const names = { key: `${scratch.path}/foreign.key`, pem: `${scratch.path}/foreign.pem` };
  openssl([
    "req",
    "-x509",
    "-newkey",
    "ec",
    "-pkeyopt",
    "ec_paramgen_curve:P-256",
    "-nodes",
    "-subj",
    "/CN=Elsewhere",
    "-days",
    "3650",
    "-keyout",
    names.key,
    "-out",
    names.pem,
    "-addext",
    "basicConstraints=critical,CA:TRUE,pathlen:1",
    "-addext",
    "keyUsage=critical,keyCertSign,cRLSign",
    "-addext",
    "certificatePolicies=1.2.3.4",
    "-addext",
    "policyMappings=1.2.3.4:1.2.3.5",
    "-addext",
    "policyConstraints=critical,requireExplicitPolicy:3,inhibitPolicyMapping:0",
    "-addext",
    "inhibitAnyPolicy=critical,2",
  ]);
  const foreignPem = scratch.read("foreign.pem").toString();
  const foreign = parseCertificate(
    decodePemBlocks(foreignPem, "CERTIFICATE", 1)?.[0] ?? new Uint8Array(),
  );
  // openssl knows no clock but the machine's.
  world.clock.at = addSeconds(foreign.notBefore, 3600);
  other = await initRoot(world, { label: "today" });
  const cross = await sign({ source: "certificate", pem: foreignPem });
  const made = parseCertificate(cross.certificate);
  const copied = [
    oids.certificatePolicies,
    oids.policyMappings,
    oids.policyConstraints,
    oids.inhibitAnyPolicy,
    oids.subjectKeyIdentifier,
    oids.keyUsage,
  ];
  for (const oid of copied) {
    expect(extensionOf(foreign, oid)).toBeDefined();
    expect(extensionOf(made, oid)).toEqual(extensionOf(foreign, oid));
  }
});

test("a cross certificate answers OCSP and is revoked under its issuer, never held", async () => {
  const cross = await sign(local(world.root));
  expect((await world.askOcsp(other, cross.serial)).answers[0]?.status).toMatchObject({
    status: "good",
  });
  const request = { ca: other, serial: cross.serial, origin: rootOrigin };
  expect(
    (await refusal(world.revoker.revoke({ ...request, mayManageCa: false }, "superseded"))).code,
  ).toBe("forbidden");
  expect((await refusal(world.revoker.suspend({ ...request, mayManageCa: true }))).code).toBe(
    "hold_not_permitted",
  );
  await world.revoker.revoke({ ...request, mayManageCa: true }, "superseded");
  expect((await world.askOcsp(other, cross.serial)).answers[0]?.status).toMatchObject({
    status: "revoked",
  });
  expect((await world.store.read.cas.crossSign(cross.id))?.revoked).toBe(true);
  expect(await chainsOf(world.store.read.cas, world.root, world.clock.now())).toEqual([]);
  expect((await world.store.read.cas.byId(world.root.id))?.status).toBe("active");
});

test("certificates and requests from elsewhere are vouched for within the issuer's limits", async () => {
  const foreign = pem(certificateOf(world.root));
  expect(await sign({ source: "certificate", pem: foreign })).toMatchObject({
    subjectCa: undefined,
  });
  const name = [{ type: "CN", value: "a.example" }];
  const request: CrossSubject = { source: "csr", pem: csr({ dns: [], subject: name }) };
  expect((await refusal(sign(request))).code).toBe("missing_field");
  const made = await sign(request, { validityDays: 30, maxPathLength: 0 });
  expect(made).toMatchObject({ source: "csr", subject: "CN=a.example" });
  expect(
    (await refusal(sign({ source: "csr", pem: csr({ stolen: true }) }, { validityDays: 1 }))).code,
  ).toBe("bad_csr");
  expect((await refusal(sign({ source: "certificate", pem: "no" }))).code).toBe("bad_certificate");
});

test("a root whose name was changed after it was signed is not vouched for", async () => {
  const whole = certificateOf(world.root);
  const forged = Uint8Array.fromHex(
    whole.toHex().replaceAll(hexOf("Test root"), hexOf("Best root")),
  );
  expect(await refusal(sign({ source: "certificate", pem: pem(forged) }))).toEqual({
    code: "bad_certificate",
    facts: { reason: "the signature of a self-issued one does not verify" },
  });
  expect((await refusal(sign({ source: "certificate", pem: pem(whole) }))).code).toBe("accepted");
});

test("what may not be vouched for is refused before the key is used", async () => {
  const leaf = (await world.issuance.issue(rootOrigin, world.issuing, leafRequest())).certificate;
  const signed = world.keys.signed.length;
  const reason = async (subject: CrossSubject, more = {}) =>
    (await refusal(sign(subject, more))).facts;
  expect(await reason({ source: "certificate", pem: pem(leaf) })).toEqual({
    reason: "subject_not_a_ca",
  });
  expect(await reason(local(other))).toEqual({ reason: "same_key" });
  expect(await reason(local(world.issuing), { maxPathLength: 1 })).toEqual({
    reason: "path_length",
  });
  expect(await refusal(sign(local(world.root), { validityDays: 36_500 }))).toMatchObject({
    code: "validity_exceeds_limit",
  });
  other = { ...other, status: "retired" };
  await world.store.tamper("update cas set status = 'retired' where id = ?", other.id);
  expect((await refusal(sign(local(world.root)))).code).toBe("ca_not_active");
  expect(world.keys.signed.length).toBe(signed);
});

test("a CA is deleted only while nothing depends on it, and its key only when asked", async () => {
  const remove = (ca: CaRecord, destroy = false) => deleteCa(world, rootOrigin, ca, destroy);
  const held = world.keys.held.size;
  expect((await refusal(remove(world.root))).code).toBe("ca_in_use");
  await remove(other);
  expect(await world.store.read.cas.byId(other.id)).toBeUndefined();
  expect(world.keys.held.size).toBe(held);
  const request = { ...caRequest({ label: "waiting" }), keyType: "ecdsa-p256" as const };
  const waiting = await world.external.request(rootOrigin, defaultTenant, request);
  await remove(waiting, true);
  expect(world.keys.held.size).toBe(held);
  expect(world.store.listEvents().at(-1)).toMatchObject({
    action: "ca.delete",
    result: "success",
    targetName: "waiting",
  });
  const { successor } = await world.authorities.rotate(rootOrigin, world.issuing, sameAgain);
  expect((await refusal(remove(successor))).code).toBe("ca_in_use");
});

test("an expired CA without living certificates and children can go", async () => {
  const leaf = await world.issuance.issue(rootOrigin, world.issuing, leafRequest());
  expect((await refusal(deleteCa(world, rootOrigin, world.issuing, false))).code).toBe("ca_in_use");
  world.clock.at = world.issuing.notAfter ?? world.clock.at;
  world.clock.advance(1);
  await deleteCa(world, rootOrigin, world.issuing, false);
  const { certificates } = world.store.read;
  expect(await certificates.bySerial(world.issuing.id, leaf.serial)).toEqual(leaf.record);
});
