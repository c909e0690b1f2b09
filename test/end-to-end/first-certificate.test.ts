/**
 * From nothing to a certificate that openssl accepts and, after revocation, refuses: by the
 * compiled binary alone.
 */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";

import {
  createChainByCommands,
  walkCertificate,
  walkCertificateByCommands,
} from "#test/support/instances/first-certificate.ts";
import { Instance, runCli } from "#test/support/instances/instance.ts";
import { openssl } from "#test/support/instances/relying-party.ts";
import { selectByRun } from "#test/support/run-length.ts";

let instance: Instance;

beforeAll(async () => {
  instance = await Instance.start({ config: { server: publicListener } });
}, 30_000);

afterAll(() => instance.dispose());

for (const keyType of ["ecdsa-p256", "rsa-2048", "ed25519"] as const) {
  test(`a ${keyType} chain issues for EC, RSA and Ed25519 subscribers, and revokes`, async () => {
    const chain = await createChainByCommands(instance, keyType);
    await walkCertificateByCommands(instance, chain, "ecdsa-p256");
    // The commands are the same for each key of a subscriber: the long run repeats them.
    const walk = selectByRun(walkCertificate, walkCertificateByCommands);
    for (const subscriber of ["rsa-2048", "ed25519"] as const) {
      await walk(instance, chain, subscriber);
    }
  }, 120_000);
}

test("without a terminal the root password lies in a file only its owner reads, and works", async () => {
  const file = join(instance.dataDir, "root-password");
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const password = readFileSync(file, "utf8").trim();
  expect(instance.logs.join("\n")).not.toContain(password);
  const me = await instance.fetch("/api/me", { headers: basic("root", password) });
  expect(await me.json()).toMatchObject({ sub: "root", is_root: true });
  const wrong = await instance.fetch("/api/me", { headers: basic("root", `${password}x`) });
  expect(wrong.status).toBe(401);
});

test("the serving certificate comes from the internal CA, which is never listed", async () => {
  const host = new URL(instance.url).host;
  const { text } = await openssl([
    "s_client",
    "-connect",
    host,
    "-verify_return_error",
    "-servername",
    "localhost",
    "-verify_hostname",
    "localhost",
    "-CAfile",
    join(instance.dataDir, "serving-ca.pem"),
  ]);
  expect(text).toContain("Verify return code: 0 (ok)");
  const { items } = await instance.admin<{ items: { label: string }[] }>("GET", "/api/ca");
  expect(items.every(({ label }) => !label.includes("serving"))).toBe(true);
});

test("TLS below 1.2 is refused", async () => {
  const host = new URL(instance.url).host;
  const old = await openssl(
    ["s_client", "-connect", host, "-tls1_1", "-cipher", "DEFAULT@SECLEVEL=0"],
    { mustPass: false },
  );
  expect(old.code).not.toBe(0);
});

test("the audit chain of all this verifies, and a second start reuses everything", async () => {
  const before = await instance.admin<{ events: number; valid: boolean }>(
    "GET",
    "/api/events/verify",
  );
  expect(before.valid).toBe(true);
  const servingCa = instance.servingCa();
  expect(await instance.stop()).toBe(0);
  const offline = await runCli(instance.home, ["audit", "verify", "--json"]);
  expect(offline.code).toBe(0);
  instance = await Instance.start({ home: instance.home, config: { server: publicListener } });
  expect(instance.servingCa()).toBe(servingCa);
  const { items } = await instance.admin<{ items: unknown[] }>("GET", "/api/ca");
  expect(items.length).toBe(6);
  expect(instance.output()).not.toContain("password");
}, 60_000);

const publicListener = { public_http: { enabled: true, address: "127.0.0.1:0" } };

const basic = (name: string, password: string) => ({
  authorization: `Basic ${Buffer.from(`${name}:${password}`).toString("base64")}`,
});
