/** CAs: created through the ceremony, bound by their parents, verified by openssl. */

import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { encodePem } from "#core/asn1/pem.ts";
import { responderExtensions } from "#core/policy/certificate-extensions.ts";
import { tenantId } from "#core/ids.ts";
import { Problem, refuse } from "#core/problems.ts";
import { addSeconds } from "#core/time.ts";
import type { KeyType } from "#core/x509/algorithms.ts";
import { parseCertificate } from "#core/x509/certificate.ts";
import { subjectKeyId } from "#core/x509/extensions.ts";
import { chainBundle, pemBundle } from "#domain/authorities/bundle.ts";
import type { CaRequest } from "#domain/hierarchy/create.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import { certifyResponder } from "#domain/certificates/responder.ts";
import {
  caRequest,
  csr,
  initRoot,
  issuanceWorld,
  leafRequest,
  newKey,
  rootOrigin,
  spkiOf,
} from "#test/support/worlds/issuance.ts";
import { tenant } from "#test/support/stores/records.ts";

const folder = mkdtempSync(join(tmpdir(), "pkid-create-"));
afterAll(() => rmSync(folder, { recursive: true }));

const algorithms: readonly KeyType[] = ["ecdsa-p256", "ecdsa-p384", "rsa-2048", "ed25519"];

for (const keyType of algorithms) {
  test(`openssl verifies root, intermediate and leaf with ${keyType} keys`, async () => {
    const world = issuanceWorld({ urlBase: "https://pki.example" });
    const root = await initRoot(world, { keyType });
    const intermediate = await world.authorities.issueIntermediate(
      rootOrigin,
      root,
      caRequest({ label: "issuing", keyType, maxPathLength: 0 }),
    );
    const request = leafRequest({ csr: csr({ keyType }) });
    const issued = await world.issuance.issue(rootOrigin, intermediate, request);
    const write = (name: string, der: Uint8Array) => {
      const path = join(folder, `${keyType}-${name}.pem`);
      writeFileSync(path, encodePem("CERTIFICATE", der));
      return path;
    };
    const rootPath = write("root", root.certificate ?? new Uint8Array());
    const chainPath = join(folder, `${keyType}-chain.pem`);
    writeFileSync(chainPath, pemBundle(issued.intermediates));
    const leafPath = write("leaf", issued.certificate);
    const at = String(Math.floor(world.clock.now() / 1000));
    const verify = ["verify", "-x509_strict", "-purpose", "sslserver", "-attime", at];
    const run = Bun.spawnSync([
      "openssl",
      ...verify,
      "-CAfile",
      rootPath,
      "-untrusted",
      chainPath,
      leafPath,
    ]);
    expect(run.stderr.toString()).toBe("");
    expect(run.stdout.toString()).toContain(": OK");
    expect(issued.intermediates).toHaveLength(1);
  });
}

const codeOf = (promise: Promise<unknown>) =>
  promise.then(
    () => "accepted",
    (error) => (error instanceof Problem ? error.code : String(error)),
  );
const none = { dns: [], ip: [], email: [], uri: [], dirNames: [] };
const onlyDns = (...dns: string[]) => ({
  permitted: { ...none, dns },
  excluded: none,
  critical: true,
});

test("a root is recorded under itself, announced in the ledger, and an event", async () => {
  const world = issuanceWorld();
  const root = await initRoot(world, { maxPathLength: 1 });
  expect(root).toMatchObject({
    parent: undefined,
    lineage: root.id,
    status: "active",
    maxPathLength: 1,
    subject: "CN=Test root",
    internal: false,
  });
  expect(await world.store.read.cas.byId(root.id)).toEqual(root);
  const [row] = world.store.listRows("certificates");
  expect(row).toMatchObject({ caId: root.id, serial: root.serial, kind: "ca" });
  const kinds = world.store.listLedger().map(({ kind }) => kind);
  expect(kinds).toEqual(["key", "intent", "outcome"]);
  expect(world.store.listEvents()).toMatchObject([
    { action: "ca.init_root", result: "success", target: root.id, targetName: "root" },
  ]);
});

test("the key's label carries the CA's, and a repeat never collides with it", async () => {
  const world = issuanceWorld();
  world.store.checkWrite = (operation) => {
    if (operation === "cas.insert") throw refuse("storage_unavailable");
  };
  expect(await codeOf(initRoot(world))).toBe("storage_unavailable");
  world.store.checkWrite = () => {};
  const root = await initRoot(world);
  expect(root.key.label).toBe(`root-${root.id}`);
});

test("a label another tenant has is no more than not available", async () => {
  const world = issuanceWorld();
  await world.store.atomically((tx) => tx.tenants.insert(tenant("web")));
  await world.authorities.initRoot(rootOrigin, tenantId("web"), caRequest({ label: "foreign" }));
  await initRoot(world, { label: "own" });
  const refusals: unknown[] = [];
  for (const label of ["own", "foreign"]) {
    const refused = await initRoot(world, { label }).catch((error: unknown) => error);
    if (refused instanceof Problem) refusals.push([refused.code, refused.message, refused.facts]);
  }
  const same = ["already_exists", "The name is not available.", { field: "label" }];
  expect(refusals).toEqual([same, same]);
});

test("a taken label is refused before a key is made", async () => {
  const world = issuanceWorld();
  await initRoot(world);
  const keys = world.keys.held.size;
  expect(await codeOf(initRoot(world))).toBe("already_exists");
  expect(world.keys.held.size).toBe(keys);
});

test("TEN-2: a suspended tenant gets no CA and no request for one, and no key is made for what is refused", async () => {
  const world = issuanceWorld();
  const suspended = { ...tenant("web"), status: "suspended" as const };
  await world.store.atomically((tx) => tx.tenants.insert(suspended));
  const web = tenantId("web");
  const refused = [
    world.authorities.initRoot(rootOrigin, web, caRequest()),
    world.external.request(rootOrigin, web, { ...caRequest(), maxPathLength: undefined }),
  ];
  for (const one of refused) expect(await codeOf(one)).toBe("tenant_suspended");
  expect([world.keys.held.size, world.store.countRows("ledger")]).toEqual([0, 0]);
});

test("path length: below zero nothing, otherwise one less than the parent's", async () => {
  const world = issuanceWorld();
  const root = await initRoot(world, { maxPathLength: 1 });
  const under = (parent: CaRecord, label: string, maxPathLength?: number) =>
    world.authorities.issueIntermediate(rootOrigin, parent, caRequest({ label, maxPathLength }));
  expect(await codeOf(under(root, "too-long", 1))).toBe("ca_constraint");
  const issuing = await under(root, "issuing");
  expect(issuing.maxPathLength).toBe(0);
  expect(await codeOf(under(issuing, "below"))).toBe("ca_constraint");
});

test("a validity beyond the parent's is refused, a default is shortened to it", async () => {
  const world = issuanceWorld();
  const root = await initRoot(world, { validityDays: 100 });
  const under = (label: string, validityDays?: number) =>
    world.authorities.issueIntermediate(rootOrigin, root, caRequest({ label, validityDays }));
  expect(await codeOf(under("long", 101))).toBe("validity_exceeds_limit");
  expect(await codeOf(under("same", 100))).toBe("accepted");
  expect((await under("default")).notAfter).toBe(root.notAfter);
});

test("name constraints bind subordinates and leaves along the whole path", async () => {
  const world = issuanceWorld();
  const root = await initRoot(world, { nameConstraints: onlyDns("example.com") });
  const under = (label: string, nameConstraints: CaRequest["nameConstraints"]) =>
    world.authorities.issueIntermediate(rootOrigin, root, caRequest({ label, nameConstraints }));
  expect(await codeOf(under("claims", onlyDns("example.org")))).toBe("ca_constraint");
  const issuing = await under("issuing", onlyDns("a.example.com"));
  const leaf = (name: string) =>
    world.issuance.issue(
      rootOrigin,
      issuing,
      leafRequest({ csr: csr({ subject: [{ type: "CN", value: name }], dns: [name] }) }),
    );
  expect(await codeOf(leaf("x.a.example.com"))).toBe("accepted");
  expect(await codeOf(leaf("b.example.com"))).toBe("gate_refused");
});

test("a CA the gates refuse leaves no key behind and a denied event", async () => {
  const world = issuanceWorld();
  const subject = [{ type: "CN", value: "x".repeat(65) }];
  expect(await codeOf(initRoot(world, { subject }))).toBe("gate_refused");
  expect(world.keys.held.size).toBe(0);
  expect(world.keys.signed).toEqual([]);
  const events = world.store.listEvents();
  expect(events).toMatchObject([{ action: "ca.init_root", result: "denied", target: "" }]);
});

test("only an active CA certifies another", async () => {
  const world = issuanceWorld();
  const root = await initRoot(world);
  const retired = { ...root, status: "retired" as const };
  await world.store.tamper("update cas set status = 'retired' where id = ?", root.id);
  const request = caRequest({ label: "below" });
  expect(await codeOf(world.authorities.issueIntermediate(rootOrigin, retired, request))).toBe(
    "ca_not_active",
  );
});

test("addresses are written only with a base, and name the CA that signs", async () => {
  const bare = issuanceWorld();
  const plain = await bare.issuance.issue(rootOrigin, await initRoot(bare), leafRequest());
  const oidsOf = (der: Uint8Array) => parseCertificate(der).extensions.map(({ oid }) => oid);
  expect(oidsOf(plain.certificate)).not.toContain("2.5.29.31");
  const world = issuanceWorld({ urlBase: "http://pki.example" });
  const root = await initRoot(world);
  const { certificate } = await world.issuance.issue(rootOrigin, root, leafRequest());
  const text = Buffer.from(certificate).toString("latin1");
  for (const end of ["ocsp", "certificate", "crl"]) {
    expect(text).toContain(`http://pki.example/api/ca/${root.id}/${end}`);
  }
});

test("the bundle is the active certificate, superseded siblings, then the ancestors", async () => {
  const world = issuanceWorld();
  const root = await initRoot(world);
  const under = (label: string) =>
    world.authorities.issueIntermediate(rootOrigin, root, caRequest({ label }));
  const [old, active, retired] = [await under("old"), await under("new"), await under("gone")];
  const change = "update cas set lineage = ?, status = ? where id = ?";
  await world.store.tamper(change, old.id, "superseded", old.id);
  await world.store.tamper(change, old.id, "active", active.id);
  await world.store.tamper(change, old.id, "retired", retired.id);
  const bundle = await chainBundle(world.store.read.cas, old);
  const expected = [active, old, root].map(({ certificate }) => certificate ?? new Uint8Array());
  expect(bundle).toBe(pemBundle(expected));
});

test("CFG-11: the internal CA is made once, unlisted, and certifies the serving key", async () => {
  const world = issuanceWorld();
  const internal = await world.serving.internalCa();
  expect(internal).toMatchObject({ internal: true, maxPathLength: 0, keyType: "ecdsa-p256" });
  expect(await world.serving.internalCa()).toEqual(internal);
  const listed = await world.store.read.cas.page({ reach: "platform" }, 10);
  expect(listed.items).toEqual([]);
  const { record, chainPem, caPem } = await world.serving.certify(internal, {
    spki: spkiOf(newKey("ecdsa-p256").publicKey),
    common_name: "host",
    profile: "server",
    dnsNames: ["host", "LOCALHOST"],
    ips: ["127.0.0.1", "::1"],
    validitySeconds: undefined,
  });
  expect(record).toMatchObject({
    kind: "serving",
    marker: "serving-tls",
    caId: internal.id,
    sans: ["dns:host", "dns:localhost", "ip:127.0.0.1", "ip:::1"],
  });
  expect(chainPem.match(/BEGIN/g)).toHaveLength(1);
  expect(caPem).toContain("BEGIN CERTIFICATE");
});

test("a name no certificate can carry is refused for the serving key", async () => {
  const world = issuanceWorld();
  const request = {
    spki: spkiOf(newKey("ecdsa-p256").publicKey),
    common_name: "host",
    profile: "server",
    dnsNames: ["a b"],
    ips: [],
    validitySeconds: undefined,
  };
  const internal = await world.serving.internalCa();
  expect(await codeOf(world.serving.certify(internal, request))).toBe("unprocessable");
});

test("a responder's certificate goes through the same ceremony and tells its unit", async () => {
  const world = issuanceWorld();
  const root = await initRoot(world);
  const key = newKey("ecdsa-p256").publicKey;
  const signer = await world.signers.signer(root, world.clock.now());
  const keyId = subjectKeyId(spkiOf(key), "rfc7093");
  let told: string | undefined;
  const record = await certifyResponder(world, {
    ca: root,
    spki: spkiOf(key),
    notBefore: world.clock.now(),
    notAfter: addSeconds(world.clock.now(), 86_400),
    extensions: responderExtensions(keyId, signer.issuer.repeated),
    also: async (_tx, { serial }) => {
      told = serial;
    },
  });
  expect(record.kind).toBe("responder");
  expect(told).toBe(record.serial);
  const entry = world.store.listLedger().at(-1);
  expect(entry).toMatchObject({ purpose: "responder_certificate", result: "success" });
});
