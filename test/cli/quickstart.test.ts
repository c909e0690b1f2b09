/** From an empty directory to a checked certificate with one command, and again on what it left. */

import { expect, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { ran } from "#test/support/child.ts";
import { binary } from "#test/support/instances/instance.ts";
import { freePort } from "#test/support/servers/free-port.ts";

test("quickstart leaves a path that openssl verifies, and a second run keeps the CAs", async () => {
  const home = mkdtempSync(join(tmpdir(), "pkid-quickstart-"));
  const first = await pkid(home, ["--org", "Acme", "--issue", "www.acme.test", "--json"]);
  expect(first.code).toBe(0);
  const made = JSON.parse(first.stdout);
  expect(made.issuing.subject).toBe("CN=Acme Issuing CA 1,O=Acme");
  expect(statSync(join(home, "www.acme.test.key")).mode & 0o777).toBe(0o600);
  expect(statSync(join(home, "pkid-data")).mode & 0o777).toBe(0o700);
  const files = ["-CAfile", "chain.pem", "-untrusted", "chain.pem", "www.acme.test.pem"];
  expect(run(home, ["openssl", "verify", "-x509_strict", ...files])).toContain("OK");

  const password = readFileSync(join(home, "pkid-data", "root-password"), "utf8").trim();
  expect(password.length).toBeGreaterThan(15);
  expect(first.stdout + first.stderr).not.toContain(password);

  const second = await pkid(home, ["--issue", "192.0.2.7"]);
  expect(second).toMatchObject({ code: 0 });
  expect(second.stderr).toContain(`Issuing CA issuing-1 (${made.issuing.id}).`);
  const printed = second.stdout.split("\n").map((line) => line.trim());
  expect(printed.filter((line) => /^(pkid|openssl) /.test(line))).toHaveLength(5);
  const verify = printed.find((line) => line.startsWith("openssl verify")) ?? "";
  expect(run(home, verify.split(" "))).toContain("OK");
}, 60_000);

test("a key that is there is used and never replaced, and nothing else is either", async () => {
  const home = mkdtempSync(join(tmpdir(), "pkid-quickstart-"));
  const make = "genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out www.acme.test.key";
  run(home, ["openssl", ...make.split(" ")]);
  const key = readFileSync(join(home, "www.acme.test.key"), "utf8");
  for (let n = 0; n < 2; n++) {
    expect((await pkid(home, ["--issue", "www.acme.test"])).code).toBe(0);
    expect(readFileSync(join(home, "www.acme.test.key"), "utf8")).toBe(key);
  }
  const modulus = (of: string[]) => run(home, ["openssl", ...of, "-noout", "-modulus"]);
  const ofKey = modulus(["rsa", "-in", "www.acme.test.key"]);
  expect(modulus(["x509", "-in", "www.acme.test.pem"])).toBe(ofKey);
  expect(ofKey).toStartWith("Modulus=");

  writeFileSync(join(home, "chain.pem"), key);
  const kept = await pkid(home, ["--issue", "www.acme.test"]);
  expect([kept.code, kept.stderr]).toEqual([1, expect.stringContaining("holds a private key")]);
  expect(readFileSync(join(home, "chain.pem"), "utf8")).toBe(key);
}, 60_000);

test("a host called chain keeps its certificate beside the chain", async () => {
  const home = mkdtempSync(join(tmpdir(), "pkid-quickstart-"));
  const { code, stdout } = await pkid(home, ["--issue", "chain", "--json"]);
  const { certificate, chain } = JSON.parse(stdout);
  expect([code, certificate, chain]).toEqual([0, "certificate.pem", "chain.pem"]);
  const shown = run(home, ["openssl", "x509", "-in", certificate, "-noout", "-subject"]);
  expect(shown).toContain("chain");
}, 60_000);

test("what an existing configuration or root would make it pass over is refused", async () => {
  const home = mkdtempSync(join(tmpdir(), "pkid-quickstart-"));
  expect((await pkid(home, ["--org", "Acme"])).code).toBe(0);
  const url = await pkid(home, ["--public-url", "https://pki.acme.test"]);
  expect([url.code, url.stderr]).toEqual([2, expect.stringContaining("--public-url changes")]);
  const org = await pkid(home, ["--org", "Other"]);
  expect([org.code, org.stderr]).toEqual([2, expect.stringContaining("--org changes nothing")]);
  expect((await pkid(home, ["--org", "Acme"])).code).toBe(0);
}, 60_000);

test("an address in clear is written into certificates and served", async () => {
  const home = mkdtempSync(join(tmpdir(), "pkid-quickstart-"));
  const [main8443, open] = [await freePort(), await freePort()];
  const child = Bun.spawn([...quickstart, "--public-url", `http://localhost:${open}`], {
    cwd: home,
    stdout: "ignore",
    stderr: "pipe",
    env: { HOME: home, PATH: process.env.PATH ?? "", PKID_SERVER_PORT: String(main8443) },
  });
  try {
    let log = "";
    for await (const part of child.stderr) {
      log += Buffer.from(part).toString();
      if (log.includes(" ready ") || log.includes('"msg":"ready"')) break;
    }
    const shown = run(home, ["openssl", "x509", "-in", "localhost.pem", "-noout", "-text"]);
    const [, crl = ""] = /URI:(http:[^\s]+\/crl[^\s]*)/.exec(shown) ?? [];
    expect(crl).toStartWith(`http://localhost:${open}/`);
    expect((await fetch(crl)).status).toBe(200);
  } finally {
    child.kill();
    await child.exited;
  }
}, 60_000);

test("a port that is taken is told before anything is made", async () => {
  using taken = Bun.serve({ hostname: "0.0.0.0", port: 0, fetch: () => new Response("") });
  for (const verb of ["quickstart", "serve"]) {
    const home = mkdtempSync(join(tmpdir(), "pkid-quickstart-"));
    const env = { HOME: home, PKID_SERVER_PORT: String(taken.port) };
    const { code, stderr } = await ran([binary, verb], { cwd: home, env });
    expect(code).toBe(1);
    expect(stderr).toContain(`0.0.0.0:${taken.port}, and somebody else listens there.`);
    expect(readdirSync(home).filter((name) => name.startsWith("pkid"))).toEqual([]);
  }
}, 60_000);

const quickstart = [binary, "quickstart"];
const pkid = (home: string, args: readonly string[]) =>
  ran([...quickstart, "--no-serve", ...args], { cwd: home, env: { HOME: home } });

function run(cwd: string, words: readonly string[]): string {
  const { stdout, stderr } = Bun.spawnSync([...words], { cwd });
  return String(stdout) + String(stderr);
}
