/** The support bundle holds no secret of a configuration, however set, and replaces nothing. */

import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { variableOf } from "#config/environment.ts";
import { configSchema } from "#config/schema.ts";
import { leaves } from "#config/section.ts";
import { document, unpacked } from "#test/support/bundle.ts";
import { shell } from "#test/support/instances/shell.ts";

const folder = mkdtempSync(join(tmpdir(), "pkid-bundle-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const fresh = (ending: string): string => join(folder, `${crypto.randomUUID()}${ending}`);

describe("no secret of the configuration", () => {
  const planted = "Planted-s3cret/of+keys";
  const secrets = leaves(configSchema)
    .filter(({ field }) => field.source)
    .map(({ path }) => path);
  const values: Readonly<Record<string, string>> = {
    "database.dsn": `postgres://pkid:${encodeURIComponent(planted)}@127.0.0.1:1/pkid`,
    "outbound.proxy_url": `http://me:${encodeURIComponent(planted)}@127.0.0.1:1`,
    "pkcs11.uri": `pkcs11:token=a?pin-value=${planted}`,
  };
  const driver: Readonly<Record<string, string>> = {
    "database.dsn": "database: {driver: postgres}\n",
  };

  /** One document of the path with the value. */
  const nested = (path: string, value: string): string => {
    const [section = "", ...rest] = path.split(".");
    const inner = rest.reduceRight<unknown>((below, key) => ({ [key]: below }), value);
    return `${JSON.stringify({ [section]: inner })}\n`;
  };

  /** Whatever fails on the way tells the secret, as a careless library would. */
  const careless = {
    preflight: async () => {
      throw new Error(`cannot log in with ${planted}`);
    },
    migrate: async () => {
      throw new Error(`postgres://pkid:${planted}@host/pkid does not answer`);
    },
  };

  async function bundled(file: string, env: Record<string, string>): Promise<void> {
    const out = fresh(".tar.gz");
    const line = ["support-bundle", "--out", out, "--config", file];
    const { code, stdout, stderr } = await shell(line, { env, deps: careless });
    const found = await unpacked(out);
    expect([code, stderr]).toEqual([0, ""]);
    const everything = [stdout, ...found.values()].join("\n");
    expect(everything).toContain("preflight.json could not be collected");
    for (const spelled of [planted, encodeURIComponent(planted)]) {
      expect(everything).not.toContain(spelled);
    }
  }

  test("however it is set: in the file, in the environment, in a source", async () => {
    expect(secrets.length).toBeGreaterThan(8);
    const source = fresh(".secret");
    writeFileSync(source, `${planted}\n`, { mode: 0o600 });
    for (const path of secrets) {
      const value = values[path] ?? planted;
      const inline = fresh(".yaml");
      const nothing = fresh(".yaml");
      const sourced = fresh(".yaml");
      writeFileSync(
        inline,
        driver[path] === undefined
          ? nested(path, value)
          : JSON.stringify({ database: { driver: "postgres", dsn: value } }),
        { mode: 0o600 },
      );
      writeFileSync(nothing, driver[path] ?? "", { mode: 0o600 });
      writeFileSync(
        sourced,
        nested(`${path}_source`, "x").replace(
          '"x"',
          JSON.stringify({ type: "file", file: { path: source } }),
        ),
        { mode: 0o600 },
      );
      await bundled(inline, {});
      await bundled(nothing, { [variableOf(path)]: value });
      await bundled(nothing, { [`${variableOf(path)}_FILE`]: source });
      await bundled(sourced, {});
    }
  }, 60_000);

  test("nor where the configuration is refused", async () => {
    const file = fresh(".yaml");
    writeFileSync(file, `root_user: {passwrod: "${planted}"}\nserver: {port: "${planted}"}\n`);
    const out = fresh(".tar.gz");
    const { code } = await shell(["support-bundle", "--out", out, "--config", file]);
    const found = await unpacked(out);
    expect(code).toBe(0);
    expect([...found.values()].join("\n")).not.toContain(planted);
    expect(document(found, "configuration.json").faults).toContain("root_user.passwrod");
  });
});

describe("the command", () => {
  test("refuses what is there, a terminal's line and numbers beyond reason, and leaves no file", async () => {
    const there = fresh(".tar.gz");
    writeFileSync(there, "mine");
    const refused = await shell(["support-bundle", "--out", there]);
    expect([refused.code, refused.stderr]).toEqual([
      1,
      `error: ${there} exists; name another file.\n`,
    ]);
    expect(readFileSync(there, "utf8")).toBe("mine");
    expect((await shell(["support-bundle"])).code).toBe(2);
    expect((await shell(["support-bundle", "--out", "-", "--json"])).code).toBe(2);
    expect((await shell(["support-bundle", "--out", fresh("x"), "--events", "100001"])).code).toBe(
      2,
    );
    expect((await shell(["support-bundle", "--out", "/nonexistent/x.tar.gz"])).code).toBe(1);
  });

  test("writes to standard output for a pipe, and tells on the other one what is in it", async () => {
    const { code, stdout, stderr } = await shell(["support-bundle", "--out", "-"]);
    expect(code).toBe(0);
    const archive = fresh(".tar.gz");
    writeFileSync(archive, Buffer.from(stdout, "latin1"));
    expect([...(await unpacked(archive)).keys()]).toContain("version.json");
    expect(stderr).toContain("Look through it before you send it.");
  });
});
