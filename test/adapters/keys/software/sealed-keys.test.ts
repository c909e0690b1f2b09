/**
 * Sealed key files: what is refused when a file, the master key or a permission is not as it was
 * left.
 */

import { beforeEach, describe, expect, test } from "bun:test";
import { generateKeyPairSync } from "node:crypto";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import fc from "fast-check";

import type { SoftwareSettings } from "#adapters/keys/settings.ts";
import { exportSecret } from "#adapters/keys/software/secrets.ts";
import { type OpenKey, SealedKeys } from "#adapters/keys/software/store.ts";
import type { KeyRef } from "#domain/key-ref.ts";
import type { KekInUse } from "#domain/keys.ts";
import { newKeyStore } from "#test/support/keys/keystore.ts";
import { noLink, sealedStore } from "#test/support/keys/sealed-store.ts";

let settings: SoftwareSettings;
let store: SealedKeys;
let first: OpenKey;
let second: OpenKey;
beforeEach(async () => {
  settings = newKeyStore().software;
  store = sealedStore(settings);
  first = await store.add("first", "ecdsa-p256", p256());
  second = await store.add("second", "ecdsa-p256", p256());
});
const opened = (ref: Pick<KeyRef, "id" | "label">) => sealedStore(settings).open(ref);
const refused = (ref: Pick<KeyRef, "id" | "label">) => expect(opened(ref)).rejects.toEqual(shut);

describe("a sealed key file", () => {
  test("opens again, under its id and label", async () => {
    expect((await opened(first.keyHandle.ref)).keyHandle).toEqual(first.keyHandle);
  });

  test("is an envelope of the active version, with a data key of its own", () => {
    const [one, two] = [first, second].map((key) => JSON.parse(readFileSync(fileOf(key), "utf8")));
    expect(one.envelope).toMatchObject({ v: 1, kek: "kek", kek_version: 1, wrap: "AES-256-GCM" });
    expect(one.envelope.wrapped_dek).not.toBe(two.envelope.wrapped_dek);
    expect(one.envelope.commit).not.toBe(two.envelope.commit);
    const { id, label } = first.keyHandle.ref;
    const context = ["keys/private_key", store.storeId, id, "ecdsa-p256", label].join("/");
    expect(one.envelope.context).toBe(context);
  });

  test("is readable by its owner only, in a directory that is", () => {
    const modes = readdirSync(settings.keystore_dir).map(
      (name) => statSync(join(settings.keystore_dir, name)).mode & 0o777,
    );
    expect(modes).toEqual(modes.map(() => 0o600));
    expect(statSync(settings.keystore_dir).mode & 0o777).toBe(0o700);
    expect(statSync(settings.master_key_file).mode & 0o777).toBe(0o600);
  });

  test("holds no plain key and leaves no temporary file", () => {
    const secret = exportSecret(first.secret);
    const content = readFileSync(fileOf(first));
    expect(content.includes(secret.subarray(40, 60))).toBe(false);
    expect(content.includes(secret.toString("base64").slice(48, 80))).toBe(false);
    expect(readdirSync(settings.keystore_dir).filter((name) => name.startsWith("."))).toEqual([]);
  });

  test("half-written by a crash is cleared away when nobody can be writing it any more", () => {
    const [old, young] = ["old", "young"].map((name) =>
      join(settings.keystore_dir, `.new-${name}`),
    );
    if (old === undefined || young === undefined) throw new Error("two are named");
    for (const path of [old, young]) writeFileSync(path, "{");
    utimesSync(old, 0, 0);
    sealedStore(settings);
    expect([existsSync(old), existsSync(young)]).toEqual([false, true]);
  });

  const octetMembers = ["wrapped_dek", "nonce", "commit", "ciphertext"] as const;
  for (const member of octetMembers) {
    test(`is refused when any octet of its ${member} is changed, added or cut off`, async () => {
      const file = JSON.parse(readFileSync(fileOf(first), "utf8"));
      const octets = Buffer.from(file.envelope[member], "base64");
      const flip = fc.tuple(fc.nat(octets.length - 1), fc.nat(7));
      const change = fc.oneof(
        flip.map(([at, bit]) =>
          octets.map((octet, each) => (each === at ? octet ^ (1 << bit) : octet)),
        ),
        fc.nat(octets.length - 1).map((length) => octets.subarray(0, length)),
        fc.uint8Array({ minLength: 1, maxLength: 4 }).map((more) => Buffer.concat([octets, more])),
      );
      await fc.assert(
        fc.asyncProperty(change, async (altered) => {
          const envelope = { ...file.envelope, [member]: Buffer.from(altered).toString("base64") };
          writeFileSync(fileOf(first), JSON.stringify({ ...file, envelope }));
          await refused(first.keyHandle.ref);
        }),
        { numRuns: 40 },
      );
    });
  }

  test("is refused under another version, family, way of wrapping or context", async () => {
    const file = JSON.parse(readFileSync(fileOf(first), "utf8"));
    const other = JSON.parse(readFileSync(fileOf(second), "utf8")).envelope;
    for (const change of [
      { kek_version: 2 },
      { kek: "other" },
      { wrap: "RSA-OAEP-SHA256" },
      { alg: "AES-128-GCM" },
      { v: 2 },
      { context: other.context },
      { wrapped_dek: other.wrapped_dek },
      { wrapped_dek: other.wrapped_dek, commit: other.commit },
      { ...other, context: file.envelope.context },
      other,
    ]) {
      const text = JSON.stringify({ ...file, envelope: { ...file.envelope, ...change } });
      writeFileSync(fileOf(first), text);
      await refused(first.keyHandle.ref);
    }
  });

  test("is refused when it is cut short, empty, not JSON or far too long", async () => {
    const content = readFileSync(fileOf(first));
    for (const wrong of [content.subarray(0, 100), "", "key", Buffer.alloc(1 << 20, "{")]) {
      writeFileSync(fileOf(first), wrong);
      await refused(first.keyHandle.ref);
    }
  });

  test("is refused under the name of another key", async () => {
    copyFileSync(fileOf(second), fileOf(first));
    await refused(first.keyHandle.ref);
  });

  test("is refused when it claims the id of another key", async () => {
    const file = JSON.parse(readFileSync(fileOf(second), "utf8"));
    const { id, label } = first.keyHandle.ref;
    writeFileSync(fileOf(first), JSON.stringify({ ...file, id, label }));
    await refused(first.keyHandle.ref);
  });

  test("is refused when it claims another label or type", async () => {
    const file = JSON.parse(readFileSync(fileOf(first), "utf8"));
    const relabelled = { ...first.keyHandle.ref, label: "root" };
    writeFileSync(fileOf(first), JSON.stringify({ ...file, label: "root" }));
    await refused(relabelled);
    writeFileSync(fileOf(first), JSON.stringify({ ...file, key_type: "ecdsa-p384" }));
    await refused(first.keyHandle.ref);
  });

  test("is refused in another key store, even with the same KEK", async () => {
    const other = new SealedKeys(newKeyStore().software, noLink);
    const envelope = JSON.parse(readFileSync(fileOf(first), "utf8"));
    const elsewhere = { ...envelope.envelope };
    elsewhere.context = elsewhere.context.replace(store.storeId, other.storeId);
    writeFileSync(fileOf(first), JSON.stringify({ ...envelope, envelope: elsewhere }));
    await refused(first.keyHandle.ref);
    writeFileSync(join(settings.keystore_dir, "store-id"), other.storeId);
    rmSync(join(settings.keystore_dir, "master.check"));
    expect(() => sealedStore(settings)).toThrow("known value is gone");
  });

  test("is not found by a wrong label, and a path is not an id", async () => {
    await refused({ ...first.keyHandle.ref, label: "second" });
    await refused({ id: "../master", label: "first" });
  });

  test("a label is taken once, also by two at the same moment", async () => {
    await expect(store.add("first", "ecdsa-p256", p256())).rejects.toThrow("not available");
    const both = [store.add("both", "ecdsa-p256", p256()), store.add("both", "ecdsa-p256", p256())];
    const results = await Promise.allSettled(both);
    expect(results.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
  });

  test("none is made and none opens before the KEK is known, or after its version is retired", async () => {
    const untold = new SealedKeys(settings, noLink);
    await expect(untold.add("third", "ecdsa-p256", p256())).rejects.toEqual(shut);
    await expect(untold.open(first.keyHandle.ref)).rejects.toEqual(shut);
    store.ring.use([newVersion(store, 2)]);
    await expect(store.open(first.keyHandle.ref)).rejects.toEqual(shut);
  });
});

describe("the master key", () => {
  test("is not made before there is a KEK to seal", () => {
    const empty = newKeyStore().software;
    new SealedKeys(empty, noLink);
    expect(() => statSync(empty.master_key_file)).toThrow("ENOENT");
  });

  test("V-12: readable by others, it is refused", () => {
    chmodSync(settings.master_key_file, 0o640);
    expect(() => sealedStore(settings)).toThrow("open to others");
  });

  test("V-12: missing while sealed keys exist, it is refused and not made anew", () => {
    renameSync(settings.master_key_file, `${settings.master_key_file}.away`);
    expect(() => sealedStore(settings)).toThrow("missing while sealed keys exist");
    expect(() => statSync(settings.master_key_file)).toThrow("ENOENT");
  });

  test("V-12: another one does not open the known value", () => {
    writeFileSync(settings.master_key_file, Buffer.alloc(32, 7));
    expect(() => sealedStore(settings)).toThrow("not the one the keys were sealed with");
  });

  test("of a wrong length is refused", () => {
    writeFileSync(settings.master_key_file, Buffer.alloc(16, 7));
    expect(() => sealedStore(settings)).toThrow("wrong length");
  });

  test("a key store open to others is refused", () => {
    chmodSync(settings.keystore_dir, 0o755);
    expect(() => sealedStore(settings)).toThrow("open to others");
  });
});

describe("a passphrase instead of the file", () => {
  const withPassphrase = (value: string): SoftwareSettings => ({
    ...newKeyStore().software,
    passphrase: { type: "value", value },
  });

  test("opens what it sealed, and writes no master key", async () => {
    const derived = withPassphrase("correct horse");
    const key = await sealedStore(derived).add("ca", "ecdsa-p256", p256());
    expect((await sealedStore(derived).open(key.keyHandle.ref)).keyHandle).toEqual(key.keyHandle);
    expect(() => statSync(derived.master_key_file)).toThrow("ENOENT");
  });

  test("V-12: a wrong one is refused", async () => {
    const derived = withPassphrase("correct horse");
    await sealedStore(derived).add("ca", "ecdsa-p256", p256());
    const wrong = { ...derived, passphrase: { type: "value", value: "battery" } as const };
    expect(() => sealedStore(wrong)).toThrow("not the one the keys were sealed with");
  });

  test("V-12: without its salt it is refused while sealed keys exist", async () => {
    const derived = withPassphrase("correct horse");
    await sealedStore(derived).add("ca", "ecdsa-p256", p256());
    rmSync(join(derived.keystore_dir, "master.salt"));
    expect(() => sealedStore(derived)).toThrow("missing while sealed keys exist");
  });
});

const p256 = () => generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
const fileOf = (key: OpenKey) => join(settings.keystore_dir, `${key.keyHandle.ref.id}.key`);
const newVersion = (at: SealedKeys, version: number): KekInUse => ({
  version,
  family: "kek",
  status: "active",
  key: at.keks.add(`kek-v${version}`).key,
});
const shut = expect.objectContaining({ code: "key_unavailable", facts: { retry_after: 2 } });
