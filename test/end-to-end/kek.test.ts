/**
 * The key-encryption key of a whole service: on a token, rotated from the shell, lost, and asked
 * for by nobody else.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Database } from "bun:sqlite";
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";

import { failedStart, Instance } from "#test/support/instances/instance.ts";
import { newOaepModule } from "#test/support/keys/oaep-module.ts";
import { createHsmToken, softHsmModule, type SoftHsmToken } from "#test/support/keys/soft-token.ts";

describe("with a label, on the token", () => {
  let hsmToken: SoftHsmToken;
  let instance: Instance;
  const secret = { kek_label: "pkid-kek" };
  beforeAll(async () => {
    hsmToken = await createHsmToken();
    instance = await Instance.start({ config: { ...hsmToken.config, secret }, env: hsmToken.env });
  }, 60_000);
  afterAll(async () => {
    await instance.dispose();
    hsmToken.remove();
  });

  test("it is rotated from the shell, and opens what it sealed after a restart", async () => {
    const rotated = await instance.cli("keys", "kek", "rotate", "--json");
    expect(JSON.parse(rotated.stdout)).toEqual({
      kek_label: "pkid-kek",
      old_version: 1,
      new_version: 2,
      rewrapped: 3,
    });
    expect(readdirSync(join(instance.dataDir, "keys")).filter((f) => f.endsWith(".kek"))).toEqual(
      [],
    );
    await instance.stop();
    const { home } = instance;
    instance = await Instance.start({
      home,
      config: { ...hsmToken.config, secret },
      env: hsmToken.env,
    });
    const kek = await instance.admin<{ versions: { status: string }[] }>("GET", "/api/kek");
    expect(kek).toMatchObject({ provider: "pkcs11", version: 2, wrapped_keys: 3 });
    expect(kek.versions.map(({ status }) => status)).toEqual(["active", "retired"]);
    const shown = await instance.cli("keys", "kek", "list");
    expect(shown.stdout).toMatch(/kek label: +pkid-kek/);
    const metrics = await instance.metrics();
    expect(metrics).toContain(
      'pki_envelope_operations_total{operation="decrypt",result="success"} 1',
    );
  }, 60_000);

  test("KEY-5: the ledger announces its versions and counts what they opened, over restarts", async () => {
    await instance.stop();
    const database = new Database(join(instance.dataDir, "pkid.db"), { readonly: true });
    const entries = database
      .query(
        `select kind, operation, key_label, device_serial, count, total, signer_fingerprint
         from ledger where role = 'kek' order by number`,
      )
      .all() as Readonly<Record<string, string>>[]; // Columns of text.
    database.close();
    const { home } = instance;
    instance = await Instance.start({
      home,
      config: { ...hsmToken.config, secret },
      env: hsmToken.env,
    });
    const announced = entries.filter(({ kind }) => kind === "key");
    const fingerprints = new Map(announced.map((entry) => [entry.key_label, entry]));
    expect([...fingerprints.keys()]).toEqual(["pkid-kek-v1", "pkid-kek-v2"]);
    const totals = new Map<string | undefined, number>();
    const counts = entries.filter(({ kind }) => kind === "count");
    for (const { key_label: label, operation, count, total, ...named } of counts) {
      const sum = (totals.get(label) ?? 0) + Number(count);
      expect([operation, Number(total)]).toEqual(["decrypt", sum]);
      const { signer_fingerprint, device_serial } = fingerprints.get(label) ?? {};
      expect(named).toMatchObject({ signer_fingerprint, device_serial });
      totals.set(label, sum);
    }
    expect([...totals.keys()].sort()).toEqual(["pkid-kek-v1", "pkid-kek-v2"]);
  }, 60_000);

  test("its versions, the keys under it and those of a hybrid CA are all somebody's, and none could leave", async () => {
    const request = [
      "--algorithm",
      "hybrid",
      "--key-type",
      "ecdsa-p256",
      "--alt-key-type",
      "ml-dsa-44",
    ];
    const made = await instance.cli(
      "ca",
      "init-root",
      "--label",
      "hybrid",
      "--cn",
      "H",
      ...request,
    );
    expect(made.stderr).toMatch(/^warning: Certificates of this instance carry no CRL [^\n]*\n$/);
    const metrics = await instance.metrics();
    const sealed = 'pki_envelope_operations_total{operation="encrypt",result="success"}';
    expect(metrics).toContain(`${sealed} 1`);
    const { code, stdout } = await instance.cli("keys", "inventory", "--strict", "--json");
    const { items, ...counts } = JSON.parse(stdout);
    expect([code, counts]).toMatchObject([0, { extractable_count: 0, unbound_count: 0 }]);
    const keys = items.map((key: Readonly<Record<string, string>>) =>
      [key.role, key.provider, key.key_type, key.ca_label].join(" ").trim(),
    );
    expect(keys.sort()).toEqual([
      "ca pkcs11 ecdsa-p256 hybrid",
      "ca software ecdsa-p256 pkid internal serving",
      "ca software ml-dsa-44 hybrid",
      "kek pkcs11 aes-256",
      "kek pkcs11 aes-256",
      "ledger software ed25519",
      "responder pkcs11 ecdsa-p256 hybrid",
    ]);
  }, 60_000);

  test("an issuer may neither see nor rotate it", async () => {
    const authorization = `Bearer ${await instance.token(["issuer"])}`;
    for (const [method, path] of [
      ["GET", "/api/kek"],
      ["POST", "/api/kek/rotate"],
    ] as const) {
      const answer = await instance.fetch(path, { method, headers: { authorization } });
      expect(answer.status).toBe(403);
    }
  });

  test("V-12: without its label pkid does not start", async () => {
    await instance.stop();
    const { home } = instance;
    const failed = await failedStart({ home, config: hsmToken.config, env: hsmToken.env });
    expect(failed.code).not.toBe(0);
    expect(failed.stderr).toContain("secret.kek_label must be set");
  }, 60_000);
});

test("KEK-3: on a token without AES-GCM it is RSA with OAEP, rotated like any other, and CAs sign under it", async () => {
  const hsmToken = await createHsmToken();
  const roles = { ca: "software", responder: "software" };
  const config = {
    ...hsmToken.config,
    key_provider: { type: "pkcs11", roles },
    pkcs11: {
      ...Object(hsmToken.config.pkcs11),
      module_path: newOaepModule(softHsmModule, "sha256"),
    },
    secret: { kek_label: "pkid-kek" },
  };
  let instance = await Instance.start({ config, env: hsmToken.env });
  const made = await instance.cli("ca", "init-root", "--label", "root", "--cn", "Root");
  expect(made.code).toBe(0);
  for (let version = 1; version < 3; version += 1) {
    const rotated = JSON.parse((await instance.cli("keys", "kek", "rotate", "--json")).stdout);
    expect(rotated).toMatchObject({ old_version: version, new_version: version + 1, rewrapped: 5 });
  }
  await instance.stop();
  const { home } = instance;
  instance = await Instance.start({ home, config, env: hsmToken.env });
  expect((await instance.cli("crl", "publish", "--ca", "root")).code).toBe(0);
  const inventory = JSON.parse((await instance.cli("keys", "inventory", "--json")).stdout);
  const keks = inventory.items.filter(
    ({ role }: Readonly<Record<string, string>>) => role === "kek",
  );
  const types = keks.map((key: Readonly<Record<string, string>>) => [key.provider, key.key_type]);
  expect(types).toEqual(Array.from({ length: 3 }, () => ["pkcs11", "rsa-3072"]));
  expect(inventory).toMatchObject({ extractable_count: 0, unbound_count: 0 });
  await instance.dispose();
  hsmToken.remove();
}, 120_000);

test("V-12: a KEK that is gone from the key store keeps pkid from starting", async () => {
  const instance = await Instance.start();
  await instance.stop();
  const keys = join(instance.dataDir, "keys");
  const [kek = "", ...others] = readdirSync(keys).filter((name) => name.endsWith(".kek"));
  expect(others).toEqual([]);
  rmSync(join(keys, kek));
  const failed = await failedStart({ home: instance.home });
  expect(failed.code).not.toBe(0);
  expect(failed.stderr).toContain("restore the KEK");
  await instance.dispose();
}, 60_000);
