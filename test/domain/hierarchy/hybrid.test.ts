/**
 * Hybrid CAs: two signatures in a fixed order under everything they certify, each in the ledger,
 * each verifiable alone.
 */

import { beforeEach, describe, expect, test } from "bun:test";

import { oids } from "#core/asn1/oids.ts";
import { sha256Hex } from "#core/crypto.ts";
import { Problem, refuse } from "#core/problems.ts";
import { extensionOf, parseCertificate } from "#core/x509/certificate.ts";
import { parseCrl } from "#core/x509/crl.ts";
import { encodeName } from "#core/x509/names.ts";
import { spkiSha256 } from "#core/x509/public-keys.ts";
import type { KeyType } from "#core/x509/algorithms.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import { reconcileIntents } from "#domain/certificates/reconcile.ts";
import {
  caRequest,
  type CsrOptions,
  csr,
  dnsName,
  initRoot,
  leafRequest,
  newKey,
  rootOrigin,
  spkiOf,
} from "#test/support/worlds/issuance.ts";
import { node24Present, pathVerifies, signatureVerifies } from "#test/support/encodings/node24.ts";
import { opensslText } from "#test/support/encodings/openssl.ts";
import { alternativeIn } from "#test/support/encodings/pre-tbs.ts";
import { revokingWorld } from "#test/support/worlds/revoking-world.ts";
import { defaultTenant } from "#core/ids.ts";

let world: ReturnType<typeof revokingWorld>;
let root: CaRecord;
beforeEach(async () => {
  world = revokingWorld({ urlBase: "https://pki.example", provider: "pkcs11" });
  root = await initRoot(world, { alternativeKeyType: "ml-dsa-65" });
});

const codeOf = (promise: Promise<unknown>) =>
  promise.then(
    () => "accepted",
    (error) => (error instanceof Problem ? error.code : String(error)),
  );
const certificateOf = (ca: CaRecord) => ca.certificate ?? new Uint8Array(0);
const under = (parent: CaRecord, alternativeKeyType?: KeyType) =>
  world.authorities.issueIntermediate(
    rootOrigin,
    parent,
    caRequest({ label: "issuing", alternativeKeyType }),
  );
const issue = (
  ca: CaRecord,
  options: CsrOptions = { alternative: {} },
  profile = "hybrid-server",
) => world.issuance.issue(rootOrigin, ca, leafRequest({ csr: csr(options), profile }));
const ledger = () => world.store.listLedger();
const lastSerial = () => world.store.listSerials().at(-1);

describe.skipIf(!node24Present)("as OpenSSL 3.5 sees it", () => {
  test("X.509 (2019) §9.8: certificates, CRLs and responders of a hybrid CA verify by either signature", async () => {
    const issuing = await under(root, "ml-dsa-87");
    const { certificate, serial } = await issue(issuing);
    expect(pathVerifies([certificate, certificateOf(issuing), certificateOf(root)])).toBe(true);
    const answer = await world.askOcsp(issuing, serial);
    const responder = answer.certificates[0] ?? new Uint8Array(0);
    const crl = await world.publisher.der(await world.publisher.publishBase(issuing, rootOrigin));
    const secondKeys = { root: root.alternative?.spki, issuing: issuing.alternative?.spki };
    const signed = [
      [certificateOf(root), "certificate", secondKeys.root],
      [certificateOf(issuing), "certificate", secondKeys.root],
      [certificate, "certificate", secondKeys.issuing],
      [responder, "certificate", secondKeys.issuing],
      [crl, "crl", secondKeys.issuing],
    ] as const;
    for (const [der, kind, spki] of signed) {
      const found = alternativeIn(der, kind);
      expect(signatureVerifies(spki ?? new Uint8Array(0), found.signed, found.signature)).toBe(
        true,
      );
    }
    const { tbs, signature } = parseCrl(crl);
    expect(signatureVerifies(issuing.spki, tbs, signature)).toBe(true);
    // PQ-6: answers are natively signed.
    expect(answer.signatureName).toBe("ecdsa-sha256");
    expect(answer.answers[0]?.status).toEqual({ status: "good" });
  });
});

test("PQ-4: the three extensions are not critical, the value comes last, and openssl reads around them", async () => {
  const { extensions, tbs } = parseCertificate(certificateOf(root));
  const three = ["2.5.29.72", "2.5.29.73", "2.5.29.74"];
  expect(extensions.slice(-3).map(({ oid }) => oid)).toEqual(three);
  expect(extensions.slice(-3).some(({ critical }) => critical)).toBe(false);
  const found = alternativeIn(certificateOf(root), "certificate");
  expect(found.algorithm).toBe("2.16.840.1.101.3.4.3.18");
  expect(found.signature.length).toBe(3309);
  expect(found.spki).toEqual(root.alternative?.spki);
  expect(found.signed.length).toBeLessThan(tbs.length - 3309);
  const text = opensslText(["x509", "-inform", "DER", "-noout", "-text"], certificateOf(root));
  for (const oid of three) expect(text).toContain(oid);
  const outline = opensslText(["asn1parse", "-inform", "DER"], certificateOf(root));
  expect(outline).toContain(":X509v3 Basic Constraints");
});

test("PQ-6: the alternative signature is made first, the native one over the complete octets, and the ledger has both", async () => {
  const issuing = await under(root, "ml-dsa-44");
  const before = ledger().length;
  const { certificate, serial } = await issue(issuing);
  const { tbs, signature } = parseCertificate(certificate);
  const second = alternativeIn(certificate, "certificate");
  const entries = ledger().slice(before);
  expect(entries.map(({ kind, algorithm, provider }) => [kind, algorithm, provider])).toEqual([
    ["intent", "ml-dsa-44", "software"],
    ["outcome", "ml-dsa-44", "software"],
    ["intent", "ecdsa-sha256", "pkcs11"],
    ["outcome", "ecdsa-sha256", "pkcs11"],
  ]);
  expect(entries.map(({ digest }) => digest)).toEqual([
    sha256Hex(second.signed),
    sha256Hex(second.signed),
    sha256Hex(tbs),
    sha256Hex(tbs),
  ]);
  expect(entries[1]?.signatureSha256).toBe(sha256Hex(second.signature));
  expect(entries[3]?.signatureSha256).toBe(sha256Hex(signature));
  expect(new Set(entries.map(({ opId }) => opId)).size).toBe(2);
  expect(entries.every(({ artifact }) => artifact === serial)).toBe(true);
  expect(lastSerial()).toMatchObject({ serial, state: "issued" });
});

test("CRLs have both operations in the ledger too, under one number", async () => {
  const before = ledger().length;
  const published = await world.publisher.publishBase(root, rootOrigin);
  const der = await world.publisher.der(published);
  const second = alternativeIn(der, "crl");
  const entries = ledger().slice(before);
  expect(entries.map(({ kind, digest }) => [kind, digest])).toEqual([
    ...["intent", "outcome"].map((kind) => [kind, sha256Hex(second.signed)]),
    ...["intent", "outcome"].map((kind) => [kind, sha256Hex(parseCrl(der).tbs)]),
  ]);
  expect(entries.every(({ artifact }) => artifact === `full#${published.number}`)).toBe(true);
});

test("a certificate of a classical subject carries the second signature, and no second key", async () => {
  const { certificate } = await issue(root, {}, "server");
  const parsed = parseCertificate(certificate);
  expect(extensionOf(parsed, oids.subjectAltPublicKeyInfo)).toBeUndefined();
  expect(parsed.extensions.at(-1)?.oid).toBe(oids.altSignatureValue);
});

for (const failing of ["ml-dsa-65", "ecdsa-sha256"] as const) {
  test(`when the ${failing} key fails nothing is issued, and every operation is closed`, async () => {
    world.keys.checkTicket = ({ algorithm }) => {
      if (algorithm === failing) throw refuse("key_unavailable", { retry_after: 2 });
    };
    expect(await codeOf(issue(root))).toBe("key_unavailable");
    expect(lastSerial()).toMatchObject({ state: "abandoned" });
    expect(await world.store.read.audit.openLedgerIntents(10)).toEqual([]);
    expect(ledger().at(-1)).toMatchObject({ algorithm: failing, result: "error" });
  });
}

test("a crash between the two signatures leaves an orphan, and its entry is closed as unknown", async () => {
  world.keys.checkTicket = ({ algorithm }) => {
    // The process is gone: nothing after this reaches the store.
    if (algorithm !== "ecdsa-sha256") return;
    world.store.checkWrite = () => {
      throw new Error("gone");
    };
    throw new Error("gone");
  };
  expect(await codeOf(issue(root))).not.toBe("accepted");
  world.store.checkWrite = () => {};
  expect(await reconcileIntents(world.store, world.clock)).toHaveLength(1);
  expect(lastSerial()).toMatchObject({ state: "orphaned" });
  expect(ledger().at(-1)).toMatchObject({ algorithm: "ecdsa-sha256", result: "unknown" });
});

for (const form of ["extensions", "attributes"] as const) {
  test(`PQ-7: a request proves its second key by ${form}, and the certificate carries exactly that key`, async () => {
    const { certificate } = await issue(root, { alternative: { form } });
    expect(alternativeIn(certificate, "certificate").spki?.length).toBe(1974);
    const refused = (alternative: CsrOptions["alternative"]) =>
      codeOf(issue(root, { alternative: { form, ...alternative } }));
    expect(await refused({ stolen: true })).toBe("bad_csr");
    expect(await refused({ without: oids.altSignatureValue })).toBe("bad_csr");
    expect(await refused({ without: oids.altSignatureAlgorithm })).toBe("bad_csr");
    expect(await refused({ without: oids.subjectAltPublicKeyInfo })).toBe("bad_csr");
    expect(await refused({ keyType: "ml-dsa-44" })).toBe("key_usage_unsuitable");
    expect(await refused({ keyType: "ed25519" })).toBe("key_usage_unsuitable");
  });
}

test("hybrid-server refuses a request without second key, a post-quantum first key, and an issuer that is not hybrid", async () => {
  expect(await codeOf(issue(root, {}))).toBe("key_usage_unsuitable");
  expect(await codeOf(issue(root, { keyType: "ml-dsa-65", alternative: {} }))).toBe(
    "key_usage_unsuitable",
  );
  expect(await codeOf(issue(root, { stolen: true, alternative: {} }))).toBe("bad_csr");
  const classical = await initRoot(world, { label: "classical" });
  expect(await codeOf(issue(classical))).toBe("gate_refused");
});

test("a hybrid CA below a classical one is refused before any key is made", async () => {
  const classical = await initRoot(world, { label: "classical" });
  const keys = world.keys.held.size;
  expect(await codeOf(under(classical, "ml-dsa-65"))).toBe("ca_constraint");
  expect(world.keys.held.size).toBe(keys);
});

test("KEY-3: the first key is where CA keys are, the second is software-held and was announced", async () => {
  expect(root.key.provider).toBe("pkcs11");
  expect(root.alternative?.key.provider).toBe("software");
  const announced = ledger().filter(({ kind }) => kind === "key");
  expect(announced.map(({ provider, operation }) => [provider, operation])).toEqual([
    ["pkcs11", "generate"],
    ["software", "generate"],
  ]);
});

test.each([
  ["audit.appendLedger", 1],
  ["audit.appendLedger", 2],
  ["keyChecks.claim", 1],
])(
  "keys that cannot be put on record (%s, %d) do not stay with their providers",
  async (operation, failing) => {
    const keys = world.keys.held.size;
    let writes = 0;
    world.store.checkWrite = (write) => {
      if (write === operation && ++writes === failing) throw refuse("storage_unavailable");
    };
    const made = initRoot(world, { label: "lost", alternativeKeyType: "ml-dsa-65" });
    expect(await codeOf(made)).toBe("storage_unavailable");
    expect(world.keys.held.size).toBe(keys);
  },
);

test("why a CA was not made is said also when its keys cannot be destroyed again, and each is tried", async () => {
  const tried: string[] = [];
  const { destroy } = world.keys;
  world.keys.destroy = async ({ label }) => {
    tried.push(label);
    throw refuse("key_unavailable", { retry_after: 2 });
  };
  world.store.checkWrite = (write) => {
    if (write === "keyChecks.claim") throw refuse("storage_unavailable");
  };
  const made = initRoot(world, { label: "lost", alternativeKeyType: "ml-dsa-65" });
  expect(await codeOf(made)).toBe("storage_unavailable");
  expect(tried).toEqual([
    expect.stringMatching(/^lost-.*[^t]$/),
    expect.stringMatching(/^lost-.*-alt$/),
  ]);
  world.keys.destroy = destroy;
});

test("nobody can have the second key of a CA certified", async () => {
  const key = spkiSha256(root.alternative?.spki ?? new Uint8Array(0));
  const keyStatus = world.store.read.keyChecks.keyStatus({
    spkiSha256: key,
    tenant: defaultTenant,
    duplicate: undefined,
  });
  expect(await keyStatus).toMatchObject({ own: true });
});

test("a second key that is not free is refused as a first one would be", async () => {
  const second = newKey("ml-dsa-65");
  await world.store.atomically((tx) =>
    tx.keyChecks.claim(spkiSha256(new Uint8Array(spkiOf(second.publicKey)))),
  );
  expect(await codeOf(issue(root, { alternative: { key: second } }))).toBe("gate_refused");
});

test("KEY-4: a hybrid CA whose second key is gone, or another one, signs nothing", async () => {
  const fresh = revokingWorld();
  const ca = await initRoot(fresh, { alternativeKeyType: "ml-dsa-44" });
  const id = ca.alternative?.key.id ?? "";
  const handle = fresh.keys.held.get(id);
  const attempt = () =>
    codeOf(fresh.issuance.issue(rootOrigin, ca, leafRequest({ csr: csr(), profile: "server" })));
  fresh.keys.held.delete(id);
  expect(await attempt()).toBe("key_unavailable");
  const other = await fresh.keys.generate({
    provider: "software",
    label: "other",
    keyType: "ml-dsa-44",
    role: "ca",
  });
  fresh.keys.held.set(id, other);
  expect(await attempt()).toBe("key_unavailable");
  if (handle) fresh.keys.held.set(id, handle);
  expect(await attempt()).toBe("accepted");
});

test("a rollover gives the successor two new keys, and a first key that is classical", async () => {
  const issuing = await under(root, "ml-dsa-87");
  const request = { label: undefined, keyType: undefined, validityDays: undefined };
  const rotate = (keyType: KeyType | undefined) =>
    world.authorities.rotate(rootOrigin, issuing, { ...request, keyType });
  expect(await codeOf(rotate("ml-dsa-65"))).toBe("key_type_unsupported");
  expect(await codeOf(rotate("slh-dsa-sha2-128s"))).toBe("key_type_unsupported");
  const { successor } = await rotate(undefined);
  expect(successor.alternative?.keyType).toBe("ml-dsa-87");
  expect(successor.alternative?.key.id).not.toBe(issuing.alternative?.key.id);
  const { caId } = await issue(issuing);
  expect(caId).toBe(successor.id);
});

test("a renewal keeps the second key, or takes the proven one of a new request", async () => {
  const { certificate, serial } = await issue(root);
  const before = alternativeIn(certificate, "certificate").spki;
  const renew = (csr: string | undefined) => {
    const request = { serial, csr, validityDays: undefined, caller: "interactive" as const };
    return world.issuance.renew(rootOrigin, root, request);
  };
  const kept = await renew(undefined);
  expect(alternativeIn(kept.certificate, "certificate").spki).toEqual(before);
  const changed = await renew(csr({ alternative: {} }));
  expect(alternativeIn(changed.certificate, "certificate").spki).not.toEqual(before);
  expect(await codeOf(renew(csr()))).toBe("key_usage_unsuitable");
  expect(await codeOf(renew(csr({ alternative: { stolen: true } })))).toBe("bad_csr");
});

test("a preview without keys is not refused for the second one", async () => {
  const request = { profile: "hybrid-server", validityDays: undefined, mustStaple: undefined };
  const subject = encodeName([{ type: "CN", value: "a.example" }]);
  const asked = { subject, sans: [dnsName("a.example")] };
  const { accepted } = await world.issuance.preview(root, { ...request, asked });
  expect(accepted).toBe(true);
  const without = await world.issuance.preview(root, { ...request, asked: { csr: csr() } });
  expect(without.refusal?.code).toBe("key_usage_unsuitable");
});
