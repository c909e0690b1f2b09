/**
 * Secrets with a face: put in everywhere, and then looked for in everything the instance writes,
 * stores or shows.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { createChain } from "#test/support/instances/first-certificate.ts";
import { Instance, newHome, runCli } from "#test/support/instances/instance.ts";
import { createHsmToken, type SoftHsmToken } from "#test/support/keys/soft-token.ts";

const password = "SecretRootPassword-7f3a";
const passphrase = "SecretPassphrase-91bc";
const clientSecret = "SecretOfTheClient-55d0";
const pin = "SecretPin-4471";

let hsm: SoftHsmToken;
let instance: Instance;
let apiToken: string;
const bodies: string[] = [];

beforeAll(async () => {
  hsm = await createHsmToken(pin);
  const home = newHome();
  const file = (name: string, secret: string) => {
    const path = join(home, name);
    writeFileSync(path, `${secret}\n`);
    chmodSync(path, 0o600);
    return { type: "file", file: { path } };
  };
  instance = await Instance.start({
    home,
    env: hsm.env,
    config: {
      ...hsm.config,
      root_user: { password_source: file("root", password) },
      key_provider: {
        type: "pkcs11",
        software: { passphrase_source: file("phrase", passphrase) },
      },
      auth: { oidc: { client_secret_source: file("oidc", clientSecret) } },
      log: { level: "debug" },
    },
  });
  await createChain(instance, "ecdsa-p256");
  apiToken = await instance.token(["admin"], { scope: "platform" });
  await provoke();
}, 60_000);

afterAll(async () => {
  await instance.dispose();
  hsm.remove();
});

/** Uses every secret rightly and wrongly, and keeps what was answered. */
async function provoke(): Promise<void> {
  const attempts: [string, RequestInit][] = [
    ["/api/me", { headers: { authorization: basic("root", password) } }],
    ["/api/me", { headers: { authorization: basic("root", `${password}x`) } }],
    ["/api/me", { headers: { authorization: `Token ${apiToken}` } }],
    ["/api/me", { headers: { authorization: `Token ${apiToken}x` } }],
    ["/api/me", { headers: { authorization: `Bearer ${apiToken.slice(0, -1)}` } }],
    [`/api/me?token=${apiToken}`, { headers: { authorization: `Token ${apiToken}` } }],
    ["/api/tokens", { headers: { authorization: `Token ${apiToken}` } }],
    ["/api/hsm/info", { headers: { authorization: `Token ${apiToken}` } }],
    [
      "/api/ca/init-root",
      { method: "POST", body: apiToken, headers: { authorization: `Token ${apiToken}` } },
    ],
    [
      "/api/ca/init-root",
      {
        method: "POST",
        body: JSON.stringify({ label: 1, nonsense: apiToken }),
        headers: { authorization: `Token ${apiToken}`, "content-type": "application/json" },
      },
    ],
    ["/api/events", { headers: { authorization: `Token ${apiToken}` } }],
    ["/metrics", {}],
    ["/readyz", {}],
    ["/openapi.json", {}],
  ];
  for (const [path, init] of attempts) {
    const answer = await instance.fetch(path, init);
    bodies.push(JSON.stringify([...answer.headers]), await answer.text());
  }
  await instance.logged("http_request", (line) => line.includes("/openapi.json"));
}

describe("no secret is found", () => {
  const absent = (where: string, text: string, secrets: readonly string[]) => {
    for (const secret of secrets) {
      expect([where, secret, text.includes(secret)]).toEqual([where, secret, false]);
    }
  };
  const all = () => [password, passphrase, pin, clientSecret, apiToken, apiToken.slice(0, -1)];

  test("in the log, the output, or any answer", () => {
    absent("log", instance.logs.join("\n"), all());
    absent("output", instance.output(), all());
    absent("answers", bodies.join("\n"), all());
  });

  test("in `config show`, `config check` and a failing start", async () => {
    for (const args of [["show"], ["show", "--json"], ["show", "--origin"], ["check"]]) {
      const { stdout, stderr } = await runCli(instance.home, ["config", ...args]);
      absent(`config ${args.join(" ")}`, stdout + stderr, all());
    }
    const inline = newHome();
    const config = { root_user: { password, password_hash: "$argon2id$x" }, nonsense: 1 };
    writeFileSync(join(inline, "pkid.yaml"), JSON.stringify(config));
    for (const args of [["config", "show"], ["config", "check"], ["serve"], ["ca", "list"]]) {
      const { stdout, stderr } = await runCli(inline, args);
      absent(args.join(" "), stdout + stderr, [password, "$argon2id$x"]);
    }
  });

  test("in arguments and environment of server and signers", () => {
    const signers = instance.signers();
    expect(signers.length).toBe(2);
    for (const pid of [instance.pid, ...signers]) {
      const of = (file: string) => readFileSync(`/proc/${pid}/${file}`, "latin1");
      absent(`arguments of ${pid}`, of("cmdline"), all());
      absent(`environment of ${pid}`, of("environ"), all());
    }
  });

  test("in the database, its log, or any other file of the data directory", () => {
    const files = readdirSync(instance.dataDir, { recursive: true, encoding: "utf8" });
    const read: string[] = [];
    for (const name of files) {
      const path = join(instance.dataDir, name);
      if (!statSync(path).isFile()) continue;
      read.push(name);
      absent(name, readFileSync(path, "latin1"), all());
      expect([name, statSync(path).mode & 0o077]).toEqual([name, 0]);
    }
    expect(read).toContain("pkid.db");
  });

  test("and a token is known to the database by its digest", () => {
    const digest = new Bun.CryptoHasher("sha256").update(apiToken).digest("hex");
    const stored = ["pkid.db", "pkid.db-wal"].map((name) =>
      readFileSync(join(instance.dataDir, name), "latin1"),
    );
    expect(stored.some((text) => text.includes(digest))).toBe(true);
  });
});

const basic = (name: string, secret: string) => `Basic ${btoa(`${name}:${secret}`)}`;
