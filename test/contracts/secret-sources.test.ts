/** The five kinds of sources, each held to the guarantees of all; then what is one kind's own. */

import { afterAll, afterEach, describe, expect, test } from "bun:test";
import { chmodSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { useProxy } from "#app/proxy.ts";
import { openSecrets } from "#app/secrets.ts";
import { type AwsSource, type AzureSource, Secret, type VaultSource } from "#config/secret.ts";
import { selfSigned } from "#test/support/encodings/openssl.ts";
import {
  awsKey,
  azureClient,
  identityHeader,
  roleId,
  roleSecret,
  startSecretServer,
  temporaryKey,
  vaultToken,
  webToken,
} from "#test/support/servers/secret-server.ts";
import { fetched, refusal, serverSuite, sourceSuite, theSecret } from "./secret-sources.suite.ts";

const server = startSecretServer();
afterAll(() => server.stop());
afterEach(() => {
  server.before = () => undefined;
  server.asked.length = 0;
});
const caFile = () => server.caFile;
const inFolder = (name: string, text: string, mode = 0o600): string => {
  const path = join(server.folder, name);
  writeFileSync(path, text);
  chmodSync(path, mode);
  return path;
};
const paths = () => server.asked.map(({ method, url }) => `${method} ${url.pathname}`);

const vaultPart: VaultSource = {
  address: server.url,
  path: "pkid/hsm",
  field: "pin",
  mount: "secret",
  kv_version: 2,
  auth_method: "token",
  ca_file: server.caFile,
  timeout_seconds: 1,
};
const vault = (changes: Partial<VaultSource> = {}) =>
  ({ type: "vault", vault: { ...vaultPart, ...changes } }) as const;
const aws = (changes: Partial<AwsSource> = {}) =>
  ({ type: "aws", aws: { region: "eu-test-1", secret_id: "pkid/hsm", ...changes } }) as const;
const azure = (changes: Partial<AzureSource> = {}) =>
  ({ type: "azure", azure: { vault_url: server.url, name: "hsm", ...changes } }) as const;

const home = { HOME: server.folder };
const awsPlace = { ...home, AWS_ENDPOINT_URL: server.url };
const awsEnv = { ...awsPlace, AWS_ACCESS_KEY_ID: awsKey.id, AWS_SECRET_ACCESS_KEY: awsKey.secret };
const azureEnv = {
  AZURE_TENANT_ID: azureClient.tenant,
  AZURE_CLIENT_ID: azureClient.id,
  AZURE_CLIENT_SECRET: azureClient.secret,
  AZURE_AUTHORITY_HOST: server.url,
};

const env: Record<string, string> = {};
sourceSuite("a variable", () => ({
  env,
  source: { type: "env", env: { var: "SECRET" } },
  put: (secret) => {
    env.SECRET = secret;
  },
  remove: () => {
    delete env.SECRET;
  },
}));

const kept = join(server.folder, "kept");
sourceSuite("a file", () => ({
  env: {},
  source: { type: "file", file: { path: kept, allow_insecure_perms: false } },
  put: (secret) => void inFolder("kept", secret),
  remove: () => rmSync(kept),
}));

const inVault = (where: string, changes: Partial<VaultSource> = {}) => ({
  server,
  source: vault(changes),
  put: (secret: string) => void server.vault.set(where, { pin: secret }),
  remove: () => void server.vault.delete(where),
});
const byToken = () => ({
  env: { VAULT_TOKEN: vaultToken },
  stranger: { VAULT_TOKEN: "hvs.other" },
  ...inVault("secret/pkid/hsm"),
});
const byRole = () => ({
  env: { VAULT_ROLE_ID: roleId, VAULT_SECRET_ID: roleSecret },
  stranger: { VAULT_ROLE_ID: roleId, VAULT_SECRET_ID: "other" },
  ...inVault("secret/pkid/hsm", { auth_method: "approle" }),
});
const ofVersionOne = () => ({
  ...byToken(),
  ...inVault("kv/pkid/hsm", { mount: "kv", kv_version: 1 }),
});
const inAws = () => ({
  server,
  source: aws(),
  env: awsEnv,
  stranger: { ...awsEnv, AWS_SECRET_ACCESS_KEY: "other" },
  put: (secret: string) => void server.aws.set("pkid/hsm", secret),
  remove: () => void server.aws.delete("pkid/hsm"),
});
const inAzure = () => ({
  server,
  source: azure(),
  env: azureEnv,
  stranger: { ...azureEnv, AZURE_CLIENT_SECRET: "other" },
  put: (secret: string) => void server.azure.set("hsm", secret),
  remove: () => void server.azure.delete("hsm"),
});

const servers = [
  ["Vault by token", byToken],
  ["Vault by approle", byRole],
  ["Vault with the first version of its engine", ofVersionOne],
  ["AWS Secrets Manager", inAws],
  ["an Azure key vault", inAzure],
] as const;
for (const [name, open] of servers) {
  sourceSuite(name, open, caFile);
  serverSuite(name, open);
}

test("a server that does not answer in time is given up on", async () => {
  server.before = async () => {
    await Bun.sleep(30_000);
    return undefined;
  };
  const all = servers.map(([, open]) => refusal(fetched(open(), server.caFile)));
  for (const sentence of await Promise.all(all)) expect(sentence).toContain("not answer in time");
}, 60_000);

test("a server whose certificate nobody trusts is not asked", async () => {
  const untrusted = [
    { source: vault({ ca_file: undefined }), env: { VAULT_TOKEN: vaultToken } },
    { source: aws(), env: awsEnv },
    { source: azure(), env: azureEnv },
  ];
  for (const one of untrusted) expect(await refusal(fetched(one))).toContain("cannot be reached");
  expect(server.asked).toEqual([]);
});

test("what goes in clear is for this host, and never for a proxy", async () => {
  let seen = 0;
  const fetchProxied = () => {
    seen += 1;
    return new Response("", { status: 502 });
  };
  const proxy = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: fetchProxied });
  process.env.HTTP_PROXY = `http://127.0.0.1:${proxy.port}`;
  try {
    // Without this the proxy is used, so that not seeing anything there means something.
    expect((await fetch(server.metadataUrl)).status).toBe(502);
    server.aws.set("pkid/hsm", theSecret);
    const AWS_EC2_METADATA_SERVICE_ENDPOINT = server.metadataUrl;
    const one = { source: aws(), env: { ...awsPlace, AWS_EC2_METADATA_SERVICE_ENDPOINT } };
    expect(await fetched(one, server.caFile)).toBe(theSecret);
    expect(seen).toBe(1);
  } finally {
    delete process.env.HTTP_PROXY;
    await proxy.stop(true);
  }
});

test("a secret that is used often is fetched once a minute, and by one at a time", async () => {
  server.vault.set("secret/pkid/hsm", { pin: theSecret });
  const secrets = openSecrets({ outbound: { ca_file: undefined } }, { VAULT_TOKEN: vaultToken });
  const setting = { from: "source", source: vault() } as const;
  const all = await Promise.all(Array.from({ length: 5 }, () => secrets.recent("k", setting)));
  expect(new Set([...all, await secrets.recent("k", setting)])).toEqual(new Set([theSecret]));
  expect(server.asked).toHaveLength(1);
  expect(await secrets.fresh("k", setting)).toBe(theSecret);
  expect(server.asked).toHaveLength(2);
});

describe("Vault", () => {
  const VAULT_TOKEN = vaultToken;

  test("takes token and role secret from files and variables that the source names", async () => {
    server.vault.set("secret/pkid/hsm", { pin: theSecret });
    const file = { path: inFolder("token", `${vaultToken}\n`), allow_insecure_perms: false };
    const fromFile = vault({ token: { type: "file", file } });
    expect(await fetched({ source: fromFile, env: {} })).toBe(theSecret);
    const secret_id = { type: "env", env: { var: "ROLE_SECRET" } } as const;
    const role = vault({ auth_method: "approle", role_id: roleId, secret_id });
    expect(await fetched({ source: role, env: { ROLE_SECRET: roleSecret } })).toBe(theSecret);
  });

  test("is not asked with a token from a file that others can read", async () => {
    const file = { path: inFolder("open", vaultToken, 0o644), allow_insecure_perms: false };
    const source = vault({ token: { type: "file", file } });
    expect(await refusal(fetched({ source, env: {} }))).toContain("can be read by group or others");
    expect(server.asked).toEqual([]);
  });

  test("is told the namespace, and paths character by character", async () => {
    server.vault.set("a b/ü/x?y", { "f/1": theSecret });
    const source = vault({ mount: "a b", path: "ü/x?y", field: "f/1", namespace: "ops/pki" });
    expect(await fetched({ source, env: { VAULT_TOKEN } })).toBe(theSecret);
    expect(server.asked[0]?.headers.get("x-vault-namespace")).toBe("ops/pki");
  });

  test("gets the token of a login back, also when the secret is not there", async () => {
    const source = vault({ auth_method: "approle", path: "none" });
    const env = { VAULT_ROLE_ID: roleId, VAULT_SECRET_ID: roleSecret };
    await refusal(fetched({ source, env }));
    expect(paths()).toEqual([
      "POST /v1/auth/approle/login",
      "GET /v1/secret/data/none",
      "POST /v1/auth/token/revoke-self",
    ]);
  });

  test("gives a secret although it does not take the token of the login back", async () => {
    server.vault.set("secret/pkid/hsm", { pin: theSecret });
    server.before = ({ url }) =>
      url.pathname.endsWith("revoke-self") ? new Response("", { status: 403 }) : undefined;
    const env = { VAULT_ROLE_ID: roleId, VAULT_SECRET_ID: roleSecret };
    expect(await fetched({ source: vault({ auth_method: "approle" }), env })).toBe(theSecret);
  });

  test("refuses a field that is not there, that is no text, and a version that is deleted", async () => {
    server.vault.set("secret/pkid/hsm", { pin: 1234, other: "x" });
    const get = (changes: Partial<VaultSource> = {}) =>
      refusal(fetched({ source: vault(changes), env: { VAULT_TOKEN } }));
    expect(await get()).toContain("its field pin is no text");
    expect(await get({ field: "puk" })).toContain("it has no field puk");
    expect(await get({ field: "constructor" })).toContain("it has no field constructor");
    server.vault.set("secret/pkid/hsm", null);
    expect(await get()).toContain("not of a key-value engine of version 2");
  });

  test("is asked only with what a header takes", async () => {
    const env = { VAULT_TOKEN: "a\r\nx-other: b" };
    expect(await refusal(fetched({ source: vault(), env }))).toContain("no header takes");
    expect(server.asked).toEqual([]);
  });

  test("trusts nobody but its own CA when it has one", async () => {
    const other = inFolder("other.pem", selfSigned().cert);
    const none = inFolder("none.pem", "no certificates");
    for (const [ca_file, why] of [
      [other, "the server cannot be reached"],
      [none, "holds no certificates"],
      ["/nowhere/ca.pem", "holds no certificates"],
    ] as const) {
      const one = { source: vault({ ca_file }), env: { VAULT_TOKEN } };
      expect(await refusal(fetched(one, server.caFile))).toContain(why);
    }
    expect(server.asked).toEqual([]);
  });
});

describe("a secret that is JSON", () => {
  const kinds = [
    ["AWS", (field?: string) => ({ source: aws({ field }), env: awsEnv }), server.aws, "pkid/hsm"],
    [
      "Azure",
      (field?: string) => ({ source: azure({ field }), env: azureEnv }),
      server.azure,
      "hsm",
    ],
  ] as const;
  for (const [name, of, secrets, key] of kinds) {
    test(`gives the wanted member, and is refused when none is asked for, in ${name}`, async () => {
      secrets.set(key, JSON.stringify({ pin: theSecret, n: 1 }));
      const get = (field?: string) => fetched(of(field), server.caFile);
      expect(await get("pin")).toBe(theSecret);
      expect(await refusal(get())).toContain("field must name the member");
      expect(await refusal(get("n"))).toContain("its field n is no text");
      expect(await refusal(get("puk"))).toContain("it has no field puk");
      expect(await refusal(get("toString"))).toContain("it has no field toString");
    });

    test(`is none when it is a number or a list, in ${name}`, async () => {
      const get = (field?: string) => fetched(of(field), server.caFile);
      for (const text of ["1234", '"1234"', "[1]", "{1"]) {
        secrets.set(key, text);
        expect(await get()).toBe(text);
        expect(await refusal(get("pin"))).toContain("no JSON object and so has no field pin");
      }
    });
  }
});

describe("AWS finds its key", () => {
  const get = (more: Record<string, string>, changes: Partial<AwsSource> = {}) => {
    server.aws.set("pkid/hsm", theSecret);
    return fetched({ source: aws(changes), env: { ...awsPlace, ...more } }, server.caFile);
  };
  const credentials = (heading: string) =>
    `[${heading}]\naws_access_key_id = ${awsKey.id}\naws_secret_access_key = ${awsKey.secret}\n`;
  const imds = () => ({ AWS_EC2_METADATA_SERVICE_ENDPOINT: server.metadataUrl });

  test("in the environment, also a temporary one", async () => {
    const { id, secret, token } = temporaryKey;
    const of = { AWS_ACCESS_KEY_ID: id, AWS_SECRET_ACCESS_KEY: secret };
    expect(await get({ ...of, AWS_SESSION_TOKEN: token })).toBe(theSecret);
    expect(await refusal(get(of))).toContain("(InvalidSignatureException)");
  });

  test("in a profile of the shared files, which may also say the region", async () => {
    const AWS_SHARED_CREDENTIALS_FILE = inFolder("credentials", credentials("ops"));
    const AWS_CONFIG_FILE = inFolder("config", "[profile ops]\nregion = eu-test-1\n");
    const files = { AWS_SHARED_CREDENTIALS_FILE, AWS_CONFIG_FILE };
    const of = { ...files, AWS_PROFILE: "ops" };
    expect(await get(of, { region: undefined })).toBe(theSecret);
    expect(await refusal(get({ ...files, AWS_PROFILE: "other" }))).toContain("no profile other");
    const disabled = { ...files, AWS_EC2_METADATA_DISABLED: "true" };
    expect(await refusal(get(disabled))).toContain("no access key in any place");
    const assuming = inFolder("assuming", "[profile ops]\nrole_arn = a\nsource_profile = b\n");
    const unsupported = { AWS_CONFIG_FILE: assuming, AWS_PROFILE: "ops" };
    expect(await refusal(get(unsupported))).toContain("by source_profile, which is not supported");
  });

  test("by showing the token of a web identity, of the environment or of a profile", async () => {
    const token = inFolder("web-token", `${webToken}\n`);
    const role = "arn:aws:iam::1:role/pkid";
    const of = { AWS_ROLE_ARN: role, AWS_WEB_IDENTITY_TOKEN_FILE: token };
    expect(await get(of)).toBe(theSecret);
    const profile = `[default]\nrole_arn = ${role}\nweb_identity_token_file = ${token}\n`;
    expect(await get({ AWS_CONFIG_FILE: inFolder("web", profile) })).toBe(theSecret);
    const wrong = { ...of, AWS_WEB_IDENTITY_TOKEN_FILE: inFolder("wrong-token", "other") };
    expect(await refusal(get(wrong))).toContain("answered 400 (InvalidIdentityToken)");
    const none = { ...of, AWS_WEB_IDENTITY_TOKEN_FILE: "/nowhere" };
    expect(await refusal(get(none))).toContain("/nowhere");
  });

  test("at the container's service, which wants a token", async () => {
    const of = {
      AWS_CONTAINER_CREDENTIALS_FULL_URI: `${server.metadataUrl}/container`,
      AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: inFolder("container-token", webToken),
    };
    expect(await get(of)).toBe(theSecret);
    const wrong = { ...of, AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: inFolder("other", "other") };
    expect(await refusal(get(wrong))).toContain("credential service answered 401");
    const far = { ...of, AWS_CONTAINER_CREDENTIALS_FULL_URI: "http://192.0.2.1/container" };
    expect(await refusal(get(far))).toContain("must be https");
  });

  test("at the metadata service of the instance, with a token of that service", async () => {
    expect(await get(imds())).toBe(theSecret);
    expect(paths().slice(0, 3)).toEqual([
      "PUT /latest/api/token",
      "GET /latest/meta-data/iam/security-credentials/",
      "GET /latest/meta-data/iam/security-credentials/pkid-role",
    ]);
    const disabled = { ...imds(), AWS_EC2_METADATA_DISABLED: "true" };
    expect(await refusal(get(disabled))).toContain("no access key");
  });

  test("and says so when it knows no region, the secret is binary, or the address is in clear", async () => {
    expect(await refusal(get(awsEnv, { region: undefined }))).toContain("set aws.region");
    expect(await get({ ...awsEnv, AWS_REGION: "eu-test-1" }, { region: undefined })).toBe(
      theSecret,
    );
    server.aws.set("binary", "\0");
    expect(await refusal(get(awsEnv, { secret_id: "binary" }))).toContain("it is binary");
    const clear = { ...awsEnv, AWS_ENDPOINT_URL_SECRETS_MANAGER: "http://192.0.2.1" };
    expect(await refusal(get(clear))).toContain("must be https");
  });
});

describe("Azure knows this workload", () => {
  const get = (env: Record<string, string>, changes: Partial<AzureSource> = {}) => {
    server.azure.set("hsm", theSecret);
    return fetched({ source: azure(changes), env }, server.caFile);
  };
  const { AZURE_CLIENT_SECRET: _, ...tenant } = azureEnv;

  test("by the federated token the platform mounts", async () => {
    const AZURE_FEDERATED_TOKEN_FILE = inFolder("federated", webToken);
    expect(await get({ ...tenant, AZURE_FEDERATED_TOKEN_FILE })).toBe(theSecret);
    const wrong = { ...tenant, AZURE_FEDERATED_TOKEN_FILE: inFolder("wrong", "other") };
    expect(await refusal(get(wrong))).toContain("answered 401 (invalid_client)");
    expect(await refusal(get({ AZURE_FEDERATED_TOKEN_FILE }))).toContain("AZURE_TENANT_ID");
  });

  test("by the managed identity of the machine, or of the app service", async () => {
    const machine = { AZURE_POD_IDENTITY_AUTHORITY_HOST: server.metadataUrl };
    expect(await get(machine)).toBe(theSecret);
    expect(await get({ ...machine, AZURE_CLIENT_ID: "mine" })).toBe(theSecret);
    const asked = server.asked.filter(({ url }) => url.searchParams.get("client_id") === "mine");
    expect(asked).toHaveLength(1);
    const app = { IDENTITY_ENDPOINT: `${server.metadataUrl}/msi`, IDENTITY_HEADER: identityHeader };
    expect(await get(app)).toBe(theSecret);
    expect(await refusal(get({ ...app, IDENTITY_HEADER: "x" }))).toContain("answered 401");
    const far = { ...app, IDENTITY_ENDPOINT: "http://192.0.2.1/msi" };
    expect(await refusal(get(far))).toContain("must be https");
  });

  test("and gives the version that is wanted", async () => {
    server.azure.set("hsm/5f3b", "older");
    expect(await get(azureEnv, { version: "5f3b" })).toBe("older");
    expect(await refusal(get(azureEnv, { version: "beef" }))).toContain("(SecretNotFound)");
  });
});

test("a process that takes the proxy up again and again spares the same addresses", async () => {
  const value = new Secret("http://proxy.test:3128");
  const outbound = { proxy_url: { from: "value", value } as const, ca_file: undefined };
  const secrets = openSecrets({ outbound: { ca_file: undefined } }, {});
  for (const spared of [undefined, "intranet.test"]) {
    const env: Record<string, string | undefined> = { NO_PROXY: spared };
    await useProxy({ outbound }, secrets, env);
    const first = { ...env };
    await useProxy({ outbound }, secrets, env);
    expect(env).toEqual(first);
    expect(env.no_proxy).toContain("127.0.0.0/8");
    expect(env.no_proxy?.startsWith(spared ?? "localhost")).toBe(true);
  }
});
