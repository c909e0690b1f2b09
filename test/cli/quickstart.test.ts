/** From an empty directory to a checked certificate with one command, and again on what it left. */

import { expect, test } from "bun:test";
import { mkdtempSync, readFileSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

import { ran } from "#test/support/child.ts";

const main = resolve(import.meta.dir, "../../src/main.ts");

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

const pkid = (home: string, args: readonly string[]) =>
  ran([process.execPath, main, "quickstart", "--no-serve", ...args], {
    ...{ cwd: home, env: { HOME: home } },
  });

function run(cwd: string, words: readonly string[]): string {
  const { stdout, stderr } = Bun.spawnSync([...words], { cwd });
  return String(stdout) + String(stderr);
}
