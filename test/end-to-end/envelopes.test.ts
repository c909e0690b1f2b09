/**
 * Private keys in envelopes, in the compiled binary: rotated under power cuts, brought over from
 * earlier releases.
 */

import { afterAll, describe, expect, test } from "bun:test";
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";

import { exportSecret } from "#adapters/keys/software/secrets.ts";
import type { KeyRef } from "#domain/key-ref.ts";
import { binary, Instance, newHome, writeConfig } from "#test/support/instances/instance.ts";
import { searchMemory } from "#test/support/instances/process-memory.ts";
import { sealedStore, writeLegacyKey } from "#test/support/keys/sealed-store.ts";
import { createHsmToken } from "#test/support/keys/soft-token.ts";

const homes: string[] = [];
afterAll(() => {
  for (const home of homes) rmSync(home, { recursive: true, force: true });
});
function ownHome(): string {
  const home = newHome();
  homes.push(home);
  return home;
}

interface Kek {
  readonly version: number;
  readonly wrapped_keys: number;
  readonly versions: readonly { readonly version: number; readonly status: string }[];
}

const keyFiles = (home: string) => {
  const folder = join(home, "data", "keys");
  const names = readdirSync(folder).filter((name) => name.endsWith(".key"));
  return names.map((name) => JSON.parse(readFileSync(join(folder, name), "utf8")));
};

async function makeCas(instance: Instance, count: number): Promise<readonly string[]> {
  const ids: string[] = [];
  for (let n = 0; n < count; n += 1) {
    const request = { label: `ca-${n}`, subject: { cn: `CA ${n}` }, key_type: "ecdsa-p256" };
    const { id } = await instance.admin<{ id: string }>("POST", "/api/ca/init-root", request);
    ids.push(id);
  }
  return ids;
}

/** A CRL is a signature by the CA's key, verified before it leaves. */
async function allSign(instance: Instance, ids: readonly string[]): Promise<void> {
  for (const id of ids) await instance.admin("POST", `/api/ca/${id}/crl:publish`);
}

async function power(home: string, options: Parameters<typeof Instance.start>[0]) {
  return Instance.start({ ...options, home });
}

for (const [where, withToken] of [
  ["in the key store", false],
  ["on a token", true],
] as const) {
  test(`KEK-4: a rotation of a KEK ${where} is finished after power cuts at any moment, and every CA signs`, async () => {
    const hsmToken = withToken ? await createHsmToken() : undefined;
    const home = ownHome();
    const provider = { type: "pkcs11", roles: { ca: "software", responder: "software" } };
    const secret = { kek_label: "pkid-kek" };
    const options = hsmToken
      ? { config: { ...hsmToken.config, key_provider: provider, secret }, env: hsmToken.env }
      : {};
    let instance = await power(home, options);
    const ids = await makeCas(instance, 10);
    for (let round = 0; round < 3; round += 1) {
      const rotating = instance.admin("POST", "/api/kek/rotate").catch(() => {});
      await Bun.sleep(Math.random() * 120);
      await instance.kill();
      await rotating;
      instance = await power(home, options);
    }
    await instance.admin("POST", "/api/kek/rotate");
    const kek = await instance.admin<Kek>("GET", "/api/kek");
    const [newest, ...older] = kek.versions;
    expect(newest).toMatchObject({ version: kek.version, status: "active" });
    expect(older.length).toBeGreaterThan(0);
    expect(new Set(older.map(({ status }) => status))).toEqual(new Set(["retired"]));
    const files = keyFiles(home);
    expect(new Set(files.map(({ envelope }) => envelope.kek_version))).toEqual(
      new Set([kek.version]),
    );
    expect(kek.wrapped_keys).toBe(files.length + 1);
    await instance.stop();
    instance = await power(home, options);
    await allSign(instance, ids);
    await instance.stop();
    hsmToken?.remove();
  }, 120_000);
}

test("keys of a release before envelopes are brought over, whatever power cuts come between, and every CA signs", async () => {
  const home = ownHome();
  let instance = await power(home, {});
  const ids = await makeCas(instance, 10);
  await instance.stop();
  const settings = {
    keystore_dir: join(home, "data", "keys"),
    master_key_file: join(home, "data", "master.key"),
  };
  const store = sealedStore(settings);
  const refs: KeyRef[] = store.list().filter(({ keyType }) => keyType !== "aes-256");
  for (const ref of refs) {
    const { keyHandle: handle, secret } = await store.open(ref);
    writeLegacyKey(settings, { label: ref.label, keyType: handle.keyType, secret });
  }
  const versions = () => keyFiles(home).map(({ version }) => version);
  expect(new Set(versions())).toEqual(new Set([1]));
  const seen = new Set<number>();
  const command = [binary, "serve", "--config", writeConfig(home, {})];
  for (let round = 0; round < 5; round += 1) {
    const child = Bun.spawn(command, { stdio: ["ignore", "ignore", "ignore"], cwd: home });
    // From before the signer has started to after the last key.
    const until = Date.now() + 10_000;
    while (round > 0 && versions().filter((one) => one === 2).length < round * 2) {
      if (Date.now() > until) break;
      await Bun.sleep(1);
    }
    child.kill("SIGKILL");
    await child.exited;
    seen.add(versions().filter((one) => one === 2).length);
  }
  expect(seen.size).toBeGreaterThan(1);
  instance = await power(home, {});
  expect(new Set(versions())).toEqual(new Set([2]));
  await allSign(instance, ids);
  const kek = await instance.admin<Kek>("GET", "/api/kek");
  expect(kek.wrapped_keys).toBe(refs.length + 1);
  await instance.stop();
}, 120_000);

describe("the memory of the serving process", () => {
  test("holds no data key and no private key of a CA that signs", async () => {
    const home = ownHome();
    const instance = await power(home, {});
    const ids = await makeCas(instance, 1);
    await allSign(instance, ids);
    const store = sealedStore({
      keystore_dir: join(home, "data", "keys"),
      master_key_file: join(home, "data", "master.key"),
    });
    const ca = store.list().find(({ label }) => label.startsWith("ca-0"));
    if (ca === undefined) throw new Error("the CA has a key");
    const { keyHandle: handle, secret } = await store.open(ca);
    const pkcs8 = exportSecret(secret);
    const scalar = pkcs8.subarray(pkcs8.indexOf(Buffer.from("0420", "hex")) + 2).subarray(0, 32);
    const file = keyFiles(home).find(({ id }) => id === ca.id);
    const dek = await store.ring.unwrap({
      kek: "kek",
      kekVersion: 1,
      wrap: "AES-256-GCM",
      wrappedDek: Uint8Array.fromBase64(file.envelope.wrapped_dek),
    });
    const found = searchMemory(instance.pid, [
      Buffer.from(handle.spki).subarray(-64),
      scalar,
      scalar.toReversed(),
      Buffer.from(dek),
      Buffer.from(Buffer.from(dek).toString("base64")),
    ]);
    // The search finds what is there: the public key of the CA.
    expect(found).toEqual([true, false, false, false, false]);
    await instance.stop();
  }, 60_000);
});
