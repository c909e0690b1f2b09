/** What stops a start over the section of ACME, and what becomes of the secrets in it. */

import { describe, expect, test } from "bun:test";

import { faultLine } from "#config/load.ts";
import { inlineSecrets, secretsOf } from "#config/set-secrets.ts";
import { showJson, showYaml } from "#config/show.ts";
import { configOf, loadText } from "#test/support/config.ts";

const key = Buffer.alloc(32, 7).toString("base64url");
const served = "server: { public_url: 'https://pki.test' }\nacme:\n  enabled: true\n  ca_label: a";

const faultsOf = (text: string) => {
  const loaded = loadText(text);
  return loaded.ok ? [] : loaded.faults.map(faultLine);
};

test("ACME starts with an address and a CA that need not exist", () => {
  expect(faultsOf(served)).toEqual([]);
  expect(faultsOf("acme: { enabled: false, profile: nothing }")).toEqual([]);
});

describe("a start is refused", () => {
  // Columns: rule, what stands below `acme`, words of the fault.
  // biome-ignore format: the table is read by column.
  const wrong = [
    ["V-17", "ca_id: b",                                             "acme.ca_label: Exactly one of ca_id and ca_label must be set."],
    ["V-17", "profile: nothing",                                     'acme.profile: There is no profile "nothing".'],
    ["V-17", "profiles: { web: { profile: nothing } }",              'acme.profiles.web.profile: There is no profile "nothing".'],
    ["V-17", "profiles: { web: {} }",                                "acme.profiles.web.profile: Must be set."],
    ["V-17", "challenge_types: []",                                  "acme.challenge_types: At least one is needed."],
    ["V-17", "challenge_types: [dns-persist-01]",                    "acme.challenge_types: dns-persist-01 needs caa.identifier."],
    ["V-17", "directories: { b: { path: /b } }",                     "acme.directories.b.ca_label: Exactly one of ca_id and ca_label must be set."],
    ["V-26", "directories: { b: { ca_label: b } }",                  "acme.directories.b.path: Must be set."],
    ["V-26", "directories: { b: { path: /acme/b, ca_label: b } }",   "acme.directories.b.path: Must not lie inside /acme, nor around it."],
    ["V-26", "directory_path: /api/acme",                            "acme.directory_path: Must not lie inside /api, nor around it."],
    ["V-26", "directories: { default: { path: /b, ca_label: b } }",  "acme.directories.default: The directory of acme itself has this name."],
    ["V-21", "eab_hmac_keys: { k: AAAA }",                           "Must be at least 16 octets in base64url."],
    ["V-21", `eab_hmac_keys: { eab_${"A".repeat(22)}: ${key} }`,     "Kids of this form are made by pkid."],
    ["V-21", "nonce_hmac_key: AAAA",                                 "acme.nonce_hmac_key: Must be at least 16 octets in base64."],
  ] as const;

  test.each(wrong)("%s: %s", (_rule, line, words) => {
    expect(faultsOf(`${served}\n  ${line}`).join("\n")).toContain(words);
  });

  test("V-17: without any address to serve it at", () => {
    const [fault] = faultsOf("acme: { enabled: true, ca_label: a }");
    expect(fault).toContain("acme.base_url: Must be set, or server.public_url.");
  });
});

describe("keys of bindings", () => {
  const text = `${served}\n  eab_hmac_keys:\n    web: ${key}\n    lab: { type: env, env: { var: LAB } }`;

  test("are secrets under their kids, in the file or by a source", () => {
    const set = secretsOf(configOf(text)).filter(({ path }) => path.startsWith("acme."));
    expect(set.map(({ path, setting }) => [path, setting.from])).toEqual([
      ["acme.eab_hmac_keys.web", "value"],
      ["acme.eab_hmac_keys.lab", "source"],
    ]);
    const loaded = loadText(text);
    expect(loaded.ok && inlineSecrets(loaded)).toEqual(["acme.eab_hmac_keys.web"]);
  });

  test("are shown to nobody", () => {
    const loaded = loadText(text);
    if (!loaded.ok) throw new Error("valid above");
    const { config, origins } = loaded;
    for (const shown of [showYaml(config, origins), JSON.stringify(showJson(config, origins))]) {
      expect(shown).not.toContain(key);
      expect(shown).toContain("***");
    }
  });
});

test("CAA asks the resolver of ACME unless it has one of its own", () => {
  expect(configOf("acme: { dns_resolver: '192.0.2.1:53' }").caa.dns_resolver).toBe("192.0.2.1:53");
  const own = "{ acme: { dns_resolver: '192.0.2.1:53' }, caa: { dns_resolver: '192.0.2.2:53' } }";
  expect(configOf(own).caa.dns_resolver).toBe("192.0.2.2:53");
  expect(configOf("{}").caa.dns_resolver).toBeUndefined();
});
