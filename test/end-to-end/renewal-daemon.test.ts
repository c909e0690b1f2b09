/**
 * `cert renew --daemon` on the binary, with no credential but the certificate it keeps fresh: key
 * and certificate, the hook, signals, and the end of a certificate that was revoked.
 */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { copyFileSync, existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { ran } from "#test/support/child.ts";
import { type Chain, createChain } from "#test/support/instances/first-certificate.ts";
import { canFakeTime, type FalseTime, falseTime } from "#test/support/instances/false-time.ts";
import { binary, Instance } from "#test/support/instances/instance.ts";
import { until } from "#test/support/until.ts";

const issuing = "issuing-ecdsa-p256";
const day = 86_400;
let instance: Instance;
let chain: Chain;
let time: FalseTime;
const at = (name: string) => join(instance.home, name);

/** The instance lets in whom the CA below has certified: first the CA, then the setting. */
beforeAll(async () => {
  const first = await Instance.start();
  chain = await createChain(first, "ecdsa-p256");
  await first.stop();
  const agent = { san_dns: "agent.example.test", subject: "agent", roles: ["issuer"] };
  const mtls = { enabled: true, ca_file: chain.root, bindings: [agent] };
  instance = await Instance.start({ home: first.home, config: { auth: { mtls } } });
  time = falseTime();
}, 60_000);
afterAll(async () => {
  time.remove();
  await instance.dispose();
});

async function pkid(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await instance.cli(...args);
  expect([args, code, stderr]).toEqual([args, 0, stderr]);
  return stdout;
}

/** The line of a daemon that shows the certificate it renews. */
function line(...flags: string[]): string[] {
  const renew = ["cert", "renew", at("agent.pem"), "--ca", issuing, "--daemon"];
  const url = instance.url.replace("127.0.0.1", "localhost");
  const server = ["--url", url, "--ca-file", join(instance.dataDir, "serving-ca.pem")];
  const shown = ["--client-cert", at("agent.pem"), "--client-key", at("agent.key")];
  const made = ["--key", at("agent.key"), "--validity-days", "30", "--json"];
  return [binary].concat(renew, server, shown, made, flags);
}

const environment = () => ({ PATH: process.env.PATH ?? "", HOME: instance.home, ...time.env });
const decisions = (): readonly Record<string, unknown>[] => {
  const text = existsSync(at("out")) ? readFileSync(at("out"), "utf8") : "";
  return text
    .split("\n")
    .slice(0, -1)
    .map((one) => JSON.parse(one));
};
const serial = async () =>
  (await ran(["openssl", "x509", "-in", at("agent.pem"), "-noout", "-serial"])).stdout;

/** The key and the certificate are one pair, and the hook has seen it. */
async function mustBePair(): Promise<void> {
  const inCertificate = await ran(["openssl", "x509", "-in", at("agent.pem"), "-noout", "-pubkey"]);
  const inKey = await ran(["openssl", "pkey", "-in", at("agent.key"), "-pubout"]);
  expect(inKey.stdout).toBe(inCertificate.stdout);
  expect(statSync(at("agent.key")).mode & 0o777).toBe(0o600);
  expect(readFileSync(at("seen.key"), "utf8")).toBe(readFileSync(at("agent.key"), "utf8"));
  const path = ["-untrusted", chain.intermediate, "-CAfile", chain.root];
  const verified = await ran(["openssl", "verify", ...path, at("agent.pem")]);
  expect(verified.stdout).toContain("OK");
}

test.skipIf(!canFakeTime)(
  "a daemon renews key and certificate by themselves, again after SIGHUP, and ends with 0",
  async () => {
    const files = ["--key-out", at("agent.key"), "--out", at("agent.pem"), "--chain"];
    const short = ["--profile", "server-client", "--validity-days", "10"];
    await pkid(
      "cert",
      "issue",
      "--ca",
      issuing,
      "--name",
      "agent.example.test",
      ...short,
      ...files,
    );
    copyFileSync(at("agent.pem"), at("first.pem"));
    const first = [await serial(), readFileSync(at("agent.key"), "utf8")];
    time.set(8 * day);
    writeFileSync(at("out"), "");
    const hook = ["--exec", `cp "$PKID_KEY_FILE" ${at("seen.key")}`];
    const child = Bun.spawn(line("--every", "12h", ...hook), {
      cwd: instance.home,
      env: environment(),
      stdout: Bun.file(at("out")),
      stderr: Bun.file(at("errors")),
    });
    try {
      await until(() => decisions().length === 1);
      expect(decisions()[0]).toMatchObject({ decision: "renewed", file: at("agent.pem") });
      const second = [await serial(), readFileSync(at("agent.key"), "utf8")];
      expect(first.filter((one) => second.includes(one))).toEqual([]);
      await mustBePair();
      // From here on the first certificate lets nobody in: the next look shows the second.
      await pkid("revoke", "cert", "--ca", issuing, at("first.pem"));
      time.set(22 * day);
      child.kill("SIGHUP");
      await until(() => decisions().length === 2);
      expect(decisions()[1]).toMatchObject({ decision: "renewed" });
      expect(second).not.toContain(await serial());
      await mustBePair();
    } finally {
      child.kill("SIGTERM");
    }
    expect([await child.exited, readFileSync(at("errors"), "utf8")]).toEqual([0, ""]);
  },
  60_000,
);

test.skipIf(!canFakeTime)(
  "a daemon ends with 1 when its certificate was revoked, and a look that is not due with 0",
  async () => {
    const files = ["--key-out", at("gone.key"), "--out", at("gone.pem")];
    const short = ["--validity-days", "10"];
    await pkid("cert", "issue", "--ca", issuing, "--name", "gone.example.test", ...short, ...files);
    const config = ["--config", at("pkid.yaml")];
    const renew = [binary, "cert", "renew", at("gone.pem"), "--ca", issuing, "--daemon", ...config];
    const once = await ran([...renew, "--once"], { cwd: instance.home });
    expect([once.code, once.stdout]).toEqual([0, expect.stringContaining("is not due before")]);
    await pkid("revoke", "cert", "--ca", issuing, at("gone.pem"));
    time.set(8 * day);
    const { code, stdout, stderr } = await ran(renew, { cwd: instance.home, env: environment() });
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toContain("gone.pem is not renewed any more: it is revoked. (not_renewable)");
  },
  60_000,
);
