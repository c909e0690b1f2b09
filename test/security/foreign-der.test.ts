/**
 * Whatever DER others send, at every door it comes in by: it is accepted, or refused by a code that
 * is theirs to mend.
 */

import { askJson, openPipeline } from "#test/support/worlds/asking.ts";
import { beforeAll, expect, test } from "bun:test";

import { blockedKeyHandlers } from "#api/blocked-keys.ts";
import { crossSignHandlers } from "#api/cross-signs.ts";
import { externalHandlers } from "#api/external.ts";
import { issuanceHandlers } from "#api/issuance.ts";
import { lintHandlers } from "#api/lint.ts";
import { validationHandlers } from "#api/validation.ts";
import { integer } from "#core/asn1/der.ts";
import { oids } from "#core/asn1/oids.ts";
import { encodePem } from "#core/asn1/pem.ts";
import { parseSerial } from "#core/ids.ts";
import { Problem } from "#core/problems.ts";
import { addSeconds } from "#core/time.ts";
import { encodeTbsCertificate, type TbsCertificate } from "#core/x509/certificate.ts";
import { parseCertificate } from "#core/x509/certificate.ts";
import { parseCsr } from "#core/x509/csr.ts";
import * as extensions from "#core/x509/extensions.ts";
import { nameConstraints } from "#core/x509/name-constraints.ts";
import { encodeName } from "#core/x509/names.ts";
import { policyConstraints, policyMappings } from "#core/x509/policy-extensions.ts";
import { ClientCertificates } from "#domain/access/client-certificates.ts";
import { Outcome } from "#domain/access/outcome.ts";
import type { GuardedCall } from "#domain/access/perform.ts";
import { CrossSigning } from "#domain/hierarchy/cross-sign.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import { BlockedKeys } from "#domain/key-checks/block.ts";
import { clientPaths, somewhere } from "#test/support/worlds/client-paths.ts";
import {
  csr,
  initRoot,
  leafRequest,
  newKey,
  rootOrigin,
  spkiOf,
} from "#test/support/worlds/issuance.ts";
import { mutations, signedMutations } from "#test/support/fuzz/mutations.ts";
import { rolloverWorld } from "#test/support/worlds/rollover.ts";
import { certify, makeKey } from "#test/support/encodings/x509.ts";

const count = 1500;
const key = makeKey("ecdsa-p256");
const trees = {
  dns: ["good.example"],
  ip: ["10.0.0.0/8"],
  email: ["good.example"],
  uri: ["good.example"],
};
const dirNames = [encodeName([{ type: "O", value: "Good" }]).der];
const none = { dns: [], ip: [], email: [], uri: [], dirNames: [] };
const subject = encodeName([
  { type: "C", value: "DE" },
  { type: "O", value: "Elsewhere" },
  { type: "CN", value: "Elsewhere Root" },
]).der;

let world: Awaited<ReturnType<typeof rolloverWorld>>;
let other: CaRecord;
let fields: TbsCertificate;
let ask: (operation: Operation, body: object, id?: string) => Promise<unknown>;
let handlers: ReturnType<typeof handlersOf>;
beforeAll(async () => {
  world = await rolloverWorld();
  other = await initRoot(world, { label: "other" });
  handlers = handlersOf();
  const perform = openPipeline({ ...world });
  ask = (operation, body, id) => {
    const path: Record<string, string> = id === undefined ? {} : { id };
    const call = { operation, origin: rootOrigin, path, query: new URLSearchParams() };
    return askJson(perform, { ...call, body: async () => body }, handlers[operation]);
  };
  fields = elsewhere();
});

function handlersOf() {
  const crossSigning = new CrossSigning(world);
  const {
    "ca.chains": _chains,
    "ca.cross_chain": _chain,
    ...cross
  } = crossSignHandlers({
    ...world,
    crossSigning,
  });
  return {
    ...cross,
    ...externalHandlers(world),
    ...issuanceHandlers(world),
    ...validationHandlers(world),
    ...lintHandlers(world),
    ...blockedKeyHandlers({ store: world.store, blockedKeys: new BlockedKeys(world) }),
  };
}
type Operation = Extract<keyof ReturnType<typeof handlersOf>, string>;

/** A root with everything a CA certificate can say of what is below it. */
function elsewhere(): TbsCertificate {
  const now = world.clock.now();
  return {
    serial: parseSerial("12345678901234567890"),
    signature: "ecdsa-sha256",
    issuer: subject,
    subject,
    spki: key.spki,
    notBefore: addSeconds(now, -3600),
    notAfter: addSeconds(now, 86_400 * 365),
    extensions: [
      extensions.basicConstraints(true, 3),
      extensions.keyUsage(["keyCertSign", "cRLSign", "digitalSignature"]),
      extensions.extendedKeyUsage(["serverAuth", "clientAuth"]),
      extensions.subjectKeyIdentifier(extensions.subjectKeyId(key.spki, "sha1")),
      extensions.authorityKeyIdentifier(extensions.subjectKeyId(key.spki, "sha1")),
      nameConstraints({ permitted: none, excluded: { ...trees, dirNames } }, true),
      extensions.certificatePolicies(
        { oids: ["1.2.3.4"], cps: "https://elsewhere.example/" },
        false,
      ),
      policyMappings([{ issuer: "1.2.3.4", subject: "1.2.3.5" }]),
      policyConstraints({ requireExplicitPolicy: 3, inhibitPolicyMapping: 0 }),
      { oid: oids.inhibitAnyPolicy, critical: true, value: integer(2) },
      extensions.crlDistributionPoints(["http://elsewhere.example/crl"]),
    ],
  };
}

const certificatePem = (der: Uint8Array) => encodePem("CERTIFICATE", der);
const requestPem = (der: Uint8Array) => encodePem("CERTIFICATE REQUEST", der);
/** Half of them only broken, half signed again after that. */
function* broken(made: TbsCertificate): Generator<Uint8Array> {
  yield* mutations(certify(key, made), count / 2, "raw");
  yield* signedMutations(encodeTbsCertificate(made), key, "ecdsa-sha256", count / 2);
}

/** Codes of all outcomes, by how often; anything else thrown is what this test is about. */
async function outcomes(
  inputs: Iterable<Uint8Array>,
  send: (der: Uint8Array) => Promise<unknown>,
): Promise<Readonly<Record<string, number>>> {
  const codes: Record<string, number> = {};
  for (const der of inputs) {
    const code = await send(der).then(
      () => "accepted",
      (error) => {
        if (error instanceof Problem && error.code !== "internal") return error.code;
        throw new Error(`${error} by ${der.toHex()}`, { cause: error });
      },
    );
    codes[code] = (codes[code] ?? 0) + 1;
  }
  return codes;
}

test("a certificate to be vouched for", async () => {
  const codes = await outcomes(broken(fields), (der) =>
    ask("ca.cross_sign", { certificate_pem: certificatePem(der) }, other.id),
  );
  expect(codes.accepted).toBeGreaterThan(30);
  expect(codes.bad_certificate).toBeGreaterThan(500);
  expect(codes.gate_refused).toBeGreaterThan(5);
}, 120_000);

test("a request to be vouched for, issued, previewed and shown", async () => {
  const request = parseCsr(
    csr({ key: { privateKey: key.privateKey, publicKey: newKey("ecdsa-p256").publicKey } }),
  );
  const held = newKey("ecdsa-p256");
  const whole = parseCsr(csr({ key: held, extensions: [extensions.mustStaple()] }));
  const signer = { privateKey: held.privateKey, spki: spkiOf(held.publicKey) };
  const all = [
    ...mutations(request.der, count / 2, "request"),
    ...signedMutations(whole.tbs, signer, "ecdsa-sha256", count / 2),
  ];
  const doors: readonly [Operation, (pem: string) => object, string?][] = [
    ["cert.issue", (pem) => ({ csr: pem }), world.issuing.id],
    ["cert.preview", (pem) => ({ csr: pem }), world.issuing.id],
    ["csr.parse", (pem) => ({ csr: pem })],
    ["ca.cross_sign", (pem) => ({ csr_pem: pem, validity_days: 3 }), other.id],
    ["key.block", (pem) => ({ csr: pem, reason: "x" })],
  ];
  for (const [operation, body, id] of doors) {
    const codes = await outcomes(all, (der) => ask(operation, body(requestPem(der)), id));
    expect(codes.accepted).toBeGreaterThan(operation === "cert.issue" ? 5 : 30);
    expect(codes.bad_csr).toBeGreaterThan(count / 4);
  }
}, 120_000);

test("a certificate to be imported, and the chain above it", async () => {
  const upper = certify(key, fields);
  const ca = await waiting("import");
  const below: TbsCertificate = {
    ...fields,
    serial: parseSerial("99"),
    spki: ca.spki,
    subject: parseCsr(ca.csr ?? new Uint8Array()).subject.der,
  };
  const { store } = world;
  await store.tamper("create table waiting as select * from cas where id = ?", ca.id);
  const send = async (body: object) => {
    await ask("ca.import_cert", body, ca.id);
    // It signs now, or refuses; and it waits again for the next one.
    try {
      const active = (await world.store.read.cas.byId(ca.id)) ?? ca;
      await world.issuance.issue(rootOrigin, active, leafRequest({ validityDays: 1 }));
    } finally {
      await store.tamper("insert or replace into cas select * from waiting");
    }
  };
  const chain = certificatePem(upper);
  const codes = await outcomes(
    signedMutations(encodeTbsCertificate(below), key, "ecdsa-sha256", count / 2),
    (der) => send({ certificate_pem: certificatePem(der), chain_pem: chain }),
  );
  expect(codes.bad_certificate).toBeGreaterThan(10);
  expect(codes.accepted).toBeGreaterThan(10);
  const above = await outcomes(broken(fields), (der) =>
    send({
      certificate_pem: certificatePem(certify(key, below)),
      chain_pem: certificatePem(der),
    }),
  );
  expect(above.bad_certificate).toBeGreaterThan(10);
  expect(above.accepted).toBeGreaterThan(10);
}, 120_000);

test("a certificate to be validated, linted, blocked or shown to approvers", async () => {
  const leaf: TbsCertificate = {
    ...fields,
    subject: encodeName([{ type: "CN", value: "a.example" }]).der,
    extensions: [
      extensions.extendedKeyUsage(["serverAuth"]),
      extensions.subjectAltName([{ kind: "dns", value: "a.example" }], false),
      extensions.keyUsage(["digitalSignature"]),
      ...fields.extensions.slice(3, 5),
    ],
  };
  const ca = await imported();
  const doors: readonly [Operation, (pem: string) => object][] = [
    ["cert.validate", (pem) => ({ ca, certificate: pem, skip_revocation: true })],
    ["cert.lint", (pem) => ({ certificate: pem, profile: "server", public: true })],
    ["key.block", (pem) => ({ certificate: pem, reason: "x" })],
  ];
  for (const [operation, body] of doors) {
    const codes = await outcomes(broken(leaf), (der) => ask(operation, body(certificatePem(der))));
    expect(codes.bad_certificate).toBeGreaterThan(10);
    expect(codes.accepted).toBeGreaterThan(10);
  }
  for (const operation of ["ca.cross_sign", "ca.import_cert"] as const) {
    const codes = await outcomes(broken(leaf), async (der) => {
      const body = { certificate_pem: certificatePem(der), chain_pem: certificatePem(der) };
      const gate = async ({ describe }: GuardedCall) => {
        await describe(body);
        return new Outcome("parked", {});
      };
      const call = { operation, origin: rootOrigin, path: { id: other.id } };
      const asked = { ...call, body: async () => ({ certificate_pem: body.certificate_pem }) };
      await askJson(openPipeline({ ...world, gate }), asked, handlers[operation]);
    });
    expect(codes.bad_certificate).toBeGreaterThan(10);
  }
}, 120_000);

test("a public key to be blocked", async () => {
  for (const type of ["rsa-2048", "ecdsa-p384", "ed25519", "ml-dsa-44"] as const) {
    const { spki } = makeKey(type);
    const codes = await outcomes(mutations(spki, count / 4, type), (der) =>
      ask("key.block", { public_key: encodePem("PUBLIC KEY", der), reason: "x" }),
    );
    expect(codes.accepted).toBeGreaterThan(1);
  }
}, 60_000);

test("a client certificate", async () => {
  const anchor = parseCertificate(certify(key, fields));
  const trust = { anchors: [anchor], bindings: [] };
  const clients = new ClientCertificates({
    ...world,
    paths: clientPaths(),
    trust: () => trust,
    onLogin: () => {},
    log: { write: () => {} },
  });
  const leaf = { ...fields, subject: encodeName([{ type: "CN", value: "robot" }]).der };
  const codes = await outcomes(broken(leaf), (der) =>
    clients.principal({ chain: [der] }, somewhere),
  );
  expect(codes).toEqual({ accepted: count });
}, 60_000);

/** A CA that waits for the certificate of the root elsewhere. */
async function waiting(label: string): Promise<CaRecord> {
  const subject = [{ type: "CN", value: "Below" }];
  const request = { label, subject, keyType: "ecdsa-p256" as const, maxPathLength: undefined };
  return await world.external.request(rootOrigin, world.root.tenant, request);
}

/** The id of a CA that has it. */
async function imported(): Promise<string> {
  const { id, csr: request = new Uint8Array(), spki } = await waiting("below");
  const own = { ...fields, subject: parseCsr(request).subject.der, spki };
  const certificate_pem = certificatePem(certify(key, own));
  const chain_pem = certificatePem(certify(key, fields));
  await ask("ca.import_cert", { certificate_pem, chain_pem }, id);
  return id;
}
