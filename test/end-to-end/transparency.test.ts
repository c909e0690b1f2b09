/**
 * Transparency from the outside: the binary asks real logs, and without their SCTs there is no
 * certificate.
 */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";

import { CtLog } from "#test/support/servers/ct-log.ts";
import { type Chain, command, createChain } from "#test/support/instances/first-certificate.ts";
import { Instance } from "#test/support/instances/instance.ts";
import { newCsr, openssl, saved } from "#test/support/instances/relying-party.ts";
import { instant } from "#core/time.ts";

/** What the second log does with a submission; it answers as a log should when this is `well`. */
let second: "well" | "down" | "stalled" = "well";
/** Resolves when a submission arrives at the stalled log. */
let reached: () => void = () => {};
let first: CtLog;
let other: CtLog;
let instance: Instance;
let chain: Chain;
let config: Readonly<Record<string, unknown>>;

beforeAll(async () => {
  // SCTs of two days ago, so that their maximum merge delay of one hour is over.
  const now = () => instant(Date.now() - 2 * 86_400_000);
  first = new CtLog({ now });
  other = new CtLog({ now, instead: () => misbehaved() });
  const profile = (name: string, more: object) => ({
    name,
    key_usages: ["digitalSignature"],
    ext_key_usages: ["serverAuth"],
    max_validity_days: 90,
    ct: { enabled: true, min_scts: 2, timeout_seconds: 30, ...more },
  });
  const log = (name: string, { url, spki }: CtLog) => ({
    name,
    url,
    operator: name,
    mmd_hours: 1,
    public_key: Buffer.from(spki).toString("base64"),
  });
  config = {
    certificate_transparency: { logs: [log("first", first), log("second", other)] },
    profiles: [profile("public", {}), profile("lenient", { fail_open: true })],
  };
  instance = await Instance.start({ config });
  chain = await createChain(instance, "ecdsa-p256");
}, 30_000);

afterAll(async () => {
  await instance.dispose();
  await Promise.all([first.stop(), other.stop()]);
});

test("a certificate carries an SCT of each log, and both are proven kept", async () => {
  second = "well";
  const issued = await issue("kept.example.test", "public");
  expect(issued.code).toBe(0);
  const { certificate, serial, ct } = JSON.parse(issued.stdout);
  expect(ct).toMatchObject({ status: "submitted", sct_count: 2, operators: ["first", "second"] });
  const file = saved(chain.folder, "kept.pem", certificate);
  const { text } = await openssl(["x509", "-in", file, "-noout", "-text"]);
  expect(text).toContain("CT Precertificate SCTs");
  expect(text.match(/Signed Certificate Timestamp:/g)).toHaveLength(2);
  for (const { logId } of [first, other]) {
    const id = logId.toHex().toUpperCase();
    expect(text.replaceAll(/[\s:]/g, "")).toContain(`LogID${id}`);
  }
  const path = ["verify", "-CAfile", chain.root, "-untrusted", chain.intermediate, file];
  expect((await openssl(path)).text).toContain("OK");

  const status = () => command(instance, ["ct", "status", "--serial", String(serial)]);
  expect(await status()).toMatchObject({ total: 2, counts: { pending: 2, included: 0 } });
  const report = await command(instance, ["ct", "verify"]);
  expect(report).toEqual({ checked: 2, included: 2, failed: 0, unknown: 0 });
  expect(await status()).toMatchObject({ counts: { pending: 0, included: 2, failed: 0 } });
});

test("with a log down there is no certificate, unless the profile fails open and the record says so", async () => {
  second = "down";
  const refused = await issue("refused.example.test", "public");
  expect(refused.code).not.toBe(0);
  expect(refused.stderr).toContain("ct_policy_unmet");
  expect(await named("refused.example.test")).toEqual([]);
  expect(await openIntents()).toBe(0);

  const issued = await issue("lenient.example.test", "lenient");
  expect(issued.code).toBe(0);
  const { ct, serial } = JSON.parse(issued.stdout);
  expect(ct).toMatchObject({ status: "failed_open", sct_count: 1 });
  const path = `/api/ca/${chain.intermediateId}/certificates/${serial}`;
  expect(await instance.admin("GET", path)).toMatchObject({
    status: "good",
    ct_status: "failed_open",
    sct_count: 1,
    ct_logs: ["first"],
  });
});

test("SIGKILL while a log thinks leaves no certificate, a serial nobody uses again, and a clean record", async () => {
  second = "stalled";
  const arrived = new Promise<void>((resolve) => {
    reached = resolve;
  });
  const cutOff = issue("stalled.example.test", "public");
  await arrived;
  await instance.kill();
  expect((await cutOff).code).not.toBe(0);
  second = "well";
  instance = await Instance.start({ home: instance.home, config });

  expect(await named("stalled.example.test")).toEqual([]);
  const orphans = await command(instance, ["cert", "orphans", "--ca", "issuing-ecdsa-p256"]);
  expect(orphans).toMatchObject({ total: 1, items: [{ state: "orphaned" }] });
  expect((await instance.cli("audit", "verify")).code).toBe(0);
  expect((await issue("stalled.example.test", "public")).code).toBe(0);
}, 30_000);

function misbehaved(): Response | undefined | Promise<undefined> {
  if (second === "well") return undefined;
  if (second === "down") return new Response("", { status: 503 });
  reached();
  return new Promise(() => {});
}

async function issue(name: string, profile: string) {
  await newCsr(chain.folder, name);
  return await instance.cli(
    "cert",
    "issue",
    "--ca",
    "issuing-ecdsa-p256",
    "--profile",
    profile,
    "--json",
    "--csr",
    join(chain.folder, `${name}.csr`),
  );
}

/** Certificates of the inventory with this name. */
async function named(name: string): Promise<readonly unknown[]> {
  const path = `/api/ca/${chain.intermediateId}/certificates?limit=100`;
  const { items } = await instance.admin<{ items: { common_name: string }[] }>("GET", path);
  return items.filter(({ common_name }) => common_name === name);
}

/** Serials taken and never used: an abandoned intent is none, an orphan is. */
async function openIntents(): Promise<number> {
  const list = await command(instance, ["cert", "orphans", "--ca", "issuing-ecdsa-p256"]);
  return Number(list.total);
}
