/** Coming from `openssl ca`, on the binary: everything stays revoked, and goes on. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Database } from "bun:sqlite";
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { Instance, runCli } from "#test/support/instances/instance.ts";
import { OpensslCa } from "#test/support/instances/openssl-ca.ts";
import { openssl } from "#test/support/instances/relying-party.ts";

let old: OpensslCa;
let instance: Instance;
const serials: Record<string, string> = {};

beforeAll(async () => {
  old = await OpensslCa.make();
  for (const cn of ["www.example", "mail.example", "gone.example", "held.example"]) {
    serials[cn] = await old.issue(cn);
  }
  serials["print.example"] = await old.issue("print.example", { strings: "default" });
  serials["Sub CA"] = await old.issue("Sub CA", { extensions: "sub_ca" });
  await old.revoke(serials["gone.example"] ?? "", "keyCompromise");
  await old.revoke(serials["held.example"] ?? "", "certificateHold");
  await old.sign();
  const server = { public_http: { enabled: true, address: "127.0.0.1:0" } };
  instance = await Instance.start({ config: { server } });
}, 60_000);

afterAll(() => instance.dispose());

const imported = (...more: readonly string[]) =>
  instance.cli("import", "openssl", old.directory, "--label", "old", "--json", ...more);

const state = async () => ({
  cas: (await instance.admin<{ total: number }>("GET", "/api/ca")).total,
  events: (await instance.admin<{ total: number }>("GET", "/api/events?action=cert.import")).total,
  begun: (await instance.admin<{ total: number }>("GET", "/api/events?action=ca.import")).total,
  keys: readdirSync(join(instance.dataDir, "keys")).sort(),
});

async function crl(): Promise<string> {
  const der = join(mkdtempSync(join(tmpdir(), "pkid-crl-")), "crl.der");
  const [ca] = (await instance.admin<{ items: { id: string }[] }>("GET", "/api/ca")).items;
  const response = await fetch(`${instance.publicUrl}/api/ca/${ca?.id}/crl`);
  writeFileSync(der, new Uint8Array(await response.arrayBuffer()));
  const verified = await openssl([
    "crl",
    "-inform",
    "DER",
    "-in",
    der,
    "-noout",
    "-text",
    "-CAfile",
    old.file("cacert.pem"),
  ]);
  return verified.text;
}

async function statusOf(name: string): Promise<string> {
  const [ca] = (await instance.admin<{ items: { id: string }[] }>("GET", "/api/ca")).items;
  const asked = await openssl([
    "ocsp",
    "-issuer",
    old.file("cacert.pem"),
    "-serial",
    `0x${serials[name]}`,
    "-url",
    `${instance.publicUrl}/api/ca/${ca?.id}/ocsp`,
    "-CAfile",
    old.file("cacert.pem"),
  ]);
  return asked.text;
}

describe("before anything is taken over", () => {
  test("a dry run tells what it would do, and changes nothing", async () => {
    const before = await state();
    const ran = await imported("--dry-run");
    expect(ran.stderr).toBe("");
    expect(JSON.parse(ran.stdout)).toMatchObject({
      dry_run: true,
      read: 6,
      imported: 6,
      refused: 0,
      crl_number: 42,
    });
    expect(await state()).toEqual(before);
  }, 30_000);

  test("another CA's certificate is refused with its key, and nothing is kept", async () => {
    const other = await OpensslCa.make({ cn: "Other Root" });
    const before = await state();
    const ran = await imported("--ca-key", other.file("private/cakey.pem"));
    expect(ran.code).toBe(1);
    expect(ran.stderr).toContain("The private key is not that of the CA certificate.");
    expect(await state()).toEqual(before);
  }, 30_000);
});

describe("while one certificate is not the CA's", () => {
  test("it is named by file and line, and the CA signs nothing yet", async () => {
    const other = await OpensslCa.make({ cn: "Other Root" });
    const serial = await other.issue("stray.example");
    copyFileSync(other.file(`newcerts/${serial}.pem`), old.file("newcerts/2000.pem"));
    const index = old.read("index.txt");
    const stray = other.read("index.txt").replace(`\t${serial}\t`, "\t2000\t");
    old.write("index.txt", index + stray);
    const ran = await imported();
    old.write("index.txt", index);
    expect(ran.code).toBe(1);
    const told = JSON.parse(ran.stdout);
    expect(told).toMatchObject({ imported: 6, refused: 1, ca: { status: "pending" } });
    expect(told.refusals[0].place).toBe(`${old.file("index.txt")}:7`);
    expect(told.refusals[0].reason).toBe("the certificate has another serial than its record");
    const proven = await instance.cli("verify");
    expect([proven.code, proven.stdout]).toEqual([0, expect.stringContaining("Every proof holds")]);
  }, 30_000);
});

describe("when it is mended", () => {
  test("a second run takes in nothing twice, and the CA signs", async () => {
    const ran = await imported("--crl", old.file("crl.pem"));
    expect(ran.stderr).toBe("");
    expect(JSON.parse(ran.stdout)).toMatchObject({
      imported: 0,
      present: 8,
      revoked: 0,
      entered: 0,
      refused: 0,
      ca: { status: "active" },
    });
  }, 30_000);

  test("a third run changes nothing at all", async () => {
    const before = await state();
    const ran = await imported();
    expect(ran.code).toBe(0);
    expect(await state()).toEqual(before);
  }, 30_000);

  test("the list goes on above the old number, with times and reasons as they were", async () => {
    const text = await crl();
    expect(text).toContain("verify OK");
    const number = Number(/X509v3 CRL Number:\s+(\d+)/.exec(text)?.[1]);
    expect(number).toBeGreaterThan(42);
    expect(text).toContain(`Serial Number: ${serials["gone.example"]}`);
    expect(text).toContain("Key Compromise");
    expect(text).toContain("Certificate Hold");
    const oldList = await openssl(["crl", "-in", old.file("crl.pem"), "-noout", "-text"]);
    const date = /Revocation Date: (.*)/.exec(oldList.text)?.[1] ?? "?";
    expect(text).toContain(date);
  }, 30_000);

  test("OCSP knows what the old CA signed and revoked", async () => {
    expect(await statusOf("www.example")).toContain("good");
    expect(await statusOf("gone.example")).toContain("revoked");
    expect(await statusOf("held.example")).toContain("revoked");
    expect(await statusOf("Sub CA")).toContain("good");
  }, 30_000);

  test("an imported certificate is revoked like any other", async () => {
    const serial = `0x${serials["mail.example"]}`;
    const ran = await instance.cli(
      "revoke",
      "cert",
      "--ca",
      "old",
      serial,
      "--reason",
      "superseded",
    );
    expect(ran.stderr).toBe("");
    expect(await statusOf("mail.example")).toContain("revoked");
  }, 30_000);

  test("an imported certificate is renewed under the same CA", async () => {
    const out = join(old.directory, "renewed.pem");
    const serial = `0x${serials["www.example"]}`;
    const csr = old.file("www.example.csr");
    const ran = await instance.cli(
      "cert",
      "renew",
      "--ca",
      "old",
      serial,
      "--csr",
      csr,
      "--out",
      out,
    );
    expect(ran.code).toBe(0);
    const verified = await openssl(["verify", "-CAfile", old.file("cacert.pem"), out]);
    expect(verified.text).toContain("OK");
  }, 30_000);

  test("one in letters of another string type keeps its identity too", async () => {
    const out = join(old.directory, "printable.pem");
    const serial = `0x${serials["print.example"]}`;
    for (const more of [[], ["--csr", old.file("print.example.csr")]]) {
      const ran = await instance.cli("cert", "renew", "--ca", "old", serial, ...more, "--out", out);
      expect(ran).toMatchObject({ code: 0 });
    }
  }, 30_000);

  test("every proof holds, and names what no entry of the ledger tells of", async () => {
    const { code, stdout } = await instance.cli("verify");
    expect([code, stdout]).toEqual([0, expect.stringContaining("Every proof holds")]);
    expect(stdout).toMatch(/imported certificates, of which no ledger\s+entry tells/);
  }, 30_000);

  test("nothing that was signed here passes for imported, nor the other way round", async () => {
    await instance.stop();
    const verified = () => runCli(instance.home, ["verify"]);
    const file = new Database(join(instance.dataDir, "pkid.db"));
    const markers = file.query("select ordinal, marker from certificates").all();
    file.run("update certificates set marker = 'imported' where marker = '' and kind = 'leaf'");
    const passed = await verified();
    expect([passed.code, passed.stdout]).toEqual([1, expect.stringMatching(/^FAIL +Ledger and/m)]);
    const back = file.prepare("update certificates set marker = ? where ordinal = ?");
    for (const one of markers as { ordinal: number; marker: string }[]) {
      back.run(one.marker, one.ordinal);
    }
    file.run("update certificates set marker = '' where marker = 'imported'");
    const unsigned = await verified();
    expect(unsigned.stdout).toContain("is in no ledger entry (V8)");
    for (const one of markers as { ordinal: number; marker: string }[]) {
      back.run(one.marker, one.ordinal);
    }
    const event = file.query("select max(seq) as seq from events").get() as { seq: number };
    file.run("delete from events where action = 'cert.import' and seq < ?", [event.seq]);
    back.finalize();
    file.close();
    expect((await verified()).stdout).toContain("has no event");
  }, 60_000);

  test("the key lies sealed, and nowhere in plain", () => {
    const directory = join(instance.dataDir, "keys");
    const pem = readFileSync(old.file("private/cakey.pem"), "utf8");
    const secret = Buffer.from(pem.replace(/-----[^-]+-----/g, ""), "base64").subarray(-130, -70);
    for (const name of readdirSync(directory)) {
      const octets = readFileSync(join(directory, name));
      expect(octets.includes(secret)).toBe(false);
    }
  });
});
