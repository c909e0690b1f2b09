/**
 * Secrets kept in a store: PIN, passphrase, database address and passwords reach what needs them,
 * and nobody else.
 */

import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { createChain, walkCertificate } from "#test/support/instances/first-certificate.ts";
import {
  failedStart,
  Instance,
  newHome,
  runCli,
  writeConfig,
} from "#test/support/instances/instance.ts";
import {
  answerOf,
  clientSecret,
  startIdentityProvider,
} from "#test/support/servers/identity-provider.ts";
import { startPostgres } from "#test/support/servers/postgres.ts";
import { said } from "#test/support/instances/preflight.ts";
import { memoryContains } from "#test/support/instances/process-memory.ts";
import {
  awsKey,
  azureClient,
  roleId,
  roleSecret,
  startSecretServer,
  vaultToken,
} from "#test/support/servers/secret-server.ts";
import { s3Credentials, startS3 } from "#test/support/servers/s3-server.ts";
import {
  passwordOf,
  serviceDn,
  servicePassword,
  slapdPath,
  startSlapd,
  suffix,
} from "#test/support/servers/slapd.ts";
import { createHsmToken, type SoftHsmToken } from "#test/support/keys/soft-token.ts";

const vault = startSecretServer();
afterAll(() => vault.stop());
afterEach(() => {
  vault.before = () => undefined;
});

const away = () => {
  vault.before = () => new Response("", { status: 503 });
};

/** A source whose token is in a file of mode 0600. */
function source(path: string, field: string, more: object = {}) {
  const tokenFile = join(vault.folder, "token");
  writeFileSync(tokenFile, `${vaultToken}\n`, { mode: 0o600 });
  const token = { type: "file", file: { path: tokenFile } };
  const part = { address: vault.url, path, field, ca_file: vault.caFile, token, ...more };
  return { type: "vault", vault: part };
}

/** What somebody sees who reads everything the instance wrote, answered and was started with. */
function seen(instance: Instance): string {
  const of = (pid: number, file: string) => readFileSync(`/proc/${pid}/${file}`, "latin1");
  const processes = [instance.pid, ...instance.signers()];
  const parts = processes.flatMap((pid) => [of(pid, "cmdline"), of(pid, "environ")]);
  return [...parts, ...instance.logs, instance.output()].join("\n");
}

describe("a PIN in Vault", () => {
  const pin = "SecretPin-7c1f-of-the-token";
  let hsmToken: SoftHsmToken;
  let instance: Instance;
  const config = (more: object = {}) => {
    const { pkcs11, ...rest } = hsmToken.config;
    const members = pkcs11 as object; // Written by `createHsmToken`.
    return { ...rest, pkcs11: { ...members, pin_source: source("pkid/hsm", "pin", more) } };
  };

  beforeAll(async () => {
    hsmToken = await createHsmToken(pin);
    vault.vault.set("secret/pkid/hsm", { pin });
    const server = { public_http: { enabled: true, address: "127.0.0.1:0" } };
    instance = await Instance.start({ config: { ...config(), server }, env: hsmToken.env });
  }, 60_000);
  afterAll(async () => {
    await instance?.dispose();
    hsmToken?.remove();
  });

  test("opens the token, whose keys then issue and revoke", async () => {
    await walkCertificate(instance, await createChain(instance, "ecdsa-p256"), "ecdsa-p256");
  }, 60_000);

  test("is in no environment, argument, log or answer, and never in the server's memory", async () => {
    const found = { status: "pass", detail: "The PIN can be had." };
    expect(await said(instance.home, "pin.source")).toMatchObject(found);
    expect(seen(instance)).not.toContain(pin);
    expect(seen(instance)).not.toContain(vaultToken);
    const shown = await instance.cli("config", "show");
    expect(shown.stdout).toContain('"type":"vault"');
    expect(shown.stdout).not.toContain(pin);
    // What is known to be there is found, so that not finding the PIN means something.
    expect(memoryContains(instance.pid, "pkid/hsm")).toBe(true);
    expect(memoryContains(instance.pid, pin)).toBe(false);
  }, 60_000);

  test("is waited for when a signer is lost while Vault is away", async () => {
    away();
    for (const pid of instance.signers()) process.kill(pid, "SIGKILL");
    await instance.logged("key_provider_fault", (line) => line.includes("pkcs11.pin: The secret"));
    expect((await instance.fetch("/readyz")).status).toBe(503);
    expect((await said(instance.home, "pin.source")).status).toBe("fail");
    vault.before = () => undefined;
    while ((await instance.fetch("/readyz")).status !== 200) await Bun.sleep(100);
  }, 60_000);

  test("stops a start when it cannot be had, and the sentence names key and place", async () => {
    for (const [more, why] of [
      [{ path: "pkid/none" }, "answered 404: there is none of this name"],
      [{ field: "puk" }, "it has no field puk"],
      [{ ca_file: undefined }, "the server cannot be reached"],
      [{ address: "https://127.0.0.1:9", ca_file: undefined }, "the server cannot be reached"],
    ] as const) {
      const home = newHome();
      const ended = await failedStart({ home, config: config(more), env: hsmToken.env });
      expect(ended.code).toBe(1);
      expect(ended.stderr).toContain("pkcs11.pin: The secret secret/pkid/");
      expect(ended.stderr).toContain(why);
      expect(ended.stderr + ended.stdout).not.toContain(pin);
    }
  }, 60_000);

  test("is fetched with variables that only the signer of the token gets", async () => {
    const env = {
      ...hsmToken.env,
      VAULT_ROLE_ID: roleId,
      VAULT_SECRET_ID: roleSecret,
      AWS_SECRET_ACCESS_KEY: "unneeded",
      VAULT_TOKEN: "unneeded",
    };
    const approle = { token: undefined, auth_method: "approle" };
    await instance.stop();
    instance = await Instance.start({ config: config(approle), env, home: instance.home });
    const variables = instance.signers().map((pid) =>
      readFileSync(`/proc/${pid}/environ`, "utf8")
        .split("\0")
        .map((entry) => entry.split("=")[0])
        .filter((name) => /^(VAULT|AWS)/.test(name ?? ""))
        .sort(),
    );
    const wanted: unknown[] = [["VAULT_ROLE_ID", "VAULT_SECRET_ID"], []];
    expect(variables.sort((a, b) => b.length - a.length)).toEqual(wanted as string[][]);
  }, 60_000);
});

test("a PIN in AWS and a passphrase in Azure unlock keys, each with what its signer alone was given", async () => {
  const pin = "SecretPin-3d77-of-the-cloud";
  const hsmToken = await createHsmToken(pin);
  vault.aws.set("pkid/hsm", JSON.stringify({ pin }));
  vault.azure.set("phrase", "SecretPassphrase-of-the-cloud-40");
  const aws = { region: "eu-test-1", secret_id: "pkid/hsm", field: "pin" };
  const azure = { vault_url: vault.url, name: "phrase" };
  const { pkcs11, key_provider } = hsmToken.config;
  const instance = await Instance.start({
    config: {
      outbound: { ca_file: vault.caFile },
      // Both written by `createHsmToken`.
      pkcs11: { ...(pkcs11 as object), pin_source: { type: "aws", aws } },
      key_provider: {
        ...(key_provider as object), // As above.
        software: { passphrase_source: { type: "azure", azure } },
      },
    },
    env: {
      ...hsmToken.env,
      AWS_ENDPOINT_URL: vault.url,
      AZURE_AUTHORITY_HOST: vault.url,
      AWS_ACCESS_KEY_ID: awsKey.id,
      AWS_SECRET_ACCESS_KEY: awsKey.secret,
      AZURE_TENANT_ID: azureClient.tenant,
      AZURE_CLIENT_ID: azureClient.id,
      AZURE_CLIENT_SECRET: azureClient.secret,
    },
  });
  try {
    await createChain(instance, "ecdsa-p256");
    const clouds = instance.signers().map((pid) => {
      const environment = readFileSync(`/proc/${pid}/environ`, "latin1");
      return ["AWS_SECRET", "AZURE_CLIENT"].filter((name) => environment.includes(name));
    });
    expect(clouds.sort()).toEqual([["AWS_SECRET"], ["AZURE_CLIENT"]]);
    expect((await said(instance.home, "secret.sources")).detail).toBe("2 sources resolve.");
    for (const secret of [pin, "SecretPassphrase-of-the-cloud-40"]) {
      expect(seen(instance)).not.toContain(secret);
      expect(memoryContains(instance.pid, secret)).toBe(false);
    }
  } finally {
    await instance.dispose();
    hsmToken.remove();
  }
}, 60_000);

test("preflight of a running server tells whether a PIN in a file is there, and does not read it", async () => {
  const pin = "SecretPin-5b0e-in-a-file";
  const hsmToken = await createHsmToken(pin);
  const instance = await Instance.start({ config: hsmToken.config, env: hsmToken.env });
  try {
    const file = join(hsmToken.folder, "pin");
    for (const check of ["pin.source", "secret.sources", "config.default_secrets"]) {
      expect((await said(instance.home, check)).status).not.toBe("fail");
    }
    expect(memoryContains(instance.pid, pin)).toBe(false);
    chmodSync(file, 0o644);
    expect(await said(instance.home, "pin.source")).toMatchObject({
      status: "fail",
      detail: expect.stringContaining("pkcs11.pin: The file "),
    });
  } finally {
    await instance.dispose();
    hsmToken.remove();
  }
}, 60_000);

test("a passphrase of the key store comes from Vault, and a wrong one stops the start", async () => {
  vault.vault.set("kv/keys", { phrase: "a long passphrase of the key store" });
  const phrase = source("keys", "phrase", { mount: "kv", kv_version: 1 });
  const config = { key_provider: { software: { passphrase_source: phrase } } };
  const first = await Instance.start({ config });
  await createChain(first, "ecdsa-p256");
  await first.stop();
  const again = await Instance.start({ home: first.home, config });
  expect((await again.fetch("/readyz")).status).toBe(200);
  await again.stop();
  vault.vault.set("kv/keys", { phrase: "another passphrase altogether" });
  const ended = await failedStart({ home: first.home, config });
  expect([ended.code, ended.stderr]).toEqual([1, expect.stringContaining("is not the one")]);
  await first.dispose();
}, 60_000);

test("the address of a PostgreSQL database comes from Vault", async () => {
  const postgres = await startPostgres();
  try {
    const password = "SecretOfTheDatabase-2b";
    const dsn = new URL(await postgres.createDatabase());
    dsn.password = password;
    vault.vault.set("secret/pkid/db", { dsn: dsn.href, wrong: "no address but a secret" });
    const config = (field: string) => ({
      database: { driver: "postgres", dsn_source: source("pkid/db", field) },
    });
    const home = newHome();
    writeConfig(home, config("dsn"));
    const migrated = await runCli(home, ["migrate"]);
    expect([migrated.code, migrated.stderr]).toEqual([0, ""]);
    const instance = await Instance.start({ home, config: config("dsn") });
    await createChain(instance, "ecdsa-p256");
    expect((await said(home, "secret.sources")).detail).toBe("1 sources resolve.");
    expect(seen(instance)).not.toContain(password);
    away();
    expect((await said(home, "secret.sources")).detail).toStartWith(
      "database.dsn: The secret secret/pkid/db (field dsn) of Vault at https://127.0.0.1:",
    );
    await instance.stop();
    const ended = await failedStart({ home, config: config("dsn") });
    expect([ended.code, ended.stderr]).toEqual([1, expect.stringContaining("answered 503")]);
    expect(ended.stderr).toContain("error: database.dsn: The secret secret/pkid/db");
    vault.before = () => undefined;
    const wrong = await failedStart({ home, config: config("wrong") });
    expect(wrong.stderr).toBe("error: database.dsn: What its source gave is no database URL.\n");
    vault.vault.set("secret/pkid/db", { dsn: "postgres://u:%zz@127.0.0.1/d" });
    expect((await said(home, "config.default_secrets")).status).toBe("skip");
    await instance.dispose();
  } finally {
    await postgres.stop();
  }
}, 120_000);

test("the secret key of an object store comes from Vault at every snapshot", async () => {
  const store = startS3();
  const { bucket, region, accessKeyId, secretAccessKey } = s3Credentials;
  vault.vault.set("secret/pkid/s3", { key: secretAccessKey });
  const s3 = {
    endpoint: store.endpoint,
    bucket,
    region,
    access_key_id: accessKeyId,
    force_path_style: true,
    secret_access_key_source: source("pkid/s3", "key"),
  };
  away();
  const instance = await Instance.start({ config: { publish: { enabled: true, s3 } } });
  try {
    await createChain(instance, "ecdsa-p256");
    const refused = await instance.cli("publish", "run");
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain("publish.s3.secret_access_key: The secret secret/pkid/s3");
    expect(store.objects.size).toBe(0);
    vault.before = () => undefined;
    let ran = await instance.cli("publish", "run");
    while (ran.code !== 0) {
      await Bun.sleep(200);
      ran = await instance.cli("publish", "run");
    }
    expect([...store.objects.keys()]).toContain("manifest.json");
    expect(seen(instance)).not.toContain(secretAccessKey);
  } finally {
    await instance.dispose();
    await store.stop();
  }
}, 60_000);

test("our secret at an OpenID provider comes from Vault, and nobody logs in while it cannot be had", async () => {
  const home = newHome();
  const redirectUrl = "https://pkid.test/auth/callback";
  const idp = await startIdentityProvider(redirectUrl, { alice: { groups: ["ops"] } });
  writeFileSync(join(home, "idp.pem"), idp.ca);
  vault.vault.set("secret/pkid/oidc", { secret: clientSecret });
  const oidc = {
    enabled: true,
    issuer_url: idp.issuer,
    client_id: "pkid",
    redirect_url: redirectUrl,
    role_mappings: [{ value: "ops", roles: ["issuer"] }],
    client_secret_source: source("pkid/oidc", "secret"),
  };
  const outbound = { ca_file: join(home, "idp.pem") };
  const instance = await Instance.start({ home, config: { outbound, auth: { oidc } } });
  try {
    const logIn = async () => {
      const begun = await instance.fetch("/auth/login", { redirect: "manual" });
      const cookie = (begun.headers.getSetCookie()[0] ?? "").split(";")[0] ?? "";
      const back = new URL(await answerOf(idp, begun.headers.get("location") ?? "", "alice"));
      const headers = { cookie };
      const path = `/auth/callback${back.search}`;
      return await instance.fetch(path, { headers, redirect: "manual" });
    };
    away();
    const failed = await logIn();
    expect(failed.headers.getSetCookie().join()).not.toContain("pki_session");
    await instance.logged("oidc_provider_fault", (line) =>
      line.includes("auth.oidc.client_secret"),
    );
    vault.before = () => undefined;
    let answer = await logIn();
    while (!answer.headers.getSetCookie().join().includes("pki_session")) {
      await Bun.sleep(200);
      answer = await logIn();
    }
    expect(answer.status).toBe(302);
    expect(seen(instance)).not.toContain(clientSecret);
  } finally {
    await instance.dispose();
    idp.stop();
  }
}, 60_000);

describe.skipIf(slapdPath === undefined)("the password of the directory's service account", () => {
  test("is fetched from Vault when somebody comes, and nobody comes in while it cannot be had", async () => {
    const slapd = await startSlapd(10);
    vault.vault.set("secret/pkid/ldap", { password: servicePassword });
    vault.asked.length = 0;
    const ldap = {
      enabled: true,
      url: `ldaps://localhost:${slapd.ldapsPort}`,
      bind_dn: serviceDn,
      user_base_dn: `ou=people,${suffix}`,
      user_filter: "(uid=%s)",
      bind_password_source: source("pkid/ldap", "password"),
      tls: { ca_file: slapd.caFile },
      allow_zero_role: true,
    };
    away();
    const instance = await Instance.start({ config: { auth: { ldap } } });
    try {
      const logIn = () =>
        instance.fetch("/auth/login/ldap", {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ username: "alice", password: passwordOf("alice") }),
        });
      expect(vault.asked).toEqual([]);
      expect((await logIn()).status).toBe(401);
      const events = "/api/events?action=auth.login_failed";
      const failures = await instance.admin<{ items: { detail: string }[] }>("GET", events);
      expect(failures.items.map(({ detail }) => detail)).toEqual([
        expect.stringContaining("directory_unavailable"),
      ]);
      vault.before = () => undefined;
      // For a moment after a fault nobody is asked, so that a crowd does not become one at Vault's
      // door.
      let answer = await logIn();
      while (answer.status === 401) {
        await Bun.sleep(200);
        answer = await logIn();
      }
      expect(answer.status).toBe(200);
      vault.asked.length = 0;
      expect((await logIn()).status).toBe(200);
      expect(vault.asked).toEqual([]);
      expect(seen(instance)).not.toContain(servicePassword);
    } finally {
      await instance.dispose();
      await slapd.stop();
    }
  }, 60_000);
});
