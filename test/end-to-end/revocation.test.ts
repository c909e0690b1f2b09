/**
 * What was acknowledged about a certificate holds after a power cut: in the record, in the CRL, and
 * over OCSP.
 */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";

import { type Chain, command, createChain } from "#test/support/instances/first-certificate.ts";
import { Instance } from "#test/support/instances/instance.ts";
import { newCsr, openssl, saved } from "#test/support/instances/relying-party.ts";

const config = { server: { public_http: { enabled: true, address: "127.0.0.1:0" } } };
let instance: Instance;
let chain: Chain;

beforeAll(async () => {
  instance = await Instance.start({ config });
  chain = await createChain(instance, "ecdsa-p256");
}, 30_000);

afterAll(() => instance.dispose());

interface Told {
  readonly status: string;
  readonly serial: string;
  readonly revoked_at?: string;
  readonly reason?: string;
}

for (const [reason, shown] of [
  ["keyCompromise", "Key Compromise"],
  ["superseded", "Superseded"],
  ["affiliationChanged", "Affiliation Changed"],
] as const) {
  test(`SIGKILL right after the answer loses no revocation for ${reason}`, async () => {
    const { serial, leaf } = await issued();
    const told = await revoked(serial, reason);
    expect(told.status).toBe("revoked");
    await powerCut();
    expect(await record(serial)).toMatchObject({ status: "revoked", reason });
    const again = await revoked(serial, "cessationOfOperation");
    expect([again.status, again.revoked_at, again.reason]).toEqual([
      "already-revoked",
      told.revoked_at,
      reason,
    ]);
    const answer = await ocsp(leaf);
    expect(answer).toContain(`${leaf}: revoked`);
    expect(answer).toContain(`Reason: ${reason}`);
    const entry = await crlEntry(serial);
    expect(entry).toContain(shown);
    // Both say the first time, to the second that DER carries.
    const at = opensslTime(told.revoked_at ?? "");
    expect([answer.includes(at), entry?.includes(at)]).toEqual([true, true]);
  }, 30_000);
}

test("a hold and its release survive power cuts, and neither comes back", async () => {
  const { serial, leaf } = await issued();
  const path = `/api/ca/${chain.intermediateId}/certificates/${serial}`;
  await instance.admin("POST", `${path}:suspend`, {});
  await powerCut();
  expect(await record(serial)).toMatchObject({ status: "held", reason: "certificateHold" });
  expect(await ocsp(leaf)).toContain("Reason: certificateHold");
  expect(await crlEntry(serial)).toContain("Certificate Hold");
  await instance.admin("POST", `${path}:release`, {});
  await powerCut();
  expect(await record(serial)).toMatchObject({ status: "good" });
  expect(await ocsp(leaf)).toContain(`${leaf}: good`);
  expect(await crlEntry(serial)).toBeUndefined();
}, 30_000);

test("CRL numbers only rise, whatever was cut off between them", async () => {
  let last = await crlNumber();
  for (let round = 0; round < 3; round++) {
    const publishing = command(instance, ["crl", "publish", "--ca", "issuing-ecdsa-p256"]);
    await instance.kill();
    await publishing.catch(() => {}); // Cut off, or answered just before.
    instance = await Instance.start({ home: instance.home, config });
    await command(instance, ["crl", "publish", "--ca", "issuing-ecdsa-p256"]);
    const next = await crlNumber();
    expect(next).toBeGreaterThan(last);
    last = next;
  }
  expect((await instance.cli("audit", "verify")).code).toBe(0);
}, 30_000);

async function powerCut(): Promise<void> {
  await instance.kill();
  instance = await Instance.start({ home: instance.home, config });
}

async function issued(): Promise<{ serial: string; leaf: string }> {
  // A key of its own each time: a compromised one is never certified again.
  const csr = await newCsr(instance.home, `${crypto.randomUUID()}.example.test`);
  const made = await instance.admin<{ serial: string; certificate: string }>(
    "POST",
    `/api/ca/${chain.intermediateId}/issue`,
    { csr },
  );
  const leaf = saved(chain.folder, `${made.serial}.pem`, made.certificate);
  expect(await ocsp(leaf)).toContain(`${leaf}: good`);
  return { serial: made.serial, leaf };
}

const revoked = (serial: string, reason: string): Promise<Told> =>
  instance.admin("POST", `/api/ca/${chain.intermediateId}/revoke`, { serial, reason });

const record = (serial: string): Promise<Told> =>
  instance.admin("GET", `/api/ca/${chain.intermediateId}/certificates/${serial}`);

async function ocsp(leaf: string): Promise<string> {
  const { text } = await openssl([
    "ocsp",
    "-issuer",
    chain.intermediate,
    "-cert",
    leaf,
    "-CAfile",
    chain.root,
    "-no_nonce",
    "-verify_other",
    chain.intermediate,
    "-url",
    `${instance.publicUrl}/api/ca/${chain.intermediateId}/ocsp`,
  ]);
  expect(text).toContain("Response verify OK");
  return text;
}

/** The lines of one serial in the CRL as published anew. */
async function crlEntry(serial: string): Promise<string | undefined> {
  await command(instance, ["crl", "publish", "--ca", "issuing-ecdsa-p256"]);
  const text = await crlText();
  const hex = BigInt(serial).toString(16).toUpperCase();
  const padded = hex.length % 2 === 0 ? hex : `0${hex}`;
  return text.split("Serial Number: ").find((entry) => entry.startsWith(`${padded}\n`));
}

async function crlText(): Promise<string> {
  const file = join(chain.folder, "issuing.crl");
  const got = await instance.cli("crl", "get", "--ca", "issuing-ecdsa-p256", "--out", file);
  expect(got.code).toBe(0);
  const { text } = await openssl([
    "crl",
    "-in",
    file,
    "-text",
    "-CAfile",
    chain.intermediate,
    "-noout",
  ]);
  expect(text).toContain("verify OK");
  return text;
}

async function crlNumber(): Promise<number> {
  const number = /X509v3 CRL Number:\s*\n\s*(\S+)/.exec(await crlText())?.[1];
  return Number(number);
}

/** `2026-03-01T04:05:06.789000Z` as `Mar  1 04:05:06 2026`. */
function opensslTime(timestamp: string): string {
  const [, year, month, day, time] = /^(\d{4})-(\d\d)-(\d\d)T([\d:]{8})/.exec(timestamp) ?? [];
  const name = "JanFebMarAprMayJunJulAugSepOctNovDec".slice(
    3 * Number(month) - 3,
    3 * Number(month),
  );
  return `${name} ${String(Number(day)).padStart(2)} ${time} ${year}`;
}
