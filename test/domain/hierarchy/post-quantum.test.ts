/**
 * Post-quantum CAs: everything they sign verifies in another implementation, and the rules are
 * those of every CA.
 */

import { beforeEach, describe, expect, test } from "bun:test";

import { oids } from "#core/asn1/oids.ts";
import { importPublicKey, verifySignature } from "#core/crypto.ts";
import { admit } from "#core/policy/admit.ts";
import { slhDsaSpki } from "#core/slh-dsa.ts";
import { encodeName } from "#core/x509/names.ts";
import { Problem } from "#core/problems.ts";
import type { KeyType } from "#core/x509/algorithms.ts";
import { extensionOf, parseCertificate } from "#core/x509/certificate.ts";
import { parseCrl } from "#core/x509/crl.ts";
import { parseKeyUsage } from "#core/x509/extensions.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import {
  caRequest,
  csr,
  dnsName,
  initRoot,
  leafRequest,
  rootOrigin,
} from "#test/support/worlds/issuance.ts";
import { node24Present, pathVerifies, signatureVerifies } from "#test/support/encodings/node24.ts";
import { opensslText } from "#test/support/encodings/openssl.ts";
import { revokingWorld } from "#test/support/worlds/revoking-world.ts";

const sizes = { "ml-dsa-44": 2420, "ml-dsa-65": 3309, "ml-dsa-87": 4627 } as const;
const arcs = { "ml-dsa-44": 17, "ml-dsa-65": 18, "ml-dsa-87": 19 } as const;

let world: ReturnType<typeof revokingWorld>;
beforeEach(() => {
  world = revokingWorld({ urlBase: "https://pki.example", provider: "pkcs11" });
});

const under = (root: CaRecord, keyType: KeyType) =>
  world.authorities.issueIntermediate(rootOrigin, root, caRequest({ label: "issuing", keyType }));
const codeOf = (promise: Promise<unknown>) =>
  promise.then(
    () => "accepted",
    (error) => (error instanceof Problem ? error.code : String(error)),
  );
const certificateOf = (ca: CaRecord) => ca.certificate ?? new Uint8Array(0);

describe.skipIf(!node24Present)("as OpenSSL 3.5 sees it", () => {
  for (const keyType of ["ml-dsa-44", "ml-dsa-65", "ml-dsa-87"] as const) {
    test(`RFC 9881: a whole ${keyType} hierarchy verifies, CRL and OCSP answers too`, async () => {
      const root = await initRoot(world, { keyType });
      const issuing = await under(root, keyType);
      const request = leafRequest({ csr: csr({ keyType }), profile: "pqc-server" });
      const { certificate, serial } = await world.issuance.issue(rootOrigin, issuing, request);
      const path = [certificate, certificateOf(issuing), certificateOf(root)];
      expect(pathVerifies(path)).toBe(true);
      expect(pathVerifies([certificate, certificateOf(root)])).toBe(false);

      const crl = parseCrl(
        await world.publisher.der(await world.publisher.publishBase(issuing, rootOrigin)),
      );
      expect(crl.signatureName).toBe(keyType);
      expect(signatureVerifies(issuing.spki, crl.tbs, crl.signature)).toBe(true);

      const answer = await world.askOcsp(issuing, serial);
      expect(answer.answers[0]?.status).toEqual({ status: "good" });
      const [responder] = answer.certificates.map(parseCertificate);
      // PQ-3: the responder's own key is of the family of its CA, and software-held as its CA is.
      expect(answer.signatureName).toBe(keyType);
      expect(signatureVerifies(responder?.spki ?? issuing.spki, answer.tbs, answer.signature)).toBe(
        true,
      );
      expect(pathVerifies([responder?.der ?? certificate, ...path.slice(1)])).toBe(true);
    });
  }

  test("RFC 9909: an SLH-DSA root certifies ML-DSA CAs and signs its CRL; its responder is ML-DSA", async () => {
    const root = await initRoot(world, { keyType: "slh-dsa-sha2-128s" });
    const issuing = await under(root, "ml-dsa-65");
    expect(pathVerifies([certificateOf(issuing), certificateOf(root)])).toBe(true);
    const { signature, signatureOid } = parseCertificate(certificateOf(issuing));
    expect([signature.length, signatureOid]).toEqual([7856, "2.16.840.1.101.3.4.3.20"]);
    const crl = parseCrl(
      await world.publisher.der(await world.publisher.publishBase(root, rootOrigin)),
    );
    expect(signatureVerifies(root.spki, crl.tbs, crl.signature)).toBe(true);
    const key = importPublicKey(root.spki);
    expect(verifySignature(key, {}, crl.tbs, crl.signature)).toBe(true);
    expect(verifySignature(key, {}, crl.tbs.with(9, 1), crl.signature)).toBe(false);
    expect(verifySignature(key, {}, crl.tbs, crl.signature.slice(1))).toBe(false);
    const answer = await world.askOcsp(root, issuing.serial ?? caSerial());
    expect(answer.signatureName).toBe("ml-dsa-44");
    expect(root.key.provider).toBe("software");
    // Four signatures of a second or more each.
  }, 60_000);
});

test("PQ-1: SLH-DSA is for roots only: no intermediate, and no leaf", async () => {
  const root = await initRoot(world, { keyType: "ml-dsa-65" });
  const keys = world.keys.held.size;
  expect(await codeOf(under(root, "slh-dsa-sha2-128s"))).toBe("key_type_unsupported");
  expect(world.keys.held.size).toBe(keys);
  const { issuer } = await world.signers.signer(root, world.clock.now());
  const csr = {
    subject: encodeName([{ type: "CN", value: "a.example" }]),
    sans: [dnsName("a.example")],
    spki: slhDsaSpki("slh-dsa-sha2-128s", new Uint8Array(32)),
    unsupportedNames: [],
    mustStaple: false,
  };
  const request = { csr, validitySeconds: undefined, mustStaple: undefined };
  const caller = "interactive" as const;
  const profile = world.profiles().named("server");
  const { config, clock } = world;
  const admission = admit({ ...request, caller }, profile, issuer, config, clock.now());
  expect(admission.readable && admission.objections).toMatchObject([
    { gate: "certificate_policy", code: "key_usage_unsuitable" },
  ]);
});

for (const keyType of ["ml-dsa-44", "ml-dsa-65", "ml-dsa-87"] as const) {
  test(`RFC 9881 §3: ${keyType} certificates name the algorithm without parameters, in sizes that never change`, async () => {
    const root = await initRoot(world, { keyType });
    const { signature, signatureOid, extensions } = parseCertificate(certificateOf(root));
    expect(signature.length).toBe(sizes[keyType]);
    expect(signatureOid).toBe(`2.16.840.1.101.3.4.3.${arcs[keyType]}`);
    const usage = extensionOf({ extensions }, oids.keyUsage);
    expect(parseKeyUsage(usage?.value ?? new Uint8Array(0))).toEqual([
      "digitalSignature",
      "keyCertSign",
      "cRLSign",
    ]);
    const outline = opensslText(["asn1parse", "-inform", "DER"], certificateOf(root));
    const algorithms = outline.split("\n").filter((line) => line.includes(signatureOid));
    expect(algorithms).toHaveLength(3); // Inner, key, outer; each the only member of its SEQUENCE.
    expect(outline).not.toContain("NULL");
  });
}

test("KEY-3: keys of post-quantum CAs and of their responders are software-held, whatever the configured provider", async () => {
  const root = await initRoot(world, { keyType: "ml-dsa-65" });
  expect(root.key.provider).toBe("software");
  await world.askOcsp(root, root.serial ?? caSerial());
  const responder = await world.store.read.revocations.responder(root.id);
  expect(responder?.keyProvider).toBe("software");
  expect((await initRoot(world, { label: "classical" })).key.provider).toBe("pkcs11");
});

test("PQ-2: a post-quantum key gets signature usages only, whatever the profile asks for", async () => {
  const root = await initRoot(world, { keyType: "ml-dsa-65" });
  const request = leafRequest({ csr: csr({ keyType: "ml-dsa-44" }), profile: "server" });
  const { certificate } = await world.issuance.issue(rootOrigin, root, request);
  const usage = extensionOf(parseCertificate(certificate), oids.keyUsage);
  expect(parseKeyUsage(usage?.value ?? new Uint8Array(0))).toEqual(["digitalSignature"]);
});

test("the profile pqc-server refuses classical keys by name, and classical issuers", async () => {
  const quantum = await initRoot(world, { keyType: "ml-dsa-65" });
  const classical = await initRoot(world, { label: "classical" });
  const issue = (ca: CaRecord, keyType: KeyType) => {
    const request = leafRequest({ csr: csr({ keyType }), profile: "pqc-server" });
    return codeOf(world.issuance.issue(rootOrigin, ca, request));
  };
  expect(await issue(quantum, "ml-dsa-44")).toBe("accepted");
  expect(await issue(quantum, "ecdsa-p256")).toBe("key_usage_unsuitable");
  expect(await issue(quantum, "rsa-2048")).toBe("key_usage_unsuitable");
  expect(await issue(classical, "ml-dsa-44")).toBe("gate_refused");
});

test("the gates are those of every CA: a name outside the constraints and a stolen key are refused", async () => {
  const dns = { dns: ["allowed.example"], ip: [], email: [], uri: [], dirNames: [] };
  const none = { dns: [], ip: [], email: [], uri: [], dirNames: [] };
  const nameConstraints = { permitted: dns, excluded: none, critical: true };
  const root = await initRoot(world, { keyType: "ml-dsa-65", nameConstraints });
  const issue = (options: Parameters<typeof csr>[0]) => {
    const request = leafRequest({
      csr: csr({ keyType: "ml-dsa-65", ...options }),
      profile: "pqc-server",
    });
    return codeOf(world.issuance.issue(rootOrigin, root, request));
  };
  const named = { subject: [], dns: ["a.allowed.example"] };
  expect(await issue(named)).toBe("accepted");
  expect(await issue({ ...named, dns: ["a.other.example"] })).toBe("gate_refused");
  expect(await issue({ ...named, stolen: true })).toBe("bad_csr");
});

function caSerial(): never {
  throw new Error("a certified CA has a serial");
}
