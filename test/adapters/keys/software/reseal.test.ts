/**
 * Private keys brought under another KEK version: what changes, what does not, and what a crash in
 * between leaves.
 */

import { beforeEach, describe, expect, test } from "bun:test";
import { generateKeyPairSync } from "node:crypto";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { SignerClient } from "#adapters/keys/client.ts";
import type { SoftwareSettings } from "#adapters/keys/settings.ts";
import { Mailbox } from "#adapters/keys/signer/hand-over.ts";
import type { SealedKeys } from "#adapters/keys/software/store.ts";
import type { KeyRef } from "#domain/key-ref.ts";
import type { KeyHandle, KekInUse } from "#domain/keys.ts";
import { newKeyStore, newVersion, signerCommand } from "#test/support/keys/keystore.ts";
import { noLink, sealedStore, writeLegacyKey } from "#test/support/keys/sealed-store.ts";
import { ticketFor, verifies } from "#test/support/keys/signing.ts";

let settings: SoftwareSettings;
let store: SealedKeys;
beforeEach(() => {
  settings = newKeyStore().software;
  store = sealedStore(settings);
});

const p256 = () => generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
const fileOf = ({ id }: Pick<KeyRef, "id">) => join(settings.keystore_dir, `${id}.key`);
const read = (ref: Pick<KeyRef, "id">) => JSON.parse(readFileSync(fileOf(ref), "utf8"));
const versionsOf = (at: SealedKeys) =>
  at.list().flatMap(({ keyType, kekVersion }) => (keyType === "aes-256" ? [] : [kekVersion]));
const made = async (label: string) => (await store.add(label, "ecdsa-p256", p256())).keyHandle;

/** A rotation begins: the next version seals, the one before still opens. */
function begin(at: SealedKeys): KekInUse[] {
  const old = at.ring.active;
  if (old === undefined) throw new Error("the store has a version");
  const version = old.version + 1;
  const key = at.keks.add(`kek-v${version}`).key;
  const versions: KekInUse[] = [
    { version, family: "kek", status: "active", key },
    { ...old, status: "retiring" },
  ];
  at.ring.use(versions);
  return versions;
}

describe("a rotation", () => {
  test("KEK-4: writes the header anew and leaves every other octet", async () => {
    const held = await made("ca");
    const before = read(held.ref);
    const [next] = begin(store);
    expect(await store.reseal(2)).toEqual({ changed: 1, left: 0 });
    const after = read(held.ref);
    const { wrapped_dek: old } = before.envelope;
    expect(after.envelope.wrapped_dek).not.toBe(old);
    const header = { kek_version: 2, wrapped_dek: after.envelope.wrapped_dek };
    expect(after).toEqual({ ...before, envelope: { ...before.envelope, ...header } });
    expect(await store.reseal(2)).toEqual({ changed: 0, left: 0 });
    store.ring.use(next === undefined ? [] : [next]);
    expect((await store.open(held.ref)).keyHandle).toEqual(held);
  });

  test("before it has come to a key, that opens under its old version; retired, it does not", async () => {
    const held = await made("ca");
    const [next] = begin(store);
    expect((await store.open(held.ref)).keyHandle).toEqual(held);
    store.ring.use(next === undefined ? [] : [next]);
    await expect(store.open(held.ref)).rejects.toMatchObject(shut);
  });

  test("that begins while a key is being made has it under the new version", async () => {
    const adding = made("late");
    begin(store);
    await adding;
    expect(versionsOf(store)).toEqual([2]);
  });

  test("goes on in steps, and each step says what is left", async () => {
    for (let n = 0; n < 70; n += 1) await made(`ca ${n}`);
    begin(store);
    expect(await store.reseal(2)).toEqual({ changed: 64, left: 6 });
    expect(await store.reseal(2)).toEqual({ changed: 6, left: 0 });
  });

  test("counts a key that does not open as left, and brings the others over", async () => {
    const [bad, good] = [await made("bad"), await made("good")];
    const file = read(bad.ref);
    const { commit } = read(good.ref).envelope;
    writeFileSync(
      fileOf(bad.ref),
      JSON.stringify({ ...file, envelope: { ...file.envelope, commit } }),
    );
    begin(store);
    expect(await store.reseal(2)).toEqual({ changed: 1, left: 1 });
    expect(versionsOf(store).sort()).toEqual([1, 2]);
  });

  test("waits for no key whose version was retired without it, as one from an old backup is", async () => {
    const [lost, kept] = [await made("lost"), await made("kept")];
    const backup = readFileSync(fileOf(lost.ref));
    for (const version of [2, 3]) {
      const [next] = begin(store);
      expect((await store.reseal(version)).left).toBe(0);
      store.ring.use(next === undefined ? [] : [next]);
      writeFileSync(fileOf(lost.ref), backup);
    }
    await expect(store.open(lost.ref)).rejects.toMatchObject(shut);
    expect((await store.open(kept.ref)).keyHandle).toEqual(kept);
  });

  test("to a version that is not the active one is refused", async () => {
    await expect(store.reseal(2)).rejects.toMatchObject(shut);
  });

  test("does not bring back a key that was destroyed meanwhile", async () => {
    const held = await made("short-lived");
    begin(store);
    const resealing = store.reseal(2);
    store.remove(held.ref);
    await resealing;
    expect(existsSync(fileOf(held.ref))).toBe(false);
  });
});

describe("a key of a release before envelopes", () => {
  test("opens as it is, and is brought into an envelope; nothing of the old seal stays", async () => {
    const legacy = { label: "old", keyType: "ecdsa-p256", secret: p256() } as const;
    const ref = writeLegacyKey(settings, legacy);
    const { keyHandle: held } = await store.open(ref);
    expect(versionsOf(store)).toEqual([undefined]);
    const { sealed } = read(ref);
    expect(await store.reseal(1)).toEqual({ changed: 1, left: 0 });
    expect(versionsOf(store)).toEqual([1]);
    expect(readFileSync(fileOf(ref), "utf8")).not.toContain(sealed);
    expect((await sealedStore(settings).open(ref)).keyHandle).toEqual(held);
  });

  test("that is damaged is left as it is and holds up nothing", async () => {
    const legacy = (label: string) => ({ label, keyType: "ecdsa-p256", secret: p256() }) as const;
    const [bad, good] = [legacy("bad"), legacy("good")].map((key) => writeLegacyKey(settings, key));
    if (bad === undefined || good === undefined) throw new Error("two were written");
    const file = read(bad);
    writeFileSync(fileOf(bad), JSON.stringify({ ...file, label: "renamed" }));
    expect(await store.reseal(1)).toEqual({ changed: 1, left: 0 });
    expect((await store.open(good)).keyHandle.ref).toEqual(good);
    await expect(store.open({ ...bad, label: "renamed" })).rejects.toMatchObject(shut);
  });

  test("V-12: keeps pkid from starting without its master key", () => {
    writeLegacyKey(settings, { label: "old", keyType: "ecdsa-p256", secret: p256() });
    for (const name of readdirSync(settings.keystore_dir)) {
      if (name.endsWith(".kek")) rmSync(join(settings.keystore_dir, name));
    }
    rmSync(settings.master_key_file);
    expect(() => sealedStore(settings)).toThrow("missing while sealed keys exist");
  });
});

describe("a signer that is killed while it brings keys over", () => {
  test("leaves each key under the one version or the other, and its successor finishes", async () => {
    const keyStore = newKeyStore();
    const client = new SignerClient({
      configuration: { provider: "software", software: keyStore.software, keks: [] },
      command: signerCommand,
      privateDir: keyStore.privateDir,
      operationTimeoutMs: 10_000,
      hooks: {},
      carry: noLink.request,
    });
    await client.start();
    try {
      let active = await newVersion(client, 1);
      await client.keks.use([active]);
      const keys: KeyHandle[] = [];
      for (let n = 0; n < 60; n += 1) {
        const wanted = { provider: "software", keyType: "ecdsa-p256", role: "ca" } as const;
        keys.push(await client.generate({ ...wanted, label: `ca ${n}` }));
      }
      for (let round = 0; round < 5; round += 1) {
        const next = await newVersion(client, active.version + 1);
        await client.keks.use([next, { ...active, status: "retiring" }]);
        const resealing = client.keks.reseal(next.version);
        await Bun.sleep(Math.random() * 20);
        if (client.signerPid !== undefined) process.kill(client.signerPid, "SIGKILL");
        await resealing;
        await client.keks.use([next]);
        active = next;
        const listed = await client.list();
        const versions = new Set(listed.map(({ kekVersion }) => kekVersion ?? next.version));
        expect([...versions]).toEqual([next.version]);
      }
      for (const held of keys) {
        const message = Buffer.from(held.ref.label);
        const signature = await client.sign(ticketFor(held, "ecdsa-sha256", message), message);
        expect(verifies(held, "ecdsa-sha256", message, signature)).toBe(true);
      }
    } finally {
      await client.close();
    }
  }, 60_000);
});

const shut = { code: "key_unavailable", facts: { retry_after: 2 } };

describe("data keys for an archive", () => {
  /** All of them, step by step, as the archive opens them. */
  async function archived(at: SealedKeys) {
    const mailbox = new Mailbox("archive");
    const dataKeys: { id: string; octets: string }[] = [];
    for (let after: string | undefined = ""; after !== undefined; ) {
      const step = await at.handOut(mailbox.address, after);
      for (const { id, octets } of step.boxes) {
        const dek = mailbox.open(Uint8Array.fromBase64(octets));
        dataKeys.push({ id, octets: dek.toBase64() });
      }
      after = step.after;
    }
    return dataKeys;
  }

  test("BAK-1: bring every key under a KEK that never sealed it, when the old one is gone", async () => {
    const held: KeyHandle[] = [];
    for (let n = 0; n < 70; n++) held.push(await made(`ca-${n}`));
    const dataKeys = await archived(store);
    expect(dataKeys.length).toBe(70);
    const [next] = begin(store);
    for (const { id, label } of store.keks.list()) {
      if (label === "kek-v1") store.keks.remove({ id, label });
    }
    store.ring.use(next === undefined ? [] : [next]);
    const before = read(held[0]?.ref ?? { id: "" });
    await store.takeOver(dataKeys);
    expect(versionsOf(store)).toEqual(Array.from({ length: 70 }, () => 2));
    for (const { ref } of held) expect((await store.open(ref)).keyHandle.ref).toEqual(ref);
    expect(read(held[0]?.ref ?? { id: "" }).envelope.ciphertext).toBe(before.envelope.ciphertext);
  });

  test("of a key that does not open there is none, and one that fits nothing changes nothing", async () => {
    const [one, two] = [await made("one"), await made("two")];
    const [ours = { id: "", octets: "" }] = (await archived(store)).filter(
      ({ id }) => id === one.ref.id,
    );
    const damaged = read(two.ref);
    damaged.envelope.wrapped_dek = Buffer.alloc(60).toString("base64");
    writeFileSync(fileOf(two.ref), `${JSON.stringify(damaged, undefined, 2)}\n`);
    expect((await archived(store)).map(({ id }) => id)).toEqual([one.ref.id]);
    begin(store);
    await store.takeOver([
      { id: two.ref.id, octets: ours.octets },
      { id: "00".repeat(20), octets: ours.octets },
    ]);
    expect(read(two.ref)).toEqual(damaged);
    expect(versionsOf(store).sort()).toEqual([1, 1]);
    store.ring.use([]);
    await expect(store.takeOver([ours])).rejects.toMatchObject({ code: "key_unavailable" });
  });
});
