/**
 * CAs below an external root, which openssl keeps: request, import with every check, replacement.
 */

import { afterAll, beforeEach, expect, test } from "bun:test";

import { decodePemBlocks, encodePem } from "#core/asn1/pem.ts";
import { defaultTenant } from "#core/ids.ts";
import { Problem } from "#core/problems.ts";
import { parseCertificate } from "#core/x509/certificate.ts";
import { csrSignatureValid, parseCsr } from "#core/x509/csr.ts";
import { chainBundle } from "#domain/authorities/bundle.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import { externalRoot, type ExternalCertificate } from "#test/support/worlds/external-root.ts";
import { caRequest, leafRequest, rootOrigin } from "#test/support/worlds/issuance.ts";
import { opensslText } from "#test/support/encodings/openssl.ts";
import { revokingWorld } from "#test/support/worlds/revoking-world.ts";
import { opensslVerifies, sameAgain } from "#test/support/worlds/rollover.ts";

const elsewhere = externalRoot();
afterAll(() => elsewhere[Symbol.dispose]());
const chainPem = elsewhere.upperPem + elsewhere.rootPem;

let world: ReturnType<typeof revokingWorld>;
let pending: CaRecord;
beforeEach(async () => {
  world = revokingWorld();
  world.clock.at = elsewhere.soon;
  pending = await world.external.request(rootOrigin, defaultTenant, {
    label: "below",
    subject: [{ type: "CN", value: "Below" }],
    keyType: "ecdsa-p256",
    maxPathLength: undefined,
  });
});

const csrPem = () => encodePem("CERTIFICATE REQUEST", pending.csr ?? new Uint8Array());
const certificate = (wanted: Partial<ExternalCertificate> = {}) =>
  elsewhere.certify({ csrPem: csrPem(), ...wanted });
const imported = (certificatePem: string, more: object = {}) =>
  world.external.certify(rootOrigin, pending, {
    certificatePem,
    chainPem,
    replace: false,
    ...more,
  });
const refusal = (promise: Promise<unknown>) =>
  promise.then(
    () => ({ code: "accepted", facts: {} }),
    (error) => {
      if (!(error instanceof Problem)) throw error;
      return { code: error.code as string, facts: error.facts };
    },
  );
const checksOf = async (certificatePem: string, more?: object) =>
  (await refusal(imported(certificatePem, more))).facts;

test("a request is signed through the ledger, and openssl and pkid accept it", async () => {
  expect(pending).toMatchObject({ status: "pending", certificate: undefined, parent: undefined });
  expect(csrSignatureValid(parseCsr(pending.csr ?? new Uint8Array()))).toBe(true);
  const shown = opensslText(["req", "-verify", "-text", "-noout"], csrPem());
  for (const part of ["CN = Below", "CA:TRUE", "Certificate Sign", "Subject Key Identifier"]) {
    expect(shown.replaceAll("CN=", "CN = ")).toContain(part);
  }
  const ledger = world.store.listLedger();
  expect(ledger.map(({ kind, purpose }) => `${kind} ${purpose}`)).toEqual([
    "key ",
    "intent csr",
    "outcome csr",
  ]);
  expect(world.store.listEvents()).toMatchObject([
    { action: "ca.csr", result: "success", target: pending.id, targetName: "below" },
  ]);
});

test("a pending CA signs nothing, has no bundle, and its OCSP answers begin with its certificate", async () => {
  expect(await refusal(world.issuance.issue(rootOrigin, pending, leafRequest()))).toMatchObject({
    code: "ca_not_active",
    facts: { status: "pending" },
  });
  expect((await refusal(chainBundle(world.store.read.cas, pending))).code).toBe("not_found");
  const { status } = await world.ocsp.answer(pending.id, new Uint8Array());
  expect(status).toBe("malformedRequest");
  const { ca } = await imported(certificate());
  const leaf = await world.issuance.issue(rootOrigin, ca, leafRequest());
  const answer = await world.askOcsp(ca, leaf.serial);
  expect(answer.answers[0]?.status).toMatchObject({ status: "good" });
});

test("an imported CA issues leaves and CAs that openssl verifies under the external root", async () => {
  const { ca, warnings } = await imported(certificate());
  expect(warnings).toEqual([]);
  expect(await world.store.read.cas.byId(ca.id)).toEqual(ca);
  expect(ca).toMatchObject({ status: "active", externalChain: chainPem });
  const lower = await world.authorities.issueIntermediate(
    rootOrigin,
    ca,
    caRequest({ label: "l" }),
  );
  for (const issuer of [ca, lower]) {
    const leaf = await world.issuance.issue(rootOrigin, issuer, leafRequest());
    const bundle = await chainBundle(world.store.read.cas, issuer);
    const common = { leaf: leaf.certificate, trusted: [elsewhere.root], at: world.clock.now() };
    expect(opensslVerifies({ ...common, untrustedPem: bundle })).toBe(true);
    const sent = leaf.intermediates.map((der) => encodePem("CERTIFICATE", der)).join("");
    expect(opensslVerifies({ ...common, untrustedPem: sent })).toBe(true);
    // EXT-6: everything but the root.
    expect(sent).toContain(elsewhere.upperPem.trim());
    expect(sent).not.toContain(elsewhere.rootPem.trim());
    expect(bundle.endsWith(chainPem)).toBe(true);
  }
  expect(world.store.listEvents().map(({ action }) => action)).toContain("ca.import_cert");
});

test("the chain may come in any order and with certificates that do not belong to it", async () => {
  const stranger = elsewhere.stranger("/CN=Nobody");
  const shuffled = elsewhere.rootPem + stranger + elsewhere.upperPem;
  const { ca } = await imported(certificate(), { chainPem: shuffled });
  expect(decodePemBlocks(ca.externalChain ?? "", "CERTIFICATE", 9)).toHaveLength(2);
});

test("a name with control characters is not imported", async () => {
  const refused = await refusal(imported(certificate({ subject: "/CN=Rings\u0007" })));
  expect(refused.code).toBe("bad_certificate");
  expect(refused.facts).toEqual({ reason: "the subject has control characters" });
});

test("each import check refuses by its name, and nothing changes", async () => {
  const other = await world.external.request(rootOrigin, defaultTenant, {
    label: "other",
    subject: [{ type: "CN", value: "Below" }],
    keyType: "ecdsa-p256",
    maxPathLength: undefined,
  });
  const otherCsr = encodePem("CERTIFICATE REQUEST", other.csr ?? new Uint8Array());
  const events = world.store.countRows("events");
  expect(await checksOf(certificate({ csrPem: otherCsr }))).toEqual({ checks: ["public_key"] });
  expect(await checksOf(elsewhere.stranger("/CN=Below"))).toEqual({
    checks: ["public_key", "self_signed", "chain"],
  });
  expect(await checksOf(certificate({ basicConstraints: "critical,CA:FALSE" }))).toEqual({
    checks: ["basic_constraints"],
  });
  expect(await checksOf(certificate({ keyUsage: "critical,cRLSign" }))).toEqual({
    checks: ["key_cert_sign"],
  });
  expect(await checksOf(certificate(), { chainPem: elsewhere.rootPem })).toEqual({
    checks: ["chain"],
  });
  const short = certificate({ days: 1 });
  world.clock.advance(3 * 86_400);
  expect(await checksOf(short)).toEqual({ checks: ["validity"] });
  expect(world.store.countRows("events")).toBe(events);
  expect((await world.store.read.cas.byId(pending.id))?.status).toBe("pending");
});

test("what is no certificate is refused before it is judged", async () => {
  expect((await refusal(imported("nonsense"))).code).toBe("bad_certificate");
  expect((await refusal(imported(certificate(), { chainPem: "nonsense" }))).code).toBe(
    "bad_certificate",
  );
});

test("what is only unusual is a warning", async () => {
  const bare = elsewhere.certify(
    {
      csrPem: csrPem(),
      keyUsage: "",
      basicConstraints: "CA:TRUE,pathlen:2",
      subject: "/CN=Renamed",
    },
    "root",
  );
  const { ca, warnings } = await imported(bare, { chainPem: undefined });
  expect(warnings).toEqual([
    "key_usage_absent",
    "subject_changed",
    "path_length_differs",
    "chain_absent",
  ]);
  expect(ca).toMatchObject({ subject: "CN=Renamed", maxPathLength: 2, externalChain: undefined });
});

test("a certificate without cRLSign, digitalSignature or a root above it is accepted and says so", async () => {
  const { warnings } = await imported(certificate({ keyUsage: "critical,keyCertSign" }), {
    chainPem: elsewhere.upperPem,
  });
  expect(warnings).toEqual(["crl_sign_absent", "digital_signature_absent", "chain_without_root"]);
});

test("an import happens once; a replacement keeps the key, the name and the chain", async () => {
  expect((await refusal(imported(certificate(), { replace: true }))).code).toBe("ca_not_pending");
  const first = await imported(certificate());
  pending = first.ca;
  const leaf = await world.issuance.issue(rootOrigin, first.ca, leafRequest());
  expect((await refusal(imported(certificate()))).code).toBe("ca_not_pending");
  const again = { replace: true, chainPem: undefined };
  expect(await checksOf(certificate({ subject: "/CN=Renamed" }), again)).toEqual({
    checks: ["subject"],
  });
  const { ca, warnings } = await imported(certificate(), again);
  expect(warnings).toEqual([]);
  expect(ca).toMatchObject({ key: first.ca.key, externalChain: first.ca.externalChain });
  expect(ca.serial).not.toBe(first.ca.serial);
  // The new certificate is what the next leaf is sent with, and both leaves hang on it.
  const next = await world.issuance.issue(rootOrigin, ca, leafRequest());
  expect(next.intermediates[0]).toEqual(ca.certificate ?? new Uint8Array());
  const untrustedPem = await chainBundle(world.store.read.cas, ca);
  for (const { certificate: der } of [leaf, next]) {
    const trusted = [elsewhere.root];
    const at = world.clock.now();
    expect(opensslVerifies({ leaf: der, trusted, untrustedPem, at })).toBe(true);
  }
});

test("a path length above the CA binds what it may certify", async () => {
  const { ca } = await imported(certificate({ basicConstraints: "critical,CA:TRUE,pathlen:0" }));
  const below = world.authorities.issueIntermediate(rootOrigin, ca, caRequest({ label: "l" }));
  expect((await refusal(below)).code).toBe("ca_constraint");
  expect(parseCertificate(ca.certificate ?? new Uint8Array()).issuer.attributes[0]?.value).toBe(
    "External upper",
  );
});

test("an externally signed CA is not rotated, and post-quantum keys are not offered to other roots", async () => {
  const { ca } = await imported(certificate());
  expect(await refusal(world.authorities.rotate(rootOrigin, ca, sameAgain))).toMatchObject({
    code: "not_rotatable",
    facts: { reason: "externally_signed" },
  });
  const request = { ...caRequest({ label: "pq" }), keyType: "ml-dsa-65" as const };
  expect((await refusal(world.external.request(rootOrigin, defaultTenant, request))).code).toBe(
    "key_type_unsupported",
  );
});
