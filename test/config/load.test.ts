/** Loading the configuration: order of authority, strictness, and every fault in one run. */

import { describe, expect, test } from "bun:test";
import { resolve } from "node:path";

import { faultLine, type Loaded, loadConfig } from "#config/load.ts";
import { configOf, loadText } from "#test/support/config.ts";

describe("order of authority (CFG-2)", () => {
  test("without a file everything has its default", () => {
    const config = configOf("");
    // Absolute: the signer runs in a directory of its own and must mean the same file.
    expect(config.data_dir).toBe(resolve("pkid-data"));
    expect(config.server.port).toBe(8443);
    expect(config.server.public_url).toBeUndefined();
    expect(config.server.tls.self_issue.enabled).toBe(true);
    expect(config.server.tls.self_issue.dnsnames).toEqual(["ca.test", "localhost"]);
  });

  test("a machine whose name ends in a number serves as localhost", () => {
    const given = { env: {}, flags: {}, host: "node.1", readFile: () => "" };
    const result = loadConfig(given);
    if (!result.ok) throw new Error(lines(result).join());
    const { common_name, dnsnames } = result.config.server.tls.self_issue;
    expect([common_name, ...dnsnames]).toEqual(["localhost", "localhost"]);
  });

  test("the environment wins over the file, and a flag over both", () => {
    const text = "server: { port: 1, host: a }\nlog: { level: warn }\n";
    const result = loadText(
      text,
      { PKID_SERVER_PORT: "2", PKID_SERVER_HOST: "b" },
      { "server.port": 3 },
    );
    if (!result.ok) throw new Error(lines(result).join());
    expect(result.config.server).toMatchObject({ port: 3, host: "b" });
    expect(result.origins.get("server.port")).toBe("flag");
    expect(result.origins.get("server.host")).toBe("env");
    expect(result.origins.get("log.level")).toBe("pkid.yaml:2");
    expect(result.origins.get("log.format")).toBe("default");
  });

  test("defaults that follow from other keys follow from their effective values", () => {
    const config = configOf("pkcs11: { module_path: /lib/p11.so }\n", { PKID_DATA_DIR: "/srv/ca" });
    expect(config.key_provider).toMatchObject({
      type: "pkcs11",
      roles: { ca: "pkcs11", responder: "pkcs11" },
      software: { keystore_dir: "/srv/ca/keys", master_key_file: "/srv/ca/master.key" },
    });
    expect(config.server.admin_socket.path).toBe("/srv/ca/admin.sock");
    const { dsn } = config.database;
    expect(dsn.from === "value" && dsn.value.reveal()).toBe("/srv/ca/pkid.db");
  });

  test("the CRL base follows the public URL unless it is set", () => {
    expect(configOf("server: { public_url: https://a.test/ }").crl.base_url).toBe("https://a.test");
    const both = "server: { public_url: https://a.test }\ncrl: { base_url: http://b.test }";
    expect(configOf(both).crl.base_url).toBe("http://b.test");
  });

  test("a certificate of the operator switches self issue off", () => {
    const config = configOf("server: { tls_cert: c.pem, tls_key: k.pem }");
    expect(config.server.tls.self_issue.enabled).toBe(false);
  });

  test("the OCSP cache lives 3600 s for 0 and is off for -1", () => {
    expect(configOf("").server.ocsp_cache_ttl_seconds).toBe(3600);
    const off = "server: { ocsp_cache_ttl_seconds: -1 }";
    expect(configOf(off).server.ocsp_cache_ttl_seconds).toBe(-1);
  });
});

describe("strictness (CFG-3, CFG-5)", () => {
  // biome-ignore format: the table is read by column.
  const refusals = [
    ["server: { prot: 1 }", "config: server.prot: There is no such key. The nearest known key is server.port."],
    ["sever: {}", "config: sever: There is no such key. The nearest known key is server."],
    ["profiles: [{ name: a, key_usage: [] }]", "config: profiles[0].key_usage: There is no such key. The nearest known key is profiles[0].key_usages."],
    ["profiles: [{ name: a, lint: { moed: warn } }]", "config: profiles[0].lint.moed: There is no such key. The nearest known key is profiles[0].lint.mode."],
    ["log: { level: info }\nlog: { level: warn }", "config: log: The key stands twice, in line 1 and in line 2."],
    ["log:\n  level: info\n  level: warn", "config: log.level: The key stands twice, in line 2 and in line 3."],
    ["- 1", "config: pkid.yaml: The file must be one YAML mapping of keys to values."],
    ["a: 1\n---\nb: 2", "config: pkid.yaml: The file must be one YAML mapping of keys to values."],
    ["text", "config: pkid.yaml: The file must be one YAML mapping of keys to values."],
    ["server: 1", "config: server: Must be a mapping of keys to values."],
    ["server: { port: '8443' }", "config: server.port: Must be a whole number."],
    ["server: { port: 1.5 }", "config: server.port: Must be a whole number."],
    ["server: { port: 65536 }", "config: server.port: Must be at most 65535."],
    ["server: { port: -1 }", "config: server.port: Must be at least 0."],
    ["server: { port: }", "config: server.port: Must be a whole number."],
    ["log: { level: loud }", "config: log.level: Must be one of debug, info, warn, error."],
    ["access_log: { enabled: yes }", "config: access_log.enabled: Must be true or false."],
    ["data_dir: 5", "config: data_dir: Must be text; put it in quotes."],
    ["data_dir: ''", "config: data_dir: Must not be empty."],
    ['data_dir: "a\\0b"', "config: data_dir: Must not have control characters."],
    ["server: { public_url: pki.test }", "config: server.public_url: Must be an absolute http or https URL."],
    ["server: { public_url: 'ftp://pki.test' }", "config: server.public_url: Must be an absolute http or https URL."],
    ["server: { public_url: 'https://pki.test/#x' }", "config: server.public_url: Must be a URL without fragment."],
    ["crl: { base_url: 'https://pki.test/?x=1' }", "config: crl.base_url: Must be a URL without query."],
    ["crl: { base_url: 'https://u:p@pki.test/' }", "config: crl.base_url: Must be a URL without user info."],
    ["server: { public_http: { address: '8080' } }", "config: server.public_http.address: Must be a host and a port, like 0.0.0.0:8080."],
    ["server: { public_http: { address: 'a:65536' } }", "config: server.public_http.address: Must be a host and a port, like 0.0.0.0:8080."],
    ["server: { trusted_proxies: [10.0.0.0/33] }", "config: server.trusted_proxies[0]: Must be an address block like 10.0.0.0/8."],
    ["server: { trusted_proxies: ['::/129'] }", "config: server.trusted_proxies[0]: Must be an address block like 10.0.0.0/8."],
    ["server: { trusted_proxies: 10.0.0.0/8 }", "config: server.trusted_proxies: Must be a list."],
    ["profiles: [{ name: a, max_validity: 90 }]", "config: profiles[0].max_validity: Must be a duration like 30s, 15m, 12h or 90d."],
    ["profiles: [{ name: a, max_validity: 0d }]", "config: profiles[0].max_validity: Must be a duration like 30s, 15m, 12h or 90d."],
    ["profiles: [{ name: 'a b' }]", "config: profiles[0].name: Must be 1 to 64 of the characters A-Z, a-z, 0-9, dot, underscore and hyphen."],
    ["profiles: [{ name: a, policies: { oids: [3.1.2] } }]", "config: profiles[0].policies.oids[0]: Must be a dotted object identifier."],
    ["profiles: [{ name: a, lint: { overrides: { rule: off } } }]", "config: profiles[0].lint.overrides.rule: Must be one of enforce, warn."],
    ["root_user: { password: 12345 }", "config: root_user.password: Must be text; put it in quotes."],
    ["root_user: { password_hash: abc }", "config: root_user.password_hash: Must be an argon2id string ($argon2id$…)."],
    ["pkcs11: { uri: 'pkcs11:token=a?pin-value=1' }", "config: pkcs11.uri: Must not carry a pin-value; use pkcs11.pin_source."],
    ["root_user: { password_source: { type: env } }", "config: root_user.password_source: A source of type env needs env.var."],
    ["root_user: { password_source: { type: file, env: { var: A } } }", "config: root_user.password_source: A source of type file takes no env part."],
    ["root_user: { password_source: { type: file, file: { paht: /a } } }", "config: root_user.password_source.file.paht: There is no such key. The nearest known key is root_user.password_source.file.path."],
  ] as const;
  test.each(refusals)("%s is refused", (text, sentence) => {
    expect(lines(loadText(text))).toEqual([sentence]);
  });

  test("all faults are told in one run", () => {
    const text = "server: { port: x, hots: a }\nlog: { level: 1 }\nocsp: { validity_hours: 7 }\n";
    expect(lines(loadText(text, { PKID_CRL_BASE_VALIDITY_HOURS: "many" })).sort()).toEqual([
      "config: crl.base_validity_hours: Must be a whole number.",
      "config: log.level: Must be one of debug, info, warn, error.",
      "config: ocsp.validity_hours: Must be at least 8.",
      "config: server.hots: There is no such key. The nearest known key is server.host.",
      "config: server.port: Must be a whole number.",
    ]);
  });

  test("a file of 1 MiB is read and one octet more is refused", () => {
    const text = "log: { level: warn }\n#".padEnd(1_048_576, "x");
    expect(configOf(text).log.level).toBe("warn");
    const refused = lines(loadText(`${text}x`));
    expect(refused).toEqual(["config: pkid.yaml: The file is larger than 1 MiB."]);
  });

  test("nesting of 16 levels is read as such and 17 are refused", () => {
    const nested = (depth: number): string => `a: ${"[".repeat(depth)}${"]".repeat(depth)}`;
    expect(lines(loadText(nested(15)))[0]).toContain("There is no such key");
    const deeper = lines(loadText(nested(16)));
    expect(deeper).toEqual(["config: pkid.yaml: Line 1: The file nests deeper than 16 levels."]);
    expect(lines(loadText(nested(500_000)))).toEqual(deeper);
  });

  test("an empty section is as good as none", () => {
    expect(configOf("server:\nlog: {}\n").server.port).toBe(8443);
  });

  test("a key named like a member of every object is unknown like any other", () => {
    for (const key of ["__proto__", "constructor", "toString"]) {
      expect(lines(loadText(`${key}: 1`))[0]).toContain(`config: ${key}: There is no such key.`);
    }
  });
});

describe("second names (CFG-7)", () => {
  test("server.ocsp means ocsp, in the file and in the environment", () => {
    const text = "server:\n  ocsp:\n    validity_hours: 12\n";
    const result = loadText(text, { PKID_SERVER_OCSP_NONCE_ENABLED: "false" });
    if (!result.ok) throw new Error(lines(result).join());
    expect(result.config.ocsp).toMatchObject({ validity_hours: 12, nonce_enabled: false });
    expect(result.origins.get("ocsp.validity_hours")).toBe("pkid.yaml:3");
  });

  test("server.ocsp.presign means presign, and leaves its neighbours where they are", () => {
    const text =
      "server:\n  ocsp:\n    presign: { validity_minutes: 60 }\n    validity_hours: 12\n";
    const result = loadText(text, { PKID_SERVER_OCSP_PRESIGN_ENABLED: "true" });
    if (!result.ok) throw new Error(lines(result).join());
    const { config, origins } = result;
    expect(config.presign).toMatchObject({
      enabled: true,
      validity_minutes: 60,
      refresh_minutes: 15,
    });
    expect(config.ocsp.validity_hours).toBe(12);
    expect(origins.get("presign.validity_minutes")).toBe("pkid.yaml:3");
    const both = `${text}presign: { validity_minutes: 60 }`;
    expect(lines(loadText(both))).toEqual([
      "config: server.ocsp.presign.validity_minutes: Only one of server.ocsp.presign.validity_minutes and presign.validity_minutes may be set.",
    ]);
  });

  test("setting both names is refused", () => {
    const text = "ocsp: { validity_hours: 12 }\nserver: { ocsp: { validity_hours: 12 } }";
    expect(lines(loadText(text))).toEqual([
      "config: server.ocsp.validity_hours: Only one of server.ocsp.validity_hours and ocsp.validity_hours may be set.",
    ]);
  });
});

describe("environment (ENV-1 to ENV-5)", () => {
  test("lists are comma separated or JSON, structures are JSON", () => {
    const comma = configOf("", { PKID_SERVER_TRUSTED_PROXIES: "10.0.0.0/8, 2001:db8::/32" });
    expect(comma.server.trusted_proxies).toEqual(["10.0.0.0/8", "2001:db8::/32"]);
    const json = configOf("", { PKID_SERVER_TRUSTED_PROXIES: '["10.0.0.0/8"]' });
    expect(json.server.trusted_proxies).toEqual(["10.0.0.0/8"]);
    const usages = { key_usages: ["digitalSignature"], ext_key_usages: ["serverAuth"] };
    const inFile = JSON.stringify({ profiles: [{ name: "a", ...usages }] });
    const profiles = configOf(inFile, {
      PKID_PROFILES: JSON.stringify([{ name: "b", ...usages }]),
    });
    expect(profiles.profiles.map(({ name }) => name)).toEqual(["b"]);
  });

  test("text that is not JSON where a structure is due is refused", () => {
    expect(lines(loadText("", { PKID_PROFILES: "{" }))).toEqual([
      "config: profiles: Must be a list.",
    ]);
  });

  test("a secret may come from the file its _FILE variable names", () => {
    const { password } = configOf("", { PKID_ROOT_USER_PASSWORD_FILE: "/secret" }).root_user;
    expect(password?.from === "value" && password.value.reveal()).toBe("from /secret");
  });

  test("a variable beside its _FILE is refused", () => {
    const env = { PKID_ROOT_USER_PASSWORD: "a", PKID_ROOT_USER_PASSWORD_FILE: "/secret" };
    expect(lines(loadText("", env))).toEqual([
      "config: root_user.password: Only one of PKID_ROOT_USER_PASSWORD and PKID_ROOT_USER_PASSWORD_FILE may be set.",
    ]);
  });

  test("an unknown variable is a warning, a control variable is not", () => {
    const result = loadText("", {
      PKID_SERVER_PROT: "1",
      PKID_TOKEN: "t",
      PKID_URL: "u",
      HOME: "/",
    });
    expect(result.ok).toBe(true);
    expect(result.warnings).toEqual([
      "PKID_SERVER_PROT matches no key. The nearest is PKID_SERVER_PORT.",
    ]);
  });
});

describe("secrets (SEC-1, SEC-2)", () => {
  test("a source wins over a value beside it, which is reported", () => {
    const source = "password_source: { type: env, env: { var: SECRET } }";
    const result = loadText(`root_user: { password: inline, ${source} }`);
    if (!result.ok) throw new Error(lines(result).join());
    const expected = { type: "env", env: { var: "SECRET" } } as const;
    expect(result.config.root_user.password).toEqual({ from: "source", source: expected });
    expect(result.warnings).toEqual([
      "root_user.password: The value is ignored because root_user.password_source is set.",
    ]);
  });

  test("a value in the environment replaces a source in the file", () => {
    const text = "root_user: { password_source: { type: env, env: { var: SECRET } } }";
    const { password } = configOf(text, { PKID_ROOT_USER_PASSWORD: "here" }).root_user;
    expect(password?.from === "value" && password.value.reveal()).toBe("here");
  });

  test("no printed form of the configuration contains a secret", () => {
    const config = configOf("root_user: { password: geheim }\npkcs11: { pin: geheim }");
    const printed = [JSON.stringify(config), Bun.inspect(config, { depth: 9 }), `${config}`];
    expect(printed.join()).not.toContain("geheim");
    expect(
      `${config.root_user.password?.from === "value" && config.root_user.password.value}`,
    ).toBe("***");
  });
});

const lines = (result: Loaded): string[] => (result.ok ? [] : result.faults.map(faultLine));
