/** CAs come to a machine by their fingerprint, and into its stores when somebody means it. */

import { beforeAll, describe, expect, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { ran } from "#test/support/child.ts";
import { shell } from "#test/support/instances/shell.ts";

const folder = mkdtempSync(join(tmpdir(), "pkid-trust-"));
const at = (name: string) => join(folder, name);
const read = (name: string) => readFileSync(at(name), "utf8");
let digest = "";

beforeAll(async () => {
  const key = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes";
  await run(`openssl req -x509 ${key} -subj /CN=Root -keyout ca.key -out ca.pem`);
  await run(`openssl req -new ${key} -subj /CN=localhost -keyout tls.key -out tls.csr`);
  await run("openssl x509 -req -in tls.csr -CA ca.pem -CAkey ca.key -set_serial 7 -out tls.pem");
  writeFileSync(at("served.pem"), read("tls.pem") + read("ca.pem"));
  const { stdout } = await run("openssl x509 -in ca.pem -noout -fingerprint -sha256");
  digest = stdout.trim().split("=")[1] ?? "";
});

const serving = () =>
  Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    tls: { cert: Bun.file(at("served.pem")), key: Bun.file(at("tls.key")) },
    fetch: () => new Response(Bun.file(at("ca.pem"))),
  });

describe("trust fetch", () => {
  test("gives the CA with the fingerprint, from what a server shows and from what is at a path", async () => {
    using server = serving();
    for (const path of ["", "/chain"]) {
      const address = `https://localhost:${server.port}${path}`;
      const out = at(`fetched${path.length}.pem`);
      for (const given of [digest, digest.replaceAll(":", "").toLowerCase(), `SHA256:${digest}`]) {
        const argv = ["trust", "fetch", address, "--fingerprint", given, "--out", out];
        const { code, stdout, stderr } = await shell(argv);
        expect([code, stdout, stderr]).toEqual([0, "", "CN=Root, as the fingerprint says.\n"]);
        expect(readFileSync(out, "utf8").trim()).toBe(read("ca.pem").trim());
      }
    }
  });

  test("gives nothing for another fingerprint, nor the certificate of a server", async () => {
    using server = serving();
    const address = `https://localhost:${server.port}`;
    const out = at("none.pem");
    const wrong = digest.replace(/^../, digest.startsWith("00") ? "11" : "00");
    const other = await shell(["trust", "fetch", address, "--fingerprint", wrong, "--out", out]);
    expect([other.code, other.stderr.includes(digest)]).toEqual([1, true]);
    const { stdout } = await run("openssl x509 -in tls.pem -noout -fingerprint -sha256");
    const leaf = stdout.trim().split("=")[1] ?? "";
    const own = await shell(["trust", "fetch", address, "--fingerprint", leaf, "--out", out]);
    expect([own.code, own.stderr]).toEqual([1, expect.stringContaining("not a CA's")]);
    expect(existsSync(out)).toBe(false);
    const short = await shell(["trust", "fetch", address, "--fingerprint", "AA:BB"]);
    expect(short.code).toBe(2);
  });
});

describe("trust install", () => {
  test("asks first, with subject and fingerprint, and does nothing without a yes", async () => {
    const argv = ["trust", "install", at("ca.pem"), "--anchors", at("refused")];
    mkdirSync(at("refused"));
    const nobody = await shell(argv);
    expect([nobody.code, nobody.stderr]).toEqual([2, expect.stringContaining(digest)]);
    expect((await shell(argv, { typed: "no" })).code).toBe(1);
    expect(existsSync(at("refused/pkid-Root.crt"))).toBe(false);
  });

  test("puts the anchor where the system looks, and has it look", async () => {
    const tools = at("bin");
    mkdirSync(tools);
    mkdirSync(at("anchors"));
    for (const tool of ["update-ca-certificates", "update-ca-trust", "trust"]) {
      writeFileSync(join(tools, tool), `#!/bin/sh\necho ran > ${at("ran")}\n`);
      chmodSync(join(tools, tool), 0o755);
    }
    const before = process.env.PATH;
    process.env.PATH = `${tools}:${before}`;
    try {
      const argv = ["trust", "install", at("ca.pem"), "--anchors", at("anchors"), "--yes"];
      expect((await shell(argv)).code).toBe(0);
    } finally {
      process.env.PATH = before;
    }
    expect(read("anchors/pkid-Root.crt").trim()).toBe(read("ca.pem").trim());
    expect(existsSync(at("ran"))).toBe(true);
  });

  test("puts it into NSS, which then believes what is below", async () => {
    const db = at("nss");
    const argv = ["trust", "install", at("ca.pem"), "--nss-dir", db, "--yes", "--name", "root"];
    expect((await shell(argv)).code).toBe(0);
    const { stdout } = await run(`certutil -L -d sql:${db}`);
    expect(stdout).toMatch(/root +C,,/);
    await run(`certutil -V -d sql:${db} -n root -u L`);
  });

  test.skipIf(!existsSync("/usr/bin/keytool"))(
    "puts it into a key store of Java",
    async () => {
      const store = at("trust.p12");
      const argv = ["trust", "install", at("ca.pem"), "--keystore", store, "--yes"];
      const { code, stderr } = await shell(argv);
      expect([code, stderr]).toEqual([0, ""]);
      const { stdout } = await run(`keytool -list -v -keystore ${store} -storepass changeit`);
      expect(stdout).toContain("trustedCertEntry");
      expect(stdout).toContain(digest);
    },
    60_000,
  );

  test("never replaces another CA's anchor of the same name, but its own", async () => {
    const key = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes";
    await run(`openssl req -x509 ${key} -subj /CN=Root -keyout twin.key -out twin.pem`);
    mkdirSync(at("taken"));
    writeFileSync(at("taken/pkid-Root.crt"), read("ca.pem"));
    const system = ["trust", "install", at("twin.pem"), "--anchors", at("taken"), "--yes"];
    const refused = await shell(system);
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("--name")]);
    expect(read("taken/pkid-Root.crt")).toBe(read("ca.pem"));

    const into = (file: string, ...more: string[]) =>
      shell(["trust", "install", at(file), "--nss-dir", at("taken-nss"), "--yes", ...more]);
    expect((await into("ca.pem")).code).toBe(0);
    expect((await into("ca.pem")).code).toBe(0);
    const twin = await into("twin.pem");
    expect([twin.code, twin.stderr]).toEqual([1, expect.stringContaining("--name")]);
    const { stdout } = await run(`certutil -L -d sql:${at("taken-nss")} -n pkid-Root -a`);
    const flat = (pem: string) => pem.replace(/\s/g, "");
    expect(flat(stdout)).toBe(flat(read("ca.pem")));
    expect((await into("twin.pem", "--name", "twin")).code).toBe(0);
  });

  test("takes one CA and nothing else, and a name that is one", async () => {
    for (const file of ["tls.pem", "served.pem", "ca.key"]) {
      const { code } = await shell(["trust", "install", at(file), "--nss-dir", at("x"), "--yes"]);
      expect([file, code]).toEqual([file, 1]);
    }
    const argv = ["trust", "install", at("ca.pem"), "--nss-dir", at("x"), "--yes"];
    expect((await shell([...argv, "--name", "../x"])).code).toBe(2);
    expect(existsSync(at("x"))).toBe(false);
  });
});

async function run(line: string) {
  const done = await ran(line.split(" "), { cwd: folder, env: { HOME: folder } });
  if (done.code !== 0) throw new Error(`${line}: ${done.stdout}${done.stderr}`);
  return done;
}
