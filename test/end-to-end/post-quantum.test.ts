/**
 * Post-quantum and hybrid CAs of the binary beside a token: what they sign, OpenSSL 3.5 verifies.
 */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";

import { decodePem } from "#core/asn1/pem.ts";
import { parseSerial } from "#core/ids.ts";
import { type ParsedCertificate, parseCertificate } from "#core/x509/certificate.ts";
import { parseCrl } from "#core/x509/crl.ts";
import { encodeOcspRequest } from "#core/x509/ocsp.ts";
import { parseOcspResponse } from "#core/x509/ocsp-responses.ts";
import { command } from "#test/support/instances/first-certificate.ts";
import { Instance } from "#test/support/instances/instance.ts";
import { csr } from "#test/support/worlds/issuance.ts";
import { node24Present, pathVerifies, signatureVerifies } from "#test/support/encodings/node24.ts";
import { alternativeIn } from "#test/support/encodings/pre-tbs.ts";
import { saved } from "#test/support/instances/relying-party.ts";
import { createHsmToken, type SoftHsmToken } from "#test/support/keys/soft-token.ts";

let hsmToken: SoftHsmToken;
let instance: Instance;
let folder = "";
let slhRoot: Promise<Made> | undefined;

beforeAll(async () => {
  hsmToken = await createHsmToken();
  const server = { public_http: { enabled: true, address: "127.0.0.1:0" } };
  instance = await Instance.start({ config: { ...hsmToken.config, server }, env: hsmToken.env });
  folder = join(instance.home, "saved");
  mkdirSync(folder);
}, 30_000);

afterAll(async () => {
  await instance.dispose();
  hsmToken.remove();
  // A stop lets a signature under way finish, and SLH-DSA takes its time.
}, 300_000);

const pqc = ["--algorithm", "pqc", "--key-type"];
const slh = [...pqc, "slh-dsa-sha2-128s"];
/** Timeout of commands that wait for SLH-DSA: seconds of computing, minutes on a busy machine. */
const longTimeout = ["--timeout", "240s"];

test.skipIf(!node24Present)(
  "an ML-DSA root, its intermediate, a certificate, CRLs and OCSP answers verify, and a revocation is in both",
  async () => {
    const root = await init("pq-root", [...pqc, "ml-dsa-65"]);
    const issuing = await below("pq-root", "pq-issuing", [...pqc, "ml-dsa-65"]);
    expect([root.ca.algorithm, issuing.ca.provider]).toEqual(["pqc", "software"]);
    const request = csr({ keyType: "ml-dsa-65" });
    const { leaf, serial } = await issue("pq-issuing", request, "pqc-server");
    const path = [issuing.certificate.der, root.certificate.der];
    expect(pathVerifies([leaf.der, ...path])).toBe(true);
    expect(pathVerifies([leaf.der, root.certificate.der])).toBe(false);

    const before = await crlOf(issuing);
    expect(signatureVerifies(issuing.certificate.spki, before.tbs, before.signature)).toBe(true);
    expect(before.signatureName).toBe("ml-dsa-65");
    const good = await ocspOf(issuing, serial);
    expect(good.answers[0]?.status).toEqual({ status: "good" });
    const responder = parseCertificate(good.certificates[0] ?? new Uint8Array());
    expect(signatureVerifies(responder.spki, good.tbs, good.signature)).toBe(true);
    expect(pathVerifies([responder.der, ...path])).toBe(true);

    await command(instance, ["revoke", "cert", "--ca", "pq-issuing", serial]);
    const answer = await ocspOf(issuing, serial);
    expect(answer.answers[0]?.status).toMatchObject({ status: "revoked" });
    expect(signatureVerifies(responder.spki, answer.tbs, answer.signature)).toBe(true);
    const after = await crlOf(issuing);
    expect(signatureVerifies(issuing.certificate.spki, after.tbs, after.signature)).toBe(true);
    expect(after.entries.map((entry) => String(entry.serial))).toEqual([serial]);
  },
  30_000,
);

test.skipIf(!node24Present)(
  "a hybrid CA with its native key in the token signs twice, and either signature verifies",
  async () => {
    const sealed = sealedKeys();
    const hybrid = ["--algorithm", "hybrid", "--key-type", "ecdsa-p256"];
    const root = await init("hy-root", hybrid);
    expect(root.ca).toMatchObject({ provider: "pkcs11", alt_key_type: "ml-dsa-65" });
    // The second key alone is outside the token.
    expect(sealedKeys()).toBe(sealed + 1);
    const issuing = await below("hy-root", "hy-issuing", hybrid);
    const request = csr({ alternative: {} });
    const { leaf } = await issue("hy-issuing", request, "hybrid-server");
    expect(pathVerifies([leaf.der, issuing.certificate.der, root.certificate.der])).toBe(true);
    const second = (one: ParsedCertificate) => alternativeIn(one.der, "certificate");
    const rootKey = second(root.certificate).spki ?? new Uint8Array();
    const issuingKey = second(issuing.certificate).spki ?? new Uint8Array();
    for (const [signed, key] of [
      [second(root.certificate), rootKey],
      [second(issuing.certificate), rootKey],
      [second(leaf), issuingKey],
      [alternativeIn((await crlOf(issuing)).der, "crl"), issuingKey],
    ] as const) {
      expect(signatureVerifies(key, signed.signed, signed.signature)).toBe(true);
      expect(signatureVerifies(key, changed(signed.signed), signed.signature)).toBe(false);
    }
  },
  30_000,
);

test.skipIf(!node24Present)(
  "an SLH-DSA root certifies an ML-DSA intermediate, and no CA has an SLH-DSA key below it",
  async () => {
    const root = await theSlhRoot();
    const issuing = await below("slh-root", "slh-issuing", [...pqc, "ml-dsa-65"]);
    expect(pathVerifies([issuing.certificate.der, root.certificate.der])).toBe(true);
    const refused = await instance.cli(
      "ca",
      "issue-intermediate",
      "--parent",
      "slh-root",
      "--label",
      "slh-sub",
      "--cn",
      "S",
      ...slh,
      ...longTimeout,
    );
    expect(refused.code).not.toBe(0);
    expect(refused.stderr).toContain("key_type_unsupported");
    expect((await instance.cli("audit", "verify", ...longTimeout)).code).toBe(0);
  },
  300_000,
);

test("`pkid ocsp check` accepts OCSP responses of a root with slh-dsa-sha2-128s, pqc", async () => {
  await theSlhRoot();
  const check = ["ocsp", "check", "--ca", "slh-root", "77", ...longTimeout];
  expect(await command(instance, [...check, "--nonce"])).toMatchObject({
    status: "unknown",
    trusted: true,
  });
  await command(instance, ["revoke", "cert", "--ca", "slh-root", "77", "--yes", ...longTimeout]);
  expect(await command(instance, check)).toMatchObject({ status: "revoked", trusted: true });
}, 300_000);

test("LED-4: `hsm verify-log` proves both signatures of hybrid CAs, and those of SLH-DSA", async () => {
  await init("ledger-hybrid", ["--algorithm", "hybrid", "--key-type", "ecdsa-p256"]);
  await theSlhRoot();
  const checked = await instance.cli("preflight", "--deep", "--json", ...longTimeout);
  expect(checked.code).toBeLessThan(2);
  const file = join(folder, "ledger.json");
  expect((await instance.cli("hsm", "log", "--combined", "--out", file, ...longTimeout)).code).toBe(
    0,
  );
  const [first] = (await Bun.file(file).json()).hsm_entries;
  const key = ["--key", String(first.signer_fingerprint)];
  const ran = await instance.cli("hsm", "verify-log", file, ...key, "--json");
  expect([ran.code, ran.stderr]).toEqual([0, ""]);
  const [, , , , proven] = JSON.parse(ran.stdout).rules;
  expect(proven).toMatchObject({ rule: "V5", status: "passed", unproven: 0 });
  expect(proven.checked).toBeGreaterThan(4);
}, 300_000);

interface Made {
  readonly id: string;
  readonly label: string;
  readonly ca: Readonly<Record<string, unknown>>;
  readonly certificate: ParsedCertificate;
}

const init = (label: string, more: readonly string[]) =>
  made(label, ["ca", "init-root", "--label", label, "--cn", label, ...more]);

/** Made by whoever needs it first: each signature of SLH-DSA takes seconds. */
function theSlhRoot(): Promise<Made> {
  slhRoot ??= init("slh-root", slh);
  return slhRoot;
}

const below = (parent: string, label: string, more: readonly string[]) =>
  made(label, [
    "ca",
    "issue-intermediate",
    "--parent",
    parent,
    "--label",
    label,
    "--cn",
    label,
    ...more,
  ]);

async function made(label: string, args: readonly string[]): Promise<Made> {
  const ca = await command(instance, [...args, ...longTimeout]);
  return { id: String(ca.id), label, ca, certificate: certificateIn(ca.certificate) };
}

async function issue(ca: string, request: string, profile: string) {
  const file = saved(folder, `${ca}.csr`, request);
  const issued = await command(instance, [
    "cert",
    "issue",
    "--ca",
    ca,
    "--csr",
    file,
    "--profile",
    profile,
  ]);
  return { leaf: certificateIn(issued.certificate), serial: String(issued.serial) };
}

const certificateIn = (pem: unknown): ParsedCertificate =>
  parseCertificate(decodePem(String(pem), ["CERTIFICATE"]) ?? new Uint8Array());

/** The CRL as published anew, read over cleartext HTTP as relying parties do. */
async function crlOf({ id, label }: Made) {
  await command(instance, ["crl", "publish", "--ca", label]);
  const response = await fetch(`${instance.publicUrl}/api/ca/${id}/crl`);
  return parseCrl(await response.bytes());
}

async function ocspOf({ id, certificate }: Made, serial: string) {
  const response = await fetch(`${instance.publicUrl}/api/ca/${id}/ocsp`, {
    method: "POST",
    headers: { "content-type": "application/ocsp-request" },
    body: new Uint8Array(
      encodeOcspRequest({
        issuerName: certificate.subject.der,
        issuerSpki: certificate.spki,
        hash: "sha256",
        serial: parseSerial(serial),
      }),
    ),
  });
  const { basic } = parseOcspResponse(await response.bytes());
  if (basic === undefined) throw new Error("the responder gave no answer");
  return basic;
}

/** Keys in the data directory, which the token is there to avoid. */
const sealedKeys = (): number =>
  readdirSync(join(instance.dataDir, "keys")).filter((file) => file.endsWith(".key")).length;

/** Octets that differ in one bit of one that lies in the serial, and so is random. */
const changed = (octets: Uint8Array): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(octets, (octet, at) => (at === 20 ? octet ^ 1 : octet));
