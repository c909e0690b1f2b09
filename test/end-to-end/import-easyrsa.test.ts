/** Coming from EasyRSA, whose key has a passphrase, into an instance that nobody serves. */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { ran } from "#test/support/child.ts";
import { Instance, newHome } from "#test/support/instances/instance.ts";
import { openssl } from "#test/support/instances/relying-party.ts";

const easyrsa = "/usr/share/easy-rsa/easyrsa";
const folder = mkdtempSync(join(tmpdir(), "pkid-easyrsa-"));
const pki = join(folder, "pki");
const passphrase = join(folder, "passphrase");
const home = newHome();
const config = { server: { public_http: { enabled: true, address: "127.0.0.1:0" } } };
let instance: Instance;

beforeAll(async () => {
  if (!existsSync(easyrsa)) throw new Error("easy-rsa is not installed; scripts/test installs it");
  writeFileSync(passphrase, "correct horse\n");
  // Of one file openssl would take the second line for what it writes.
  writeFileSync(`${passphrase}-out`, "correct horse\n");
  const run = async (...args: readonly string[]) => {
    const env = { EASYRSA_PASSIN: `file:${passphrase}`, EASYRSA_PASSOUT: `file:${passphrase}-out` };
    const named = args[0] === "build-ca" ? { EASYRSA_REQ_CN: "Easy CA" } : {};
    const batch = { ...env, ...named, EASYRSA_BATCH: "1", EASYRSA_PKI: pki };
    const { code, stderr } = await ran([easyrsa, ...args], { cwd: folder, env: batch });
    if (code !== 0) throw new Error(`easyrsa ${args[0]}: ${stderr}`);
  };
  await run("init-pki");
  await run("build-ca");
  await run("build-server-full", "vpn.example", "nopass");
  await run("build-client-full", "alice", "nopass");
  await run("build-client-full", "bob", "nopass");
  await run("revoke", "bob", "keyCompromise");
  await run("gen-crl");
  instance = await Instance.start({ home, config });
}, 120_000);

afterAll(() => instance.dispose());

test("a directory of EasyRSA is taken over without a server, and served after that", async () => {
  const secret = ["--key-passphrase-file", passphrase];
  const locked = await instance.cli("import", "easyrsa", pki, "--label", "vpn");
  expect(locked.stderr).toContain("is locked: give --key-passphrase-file.");
  await instance.stop();
  const ran = await instance.cli("import", "easyrsa", pki, "--label", "vpn", "--json", ...secret);
  expect(ran.code).toBe(0);
  // Of the list one entry: its certificate is revoked in the index, too.
  expect(JSON.parse(ran.stdout)).toMatchObject({
    read: 4,
    imported: 3,
    present: 1,
    refused: 0,
    ca: { status: "active" },
  });
  instance = await Instance.start({ home, config });
  const [ca] = (await instance.admin<{ items: { id: string }[] }>("GET", "/api/ca")).items;
  const asked = async (name: string) => {
    const file = join(pki, "issued", `${name}.crt`);
    const serial = (await openssl(["x509", "-in", file, "-noout", "-serial"])).text.trim().slice(7);
    const root = join(pki, "ca.crt");
    const url = `${instance.publicUrl}/api/ca/${ca?.id}/ocsp`;
    const from = ["-issuer", root, "-CAfile", root, "-url", url];
    return (await openssl(["ocsp", ...from, "-serial", `0x${serial}`])).text;
  };
  expect(await asked("vpn.example")).toContain("good");
  expect(await asked("alice")).toContain("good");
  const list = await openssl(["crl", "-in", join(pki, "crl.pem"), "-noout", "-text"]);
  const serial = /Serial Number: ([0-9A-F]+)/.exec(list.text)?.[1];
  const rows = await instance.admin<{ items: { serial: string; reason: string }[] }>(
    "GET",
    `/api/ca/${ca?.id}/revoked`,
  );
  expect(rows.items).toMatchObject([
    { serial: BigInt(`0x${serial}`).toString(), reason: "keyCompromise" },
  ]);
  const leaves = await instance.admin<{ items: { profile: string; marker: string }[] }>(
    "GET",
    `/api/ca/${ca?.id}/certificates`,
  );
  expect(leaves.items.map(({ profile }) => profile).sort()).toEqual(["client", "client", "server"]);
  expect(leaves.items.every(({ marker }) => marker === "imported")).toBe(true);
}, 60_000);
