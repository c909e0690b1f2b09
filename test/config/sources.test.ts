/**
 * `<key>_source` of every kind: what is read, what is refused, and that what is shown loads again
 * (SEC-2).
 */

import { describe, expect, test } from "bun:test";

import { configJsonSchema } from "#config/schema-json.ts";
import type { SecretSetting } from "#config/secret.ts";
import { showYaml } from "#config/show.ts";
import { loadText } from "#test/support/config.ts";

const vault = "address: 'https://vault.test', path: pkid/db";
const load = (source: string) => loadText(`root_user: { password_source: ${source} }`);
const sourceOf = (source: string): SecretSetting | undefined => {
  const result = load(source);
  if (!result.ok) throw new Error(JSON.stringify(result.faults));
  return result.config.root_user.password;
};
const fault = (source: string) => {
  const result = load(source);
  return result.ok ? undefined : result.faults.map(({ path, sentence }) => `${path}: ${sentence}`);
};

describe("a source", () => {
  test("in Vault has the defaults of the reference", () => {
    expect(sourceOf(`{ type: vault, vault: { ${vault} } }`)).toEqual({
      from: "source",
      source: {
        type: "vault",
        vault: {
          address: "https://vault.test",
          path: "pkid/db",
          field: "value",
          kv_version: 2,
          mount: "secret",
          auth_method: "token",
          timeout_seconds: 5,
        },
      },
    });
  });

  test("in Vault takes the token from a source on this machine", () => {
    const token = "{ type: file, file: { path: /run/token } }";
    expect(sourceOf(`{ type: vault, vault: { ${vault}, token: ${token} } }`)).toMatchObject({
      source: { vault: { token: { type: "file", file: { path: "/run/token" } } } },
    });
  });

  test("in AWS and in Azure names the secret and, when wanted, its member", () => {
    expect(sourceOf("{ type: aws, aws: { secret_id: a, field: b } }")).toEqual({
      from: "source",
      source: { type: "aws", aws: { secret_id: "a", field: "b" } },
    });
    const azure = { vault_url: "https://a.vault.azure.net", name: "b" };
    expect(sourceOf(`{ type: azure, azure: ${JSON.stringify(azure)} }`)).toEqual({
      from: "source",
      source: { type: "azure", azure },
    });
  });

  test("on a loopback address may be in clear", () => {
    for (const host of ["localhost", "127.0.0.1:8200", "[::1]:8200"]) {
      const source = `{ type: vault, vault: { path: a, address: 'http://${host}' } }`;
      expect(sourceOf(source)).toMatchObject({ source: { vault: { address: `http://${host}` } } });
    }
  });

  test("on this machine is shown as it loads again", () => {
    for (const source of [
      "{ type: env, env: { var: A } }",
      "{ type: file, file: { path: /run/secrets/root } }",
    ]) {
      const first = load(source);
      if (!first.ok) throw new Error(JSON.stringify(first.faults));
      const again = loadText(showYaml(first.config, first.origins));
      if (!again.ok) throw new Error(JSON.stringify(again.faults));
      expect(again.config.root_user.password).toEqual(first.config.root_user.password);
    }
  });
});

// Columns: source, words of the fault.
// biome-ignore format: the table is read by column.
const refusals = [
  ["5",                                                                       "password_source: Must be a mapping"],
  ["{}",                                                                      "password_source: Must have a type: env, file, vault, aws, azure."],
  ["{ type: gcp }",                                                           "password_source.type: Must be one of env, file, vault, aws, azure."],
  ["{ type: vault }",                                                         "password_source: A source of type vault needs vault.address."],
  ["{ type: vault, vault: { address: 'https://a.test' } }",                   "password_source: A source of type vault needs vault.path."],
  ["{ type: vault, vault: { path: a, address: 'http://a.test' } }",           "vault.address: Must be an https address; http is for a loopback address only."],
  ["{ type: vault, vault: { path: a, address: 'http://127.0.0.1.a.test' } }", "vault.address: Must be an https address"],
  ["{ type: vault, vault: { path: a, address: 'https://u:p@a.test' } }",      "vault.address: Must be a URL without user info."],
  [`{ type: vault, vault: { ${vault}, mount: 'a//b' } }`,                     "vault.mount: Must be a path like secret"],
  ["{ type: vault, vault: { address: 'https://a.test', path: a/../b } }",     "vault.path: Must be a path like pkid/hsm"],
  [`{ type: vault, vault: { ${vault}, kv_version: 3 } }`,                     "vault.kv_version: Must be at most 2."],
  [`{ type: vault, vault: { ${vault}, timeout_seconds: 11 } }`,               "vault.timeout_seconds: Must be at most 10."],
  [`{ type: vault, vault: { ${vault}, auth_method: ldap } }`,                 "vault.auth_method: Must be one of token, approle."],
  [`{ type: vault, vault: { ${vault}, role_id: r } }`,                        "vault.role_id has no meaning with auth_method token."],
  [`{ type: vault, vault: { ${vault}, token: hvs.secret } }`,                 "vault.token: Must be a source of type env or file, never the value itself."],
  [`{ type: vault, vault: { ${vault}, token: { type: aws } } }`,              "vault.token: Must have a type: env, file."],
  [`{ type: vault, vault: { ${vault}, token: { type: env, env: {} } } }`,     "vault.token: A source of type env needs env.var."],
  [`{ type: vault, vault: { ${vault}, tls_skip_verify: true } }`,             "vault.tls_skip_verify: There is no such key."],
  [`{ type: vault, vault: { ${vault} }, env: { var: A } }`,                   "password_source: A source of type vault takes no env part."],
  ["{ type: aws, aws: { region: eu-west-1 } }",                               "password_source: A source of type aws needs aws.secret_id."],
  ["{ type: aws, aws: { secret_id: a, region: 'a.test/' } }",                 "aws.region: Must be a region like eu-central-1."],
  ["{ type: azure, azure: { name: a } }",                                     "password_source: A source of type azure needs azure.vault_url."],
  ["{ type: azure, azure: { name: a/b, vault_url: 'https://a.test' } }",      "azure.name: Must be 1 to 127 letters, digits and hyphens."],
  ["{ type: azure, azure: { name: a, vault_url: 'http://a.test' } }",         "azure.vault_url: Must be an https address"],
] as const;

describe("a source is refused", () => {
  test.each(refusals)("when it says %s", (source, words) => {
    const faults = fault(source);
    expect(faults).toHaveLength(1);
    expect(faults?.[0]).toContain(`root_user.`);
    expect(faults?.[0]).toContain(words);
    expect(faults?.[0]).not.toContain("hvs.secret");
  });
});

test("the schema describes every kind once, and every source points to it", () => {
  const schema = configJsonSchema();
  const text = JSON.stringify(schema);
  for (const [, name] of text.matchAll(/"\$ref":"#\/\$defs\/([a-z_]+)"/g)) {
    expect(schema.$defs).toHaveProperty(name ?? "");
  }
  expect(text.match(/"kv_version"/g)).toHaveLength(1);
});
