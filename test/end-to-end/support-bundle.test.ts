/** The support bundle has what helps, also of an instance that is broken, and no secret. */

import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { document, unpacked } from "#test/support/bundle.ts";
import { Instance, newHome, runCli } from "#test/support/instances/instance.ts";

const folder = mkdtempSync(join(tmpdir(), "pkid-bundle-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const fresh = (ending: string): string => join(folder, `${crypto.randomUUID()}${ending}`);

describe("of an instance", () => {
  const rootPassword = "Korrekt-Pferd-Batterie-7";
  const config = {
    root_user: { password: rootPassword, username: "superwoman" },
    rbac: { subjects: { "alice@example.com": ["auditor"] } },
  };

  test("is complete beside a server, without server, and of a database that is broken", async () => {
    const home = newHome();
    const instance = await Instance.start({ home, config });
    let secret = "";
    try {
      const ca = await runCli(home, ["ca", "init-root", "--label", "root", "--cn", "Root"]);
      expect(ca.code).toBe(0);
      const made = await runCli(home, ["token", "create", "--name", "robot", "--roles", "issuer"]);
      secret = made.stdout.trim();
      const out = fresh(".tar.gz");
      const { code, stdout } = await runCli(home, ["support-bundle", "--out", out]);
      expect([code, stdout.includes("warning:")]).toEqual([0, false]);
      expect(stdout).toContain("Look through it before you send it");
      expect(statSync(out).mode & 0o777).toBe(0o600);
      const found = await unpacked(out);
      holdsNoSecret(found, home, secret);
      expect(document(found, "preflight.json").checks.length).toBeGreaterThan(20);
      expect(document(found, "schema.json")).toMatchObject({ driver: "sqlite", migrations: [] });
      expect(document(found, "database.json").tables).toContainEqual({
        table: "api_tokens",
        rows: 1,
      });
      expect(document(found, "process.json")).toMatchObject({ is_server: true });
      expect(document(found, "readiness.json").status).toBe("ready");
      expect(found.get("metrics.txt")).toContain("pki_component_up");
      const text = [...found.values()].join("\n");
      for (const name of ["superwoman", "alice@example.com", "robot", "local:"]) {
        expect([name, text.includes(name)]).toEqual([name, false]);
      }
      const named = fresh(".tar.gz");
      expect(
        (await runCli(home, ["support-bundle", "--out", named, "--with-names", "--events", "3"]))
          .code,
      ).toBe(0);
      const withNames = await unpacked(named);
      holdsNoSecret(withNames, home, secret);
      const events = document(withNames, "events.json");
      expect(events).toHaveLength(3);
      expect(events[0]).toMatchObject({ action: "token.create", targetName: "robot" });
      expect(withNames.get("configuration.json")).toContain("alice@example.com");
    } finally {
      await instance.stop();
    }
    await withoutServer(home, secret);
  }, 60_000);

  async function withoutServer(home: string, secret: string): Promise<void> {
    const stopped = fresh(".tar.gz");
    const first = await runCli(home, ["support-bundle", "--out", stopped, "--json"]);
    expect(first.code).toBe(0);
    const told = JSON.parse(first.stdout);
    const missing = (told.not_collected as { name: string }[]).map(({ name }) => name);
    expect(missing).toEqual(["readiness.json", "metrics.txt"]);
    const found = await unpacked(stopped);
    holdsNoSecret(found, home, secret);
    expect(document(found, "events.json").length).toBeGreaterThan(2);
    // Pages of the database are overwritten, its head first.
    writeFileSync(join(home, "data", "pkid.db"), crypto.getRandomValues(new Uint8Array(65_536)));
    const broken = fresh(".tar.gz");
    const second = await runCli(home, ["support-bundle", "--out", broken]);
    expect(second.code).toBe(0);
    expect(second.stdout).toContain("warning: database.json could not be collected:");
    const rest = await unpacked(broken);
    expect(rest.get("README.txt")).toContain("Not collected: database.json:");
    expect(document(rest, "disk.json").files.length).toBeGreaterThan(3);
    holdsNoSecret(rest, home, secret);
  }

  function holdsNoSecret(found: ReadonlyMap<string, string>, home: string, secret: string): void {
    const keys = readdirSync(join(home, "data"), { recursive: true, encoding: "utf8" })
      .filter((name) => /\.key$|key\.pem$/.test(name))
      .map((name) => readFileSync(join(home, "data", name)));
    expect(keys.length).toBeGreaterThan(1);
    const text = [...found.values()].join("\n");
    const spelled = keys.flatMap((key) => [key.toString("base64"), key.toString("hex")]);
    const pem = keys
      .map((key) => key.toString("latin1").split("\n")[1] ?? "")
      .filter((line) => line.length > 20);
    for (const one of [rootPassword, secret, ...spelled, ...pem]) expect(text).not.toContain(one);
    expect(text).not.toMatch(/pki_pat_[A-Za-z0-9]|PRIVATE KEY|argon2id\$/);
  }
});
