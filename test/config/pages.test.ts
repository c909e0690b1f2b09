/**
 * What is derived from the declaration: reference, schema, example, the effective values, and a
 * reload.
 */

import { describe, expect, setDefaultTimeout, test } from "bun:test";
import fc from "fast-check";

import { variableOf, variables } from "#config/environment.ts";
import { exampleFile, productionPreset, smallPreset, strangers } from "#config/example.ts";
import { type Fault, placeIn } from "#config/faults.ts";
import { loadConfig } from "#config/load.ts";
import { reference, referenceMarkdown } from "#config/reference.ts";
import { reload } from "#config/reload.ts";
import { configSchema } from "#config/schema.ts";
import { configJsonSchema } from "#config/schema-json.ts";
import { leaves } from "#config/section.ts";
import { configDigest, showJson, showYaml } from "#config/show.ts";
import { sampleOf } from "#core/shape/described.ts";
import { configOf, loadText } from "#test/support/config.ts";
import { expectGolden } from "#test/support/golden.ts";
import { selectByRun } from "#test/support/run-length.ts";

// Properties are tried hundreds of times, on a machine that may do much else.
setDefaultTimeout(60_000);
const declared = leaves(configSchema);

describe("the declaration (CFG-9, ENV-1)", () => {
  test("the reference page is the one people reviewed", () => {
    expectGolden("config-reference.md", referenceMarkdown());
  });

  test("the JSON Schema is the one people reviewed", () => {
    expectGolden("config-schema.json", `${JSON.stringify(configJsonSchema(), null, 2)}\n`);
  });

  test("the example files are the ones people reviewed", () => {
    expectGolden("config-example.yaml", exampleFile(smallPreset));
    expectGolden("config-production.yaml", exampleFile(productionPreset));
  });

  test("no two keys share a variable", () => {
    const names = declared.flatMap(({ path, field }) => {
      const name = variableOf(path);
      return field.source ? [name, `${name}_FILE`, `${name}_SOURCE`] : [name];
    });
    expect(new Set(names).size).toBe(names.length);
    expect(variables(declared).size).toBe(names.length);
  });

  test("every key has a sentence, and a row in the reference", () => {
    const rows = reference().flatMap(({ rows }) => rows);
    expect(rows.filter(({ sentence }) => !/^[A-Z].*\.$/.test(sentence))).toEqual([]);
    for (const { path } of declared) expect(rows.map(({ key }) => key)).toContain(path);
  });

  test("every sample of the example file is a value its own key accepts", () => {
    for (const { path, field } of declared.filter(({ field }) => !field.source)) {
      const faults: Fault[] = [];
      field.kind.read(sampleOf(field.kind), placeIn(faults, path));
      expect(faults).toEqual([]);
    }
  });

  test("the example files load, apart from files they name", () => {
    for (const preset of [smallPreset, productionPreset]) {
      expect(strangers(preset)).toEqual([]);
      const result = loadText(exampleFile(preset));
      expect(result).toMatchObject({ ok: true, warnings: [] });
    }
  });

  test("an example without any preset sets nothing", () => {
    expect(Bun.YAML.parse(exampleFile({}))).toBeNull();
  });
});

describe("effective values (SHOW-1)", () => {
  test("each key has its origin, and no secret is there", () => {
    const text = `server: { public_url: "https://pki.test" }
root_user: { password: geheim }
pkcs11: { pin_source: { type: env, env: { var: PIN } } }
database: { driver: postgres, dsn: "postgres://user:geheim@db/pkid?sslpassword=geheim" }
`;
    const result = loadText(text, { PKID_LOG_LEVEL: "warn" });
    if (!result.ok) throw new Error("must load");
    const shown = showYaml(result.config, result.origins);
    expect(shown).not.toContain("geheim");
    expect(shown).toContain("\n  public_url: https://pki.test # pkid.yaml:1\n");
    expect(shown).toContain("\n  level: warn # env\n");
    expect(shown).toContain('\n  pin_source: {"type":"env","env":{"var":"PIN"}} # pkid.yaml:3\n');
    expect(shown).toContain('\n  password: "***" # pkid.yaml:2\n');
    expect(shown).toContain('dsn: "postgres://user:***@db/pkid?sslpassword=***" # pkid.yaml:4');
    expect(JSON.stringify(showJson(result.config))).not.toContain("geheim");
    expect(showJson(result.config, result.origins)).toMatchObject({
      log: { level: { value: "warn", origin: "env" } },
    });
  });

  test("of a source its type and name are shown, and not where it is or how one logs in there", () => {
    const vault =
      "address: 'https://vault.internal', path: pkid/hsm, auth_method: approle, role_id: r-7";
    const text = `pkcs11: { pin_source: { type: vault, vault: { ${vault} } } }
root_user: { password_source: { type: aws, aws: { secret_id: pkid/root, region: eu-north-1 } } }
auth: { ldap: { bind_password_source: { type: file, file: { path: /run/bind } } } }
`;
    const result = loadText(text);
    if (!result.ok) throw new Error("must load");
    const shown = showYaml(result.config, result.origins);
    expect(shown).toContain('pin_source: {"type":"vault","vault":{"path":"pkid/hsm"}}');
    expect(shown).toContain('password_source: {"type":"aws","aws":{"secret_id":"pkid/root"}}');
    expect(shown).toContain('bind_password_source: {"type":"file","file":{"path":"/run/bind"}}');
    const json = JSON.stringify(showJson(result.config));
    for (const kept of ["vault.internal", "approle", "r-7", "eu-north-1"]) {
      expect(shown).not.toContain(kept);
      expect(json).not.toContain(kept);
    }
  });

  test("the digest ignores secrets and sees everything else", () => {
    const digest = configDigest(configOf(""));
    expect(digest).toMatch(/^[0-9a-f]{64}$/);
    expect(configDigest(configOf("root_user: { password: a }"))).toBe(digest);
    expect(configDigest(configOf("log: { level: warn }"))).not.toBe(digest);
  });

  const settings = fc.record(
    {
      data_dir: fc.stringMatching(/^[ -~]{1,30}$/),
      server: fc.record(
        {
          port: fc.nat(65_535),
          host: fc.stringMatching(/^[ -~]{1,20}$/),
          trusted_proxies: fc.array(
            fc.ipV4().map((address) => `${address}/32`),
            { maxLength: 3 },
          ),
        },
        { requiredKeys: [] },
      ),
      issuance: fc.record({ ski_method: fc.constantFrom("rfc7093", "sha1") }),
      profiles: fc.uniqueArray(
        fc.record(
          {
            name: fc.stringMatching(/^[a-z0-9.-]{1,12}$/),
            description: fc.stringMatching(/^[ -~äöß€]{1,30}$/),
            max_validity: fc.constantFrom("90m", "36h", "7d", "59s"),
            key_usages: fc.subarray(["digitalSignature", "keyEncipherment"], { minLength: 1 }),
            ext_key_usages: fc.subarray(["serverAuth", "clientAuth", "1.2.3"], { minLength: 1 }),
            lint: fc.record({
              overrides: fc.dictionary(
                fc.constantFrom("san_dns_syntax", "validity_cap", "subject_length"),
                fc.constantFrom("enforce", "warn"),
                { noNullPrototype: true },
              ),
            }),
          },
          { requiredKeys: ["name", "key_usages", "ext_key_usages"] },
        ),
        { selector: ({ name }) => name, maxLength: 4 },
      ),
    },
    { requiredKeys: [] },
  );

  test("what is shown loads again to the same values", () => {
    fc.assert(
      fc.property(settings, (value) => {
        const first = loadText(JSON.stringify(value));
        if (!first.ok) throw new Error(JSON.stringify(first.faults));
        const again = loadText(showYaml(first.config, first.origins));
        if (!again.ok) throw new Error(JSON.stringify(again.faults));
        expect(showJson(again.config)).toEqual(showJson(first.config));
        expect(configDigest(again.config)).toBe(configDigest(first.config));
      }),
      { numRuns: selectByRun(60, 200) },
    );
  });
});

describe("hostile input", () => {
  const keys = declared.flatMap(({ path }) => path.split("."));
  const { node } = fc.letrec<{ node: unknown }>((tie) => ({
    node: fc.oneof(
      { depthSize: "small" },
      fc.anything({ maxDepth: 1 }).filter((value) => value !== undefined),
      fc.dictionary(fc.constantFrom(...keys), tie("node"), { maxKeys: 6, noNullPrototype: true }),
    ),
  }));

  test("any value under any key is read or refused, and nothing else is thrown", () => {
    fc.assert(
      fc.property(node, (value) => {
        const result = loadText(JSON.stringify(value) ?? "");
        if (!result.ok) for (const { sentence } of result.faults) expect(sentence).toEndWith(".");
      }),
      { numRuns: selectByRun(300, 1000) },
    );
  });

  test("any text and any environment is read or refused, and nothing else is thrown", () => {
    const variable = fc.constantFrom(...variables(declared).keys());
    const environment = fc.dictionary(variable, fc.string(), { noNullPrototype: true });
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), environment, (text, env) => {
        const file = { name: "pkid.yaml", text };
        const readFile = (): string => {
          throw new Error("The file does not exist.");
        };
        expect(loadConfig({ file, env, host: "h", readFile })).toHaveProperty("ok");
      }),
      { numRuns: selectByRun(300, 1000) },
    );
  });
});

describe("reload (RLD-1, RLD-2)", () => {
  const present = configOf("log: { level: info }\nroot_user: { password: old }");

  test("reloadable keys are taken over, the others named and kept", () => {
    const text = `log: { level: warn }
root_user: { password: new }
rate_limit: { concurrency: { max_queue: 7 } }
profiles: [{ name: a, ext_key_usages: [serverAuth], key_usages: [digitalSignature] }]
`;
    const { config, reloaded, restartRequired } = reload(present, configOf(text));
    expect(reloaded).toEqual(["profiles", "rate_limit.concurrency.max_queue"]);
    expect(restartRequired).toEqual(["log.level", "root_user.password"]);
    expect(config.rate_limit.concurrency.max_queue).toBe(7);
    expect(config.profiles).toHaveLength(1);
    expect(config.log.level).toBe("info");
    expect(config.root_user).toEqual(present.root_user);
  });

  test("the same configuration changes nothing", () => {
    const same = configOf("root_user: { password: old }");
    expect(reload(present, same)).toMatchObject({ reloaded: [], restartRequired: [] });
  });
});
