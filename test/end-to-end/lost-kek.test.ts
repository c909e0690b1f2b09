/**
 * The KEK is lost with its master key or its token: an archive opens by the data keys inside, and
 * everything that is sealed comes under a new KEK.
 */

import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";

import { ran } from "#test/support/child.ts";
import { backedUp } from "#test/support/instances/backed-up.ts";
import { createChain, walkCertificate } from "#test/support/instances/first-certificate.ts";
import { Instance, newHome, runCli, writeConfig } from "#test/support/instances/instance.ts";
import { createHsmToken, softHsmModule, type SoftHsmToken } from "#test/support/keys/soft-token.ts";

const publicHttp = { server: { public_http: { enabled: true, address: "127.0.0.1:0" } } };
const secret = { kek_label: "pkid-kek" };

describe("RES-4: without the master key of the software key store", () => {
  test("a restore says what would open it, and --new-kek brings everything under a new KEK", async () => {
    const first = newHome();
    const settings = { ...publicHttp, backup: { include_master_key: false } };
    const instance = await Instance.start({ home: first, config: settings });
    const chain = await createChain(instance, "ecdsa-p256");
    const { archive, identity } = await backedUp(instance);
    await instance.kill();

    const second = newHome();
    writeConfig(second, settings);
    const open = ["restore", archive, "--identity", identity];
    const refused = await runCli(second, open);
    expect([refused.code, refused.stdout]).toEqual([1, ""]);
    expect(refused.stderr).toContain("is missing while sealed keys exist. If it is gone for good,");
    expect(refused.stderr).toContain("`--new-kek`");
    expect(existsSync(join(second, "data"))).toBe(false);

    const looked = await runCli(second, [...open, "--new-kek", "--dry-run"]);
    expect([looked.code, looked.stderr]).toEqual([0, ""]);
    expect(looked.stdout).toMatch(/A new KEK would seal \d+ values and \d+ private keys: kek-v2/);
    expect(existsSync(join(second, "data"))).toBe(false);
    const restored = await runCli(second, [...open, "--new-kek", "--json"]);
    expect([restored.code, restored.stderr]).toEqual([0, ""]);
    const { kek } = JSON.parse(restored.stdout);
    expect(kek).toMatchObject({ provider: "software", label: "kek-v2", version: 2, lost_keys: [] });
    expect(kek.private_keys).toBeGreaterThanOrEqual(3);
    // Nothing of the lost KEK is left that a master key could be asked for.
    const keks = readdirSync(join(second, "data", "keys")).filter((one) => one.endsWith(".kek"));
    expect(keks.length).toBe(1);

    const back = await Instance.start({ home: second, config: settings });
    try {
      expect(await kekVersions(back)).toEqual(["active", "retired"]);
      await told(back, { versions: "old_version=1 new_version=2" });
      await walkCertificate(back, chain, "ecdsa-p384");
      // What it backs up now opens by the new KEK, and without it again.
      const again = await backedUp(back, identity);
      const third = newHome();
      writeConfig(third, settings);
      const line = ["restore", again.archive, "--identity", identity, "--new-kek", "--json"];
      const twice = await runCli(third, line);
      expect([twice.code, twice.stderr]).toEqual([0, ""]);
      expect(JSON.parse(twice.stdout).kek).toMatchObject({ label: "kek-v3", lost_keys: [] });
    } finally {
      await back.dispose();
    }
  }, 180_000);
});

describe("RES-4: with the token thrown away that held the KEK and keys of CAs", () => {
  test("what was sealed signs again, and CAs that cannot are named with what to do", async () => {
    const lost = await createHsmToken();
    const config = { ...publicHttp, ...lost.config, secret };
    const instance = await Instance.start({ home: newHome(), config, env: lost.env });
    await createChain(instance, "ecdsa-p256");
    const subject = ["--cn", "PQ", "--algorithm", "pqc", "--key-type", "ml-dsa-65"];
    await instance.cli("ca", "init-root", "--label", "pq", ...subject);
    const { archive, identity } = await backedUp(instance);
    await instance.kill();
    lost.remove();

    const token = await createHsmToken();
    const second = newHome();
    const target = { ...publicHttp, ...token.config, secret };
    writeConfig(second, target);
    const open = ["restore", archive, "--identity", identity];
    const run = (...flags: readonly string[]) => runCli(second, [...open, ...flags], "", token.env);
    const refused = await run();
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("`--new-kek`")]);
    // The KEK would do; keys of CAs are missing all the same, and nothing stays on the token.
    const missing = await run("--new-kek");
    expect([missing.code, missing.stderr]).toEqual([
      1,
      expect.stringMatching(/The key of root-ecdsa-p256: .*--allow-missing-keys/),
    ]);
    const looked = await run("--new-kek", "--allow-missing-keys", "--dry-run");
    expect([looked.code, looked.stdout]).toEqual([
      1,
      expect.stringContaining("pkid-kek-v2 (pkcs11)"),
    ]);
    expect(await onToken(token)).toEqual([]);
    expect(existsSync(join(second, "data"))).toBe(false);

    const restored = await run("--new-kek", "--allow-missing-keys");
    expect([restored.code, restored.stdout]).toEqual([1, expect.stringContaining("Restored into")]);
    expect(restored.stderr).toMatch(
      /list of CA root-ecdsa-p256 .*key_unavailable.*`pkid ca init-root`/,
    );
    expect(restored.stderr).toMatch(
      /list of CA issuing-ecdsa-p256 .*`pkid ca rotate issuing-ecdsa-p256`.*`pkid ca retire/,
    );
    expect(restored.stderr).not.toContain("list of CA pq ");
    expect(await onToken(token)).toEqual(["pkid-kek-v2"]);

    const back = await Instance.start({ home: second, config: target, env: token.env });
    try {
      expect(await kekVersions(back)).toEqual(["active", "retired"]);
      await told(back, { versions: "old_version=1 new_version=2" });
      expect((await back.cli("crl", "publish", "--ca", "pq")).code).toBe(0);
      const gone = await back.cli("crl", "publish", "--ca", "issuing-ecdsa-p256");
      expect([gone.code, gone.stderr]).toEqual([1, expect.stringContaining("key_unavailable")]);
      const rotated = await back.cli("keys", "kek", "rotate", "--json");
      expect(JSON.parse(rotated.stdout)).toMatchObject({ old_version: 2, new_version: 3 });
    } finally {
      await back.dispose();
      token.remove();
    }
  }, 180_000);

  test("without any token too: the new KEK is in the software key store", async () => {
    const lost = await createHsmToken();
    const roles = { ca: "software", responder: "software" };
    const key_provider = { type: "pkcs11", roles };
    const config = { ...publicHttp, ...lost.config, key_provider, secret };
    const instance = await Instance.start({ home: newHome(), config, env: lost.env });
    const chain = await createChain(instance, "ecdsa-p256");
    const { archive, identity } = await backedUp(instance);
    await instance.kill();
    lost.remove();

    const second = newHome();
    writeConfig(second, publicHttp);
    const open = ["restore", archive, "--identity", identity];
    const refused = await runCli(second, open);
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringMatching(/kek_label must be set: .*`--new-kek`/),
    ]);
    const restored = await runCli(second, [...open, "--new-kek", "--json"]);
    expect([restored.code, restored.stderr]).toEqual([0, ""]);
    expect(JSON.parse(restored.stdout).kek).toMatchObject({ provider: "software", lost_keys: [] });
    const back = await Instance.start({ home: second, config: publicHttp });
    await walkCertificate(back, chain, "ecdsa-p384");
    await back.dispose();
  }, 120_000);
});

/** The restore and the new KEK are in the chain, and both chains hold. */
async function told(back: Instance, { versions }: { readonly versions: string }): Promise<void> {
  type Events = { readonly items: readonly { readonly detail: string; readonly actor: string }[] };
  const events = (action: string) =>
    back.admin<Events>("GET", `/api/events?action=${action}`).then(({ items }) => items);
  const [restore] = await events("system.restore");
  expect(restore?.detail).toEndWith(" new_kek=true");
  const [rotation] = await events("kek.rotate");
  expect(rotation?.detail).toBe(versions);
  expect(rotation?.actor).toStartWith("local:");
  const verified = await back.cli("audit", "verify", "--json");
  expect(JSON.parse(verified.stdout)).toMatchObject({ valid: true });
  const proven = await back.cli("verify");
  expect([proven.code, proven.stdout]).toEqual([0, expect.stringContaining("Every proof holds")]);
  const checked = await back.cli("preflight", "--only", "keys.kek,ledger.head", "--json");
  const { checks } = JSON.parse(checked.stdout);
  expect(checks.map(({ status }: { status: string }) => status)).toEqual(["pass", "pass"]);
}

async function kekVersions(instance: Instance): Promise<readonly string[]> {
  const shown = await instance.cli("keys", "kek", "list", "--json");
  const { versions } = JSON.parse(shown.stdout);
  return versions.map(({ status }: { status: string }) => status);
}

/** Labels of what is on it, as another program lists them. */
async function onToken({ env }: SoftHsmToken): Promise<readonly string[]> {
  const tool = ["pkcs11-tool", "--module", softHsmModule, "--token-label", "pkid"];
  const listed = await ran([...tool, "--login", "--pin", "1234", "--list-objects"], {
    env: { PATH: process.env.PATH ?? "", ...env },
  });
  return [...listed.stdout.matchAll(/label: +(\S+)/g)].map(([, label]) => String(label));
}
