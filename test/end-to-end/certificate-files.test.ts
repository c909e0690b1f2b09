/**
 * What users of other tools do with certificate files, on the binary: names, stores, trust by
 * fingerprint, renewal in place.
 */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { ran } from "#test/support/child.ts";
import { type Chain, createChain } from "#test/support/instances/first-certificate.ts";
import { canFakeTime, falseTime } from "#test/support/instances/false-time.ts";
import { binary, Instance } from "#test/support/instances/instance.ts";
import { until } from "#test/support/until.ts";

let instance: Instance;
let chain: Chain;
const at = (name: string) => join(instance.home, name);
const issuing = "issuing-ecdsa-p256";

beforeAll(async () => {
  instance = await Instance.start();
  chain = await createChain(instance, "ecdsa-p256");
}, 60_000);
afterAll(() => instance.dispose());

async function pkid(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await instance.cli(...args);
  expect([args, code, stderr]).toEqual([args, 0, stderr]);
  return stdout;
}

async function run(line: string): Promise<string> {
  const { code, stdout, stderr } = await ran(line.split(" "), { cwd: instance.home });
  if (code !== 0) throw new Error(`${line}: ${stdout}${stderr}`);
  return stdout + stderr;
}

test("names are certified with a key of this machine, and the store of both serves TLS", async () => {
  const names = ["--name", "www.example.test", "--name", "localhost"];
  const files = ["--key-out", at("www.key"), "--out", at("www.pem"), "--chain"];
  await pkid("cert", "issue", "--ca", issuing, ...names, ...files);
  expect(statSync(at("www.key")).mode & 0o777).toBe(0o600);
  const path = `-untrusted ${chain.intermediate} -CAfile ${chain.root}`;
  expect(
    await run(`openssl verify -x509_strict -verify_hostname localhost ${path} www.pem`),
  ).toContain("OK");
  const own = await run("openssl pkey -in www.key -pubout");
  expect(await run("openssl x509 -in www.pem -noout -pubkey")).toBe(own);

  writeFileSync(at("pass"), "correct horse\n");
  const store = ["--passphrase-file", at("pass"), "--out", at("www.p12")];
  await pkid("cert", "export", at("www.pem"), "--key", at("www.key"), ...store);
  await run("openssl pkcs12 -in www.p12 -passin file:pass -nodes -out www-all.pem");
  expect(await run(`openssl verify ${path} www-all.pem`)).toContain("OK");
}, 60_000);

test("the CA of a server comes by its fingerprint, and is then trusted by the environment", async () => {
  writeFileSync(at("serving.pem"), instance.servingCa());
  const shown = await run("openssl x509 -in serving.pem -noout -fingerprint -sha256");
  const digest = shown.trim().split("=")[1] ?? "";
  const url = instance.url.replace("127.0.0.1", "localhost");
  const fetched = await ran(
    [binary, "trust", "fetch", url, "--fingerprint", digest, "--out", at("trusted.pem")],
    { cwd: instance.home },
  );
  expect([fetched.code, fetched.stderr]).toEqual([
    0,
    expect.stringContaining("as the fingerprint says"),
  ]);
  const token = await instance.token(["admin"]);
  const env = { PKID_CA_FILE: at("trusted.pem"), PKID_URL: url, PKID_TOKEN: token };
  const listed = await ran([binary, "ca", "list", "--json"], { cwd: "/", env });
  expect([listed.code, listed.stderr]).toEqual([0, ""]);
}, 30_000);

test("what is served is inspected as OpenSSL sees it", async () => {
  const url = instance.url.replace("127.0.0.1", "localhost");
  const { stdout } = await ran([binary, "cert", "inspect", url, "--json"], { cwd: instance.home });
  const [leaf] = JSON.parse(stdout).items;
  const host = new URL(url).host;
  const shown = await run(`openssl s_client -connect ${host} -servername localhost`).catch(String);
  writeFileSync(
    at("leaf.pem"),
    /-----BEGIN[\s\S]*?-----END CERTIFICATE-----/.exec(shown)?.[0] ?? "",
  );
  expect(await run("openssl x509 -in leaf.pem -noout -fingerprint -sha256")).toContain(leaf.sha256);
}, 30_000);

const textOf = (name: string): string =>
  existsSync(at(name)) ? readFileSync(at(name), "utf8") : "";

test.skipIf(!canFakeTime)(
  "a daemon renews a file in place with its path, once, runs the hook, and goes on after a failure",
  async () => {
    const files = ["--key-out", at("d.key"), "--out", at("d.pem"), "--chain"];
    const short = ["--validity-days", "10"];
    await pkid("cert", "issue", "--ca", issuing, "--name", "d.example.test", ...short, ...files);
    const first = readFileSync(at("d.pem"), "utf8");
    const renewing = ["cert", "renew", at("d.pem"), "--ca", issuing, "--daemon", "--every", "1s"];
    const hook = [
      "--within",
      "3650d",
      "--validity-days",
      "90",
      "--exec",
      `cp "$PKID_CERT_FILE" ${at("hooked.pem")}; env > ${at("hooked.env")}; exit 3`,
    ];
    // Eight of its ten days are over for the daemon; of the ninety of the next one, only eight.
    const time = falseTime();
    time.set(8 * 86_400);
    const config = ["--config", at("pkid.yaml")];
    const child = Bun.spawn([binary, ...renewing, ...hook, ...config], {
      cwd: instance.home,
      env: {
        ...process.env,
        ...time.env,
        PKID_ROOT_USER_PASSWORD: "correct horse",
        PKID_CA_FILE: "/ca.pem",
      },
      stdout: Bun.file(at("daemon.out")),
      stderr: Bun.file(at("daemon.log")),
    });
    try {
      const log = () => textOf("daemon.out") + textOf("daemon.log");
      await until(() => log().includes("ended with 3"));
      expect(readFileSync(at("d.pem"), "utf8")).not.toBe(first);
      expect(readFileSync(at("hooked.pem"), "utf8")).toContain("BEGIN CERTIFICATE");
      const given = readFileSync(at("hooked.env"), "utf8").match(/^PKID_\w+/gm) ?? [];
      expect(given.toSorted()).toEqual(["PKID_CA_FILE", "PKID_CERT_FILE"]);
      const path = `-untrusted ${chain.intermediate} -CAfile ${chain.root}`;
      expect(await run(`openssl verify ${path} hooked.pem`)).toContain("OK");
      expect(readFileSync(at("hooked.pem"), "utf8").match(/BEGIN/g)).toHaveLength(2);
      // Longer than it lives, the span has it due no sooner than a third of its life is over.
      await until(() => (log().match(/is not due before/g) ?? []).length > 1);
      expect(log().match(/was renewed until/g)).toHaveLength(1);
      // A file that is no certificate any more is said, and looked at again.
      writeFileSync(at("d.pem"), "");
      await until(() => log().includes("was not renewed"));
      expect(child.exitCode).toBe(null);
    } finally {
      child.kill();
      await child.exited;
      time.remove();
    }
    expect((await instance.cli("cert", "needs-renewal", at("hooked.pem"))).code).toBe(1);
  },
  60_000,
);
