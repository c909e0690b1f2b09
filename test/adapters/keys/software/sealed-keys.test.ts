/** Sealed key files: what is refused when a file, the master key or a permission is not as it was left. */

import { beforeEach, describe, expect, test } from "bun:test";
import { generateKeyPairSync } from "node:crypto";
import {
  chmodSync,
  copyFileSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";

import type { SoftwareSettings } from "#adapters/keys/settings.ts";
import { exportSecret } from "#adapters/keys/software/secrets.ts";
import { type OpenKey, SealedKeys } from "#adapters/keys/software/store.ts";
import { newKeyStore } from "#test/support/keystore.ts";

let settings: SoftwareSettings;
let first: OpenKey;
let second: OpenKey;
beforeEach(() => {
  settings = newKeyStore().software;
  const store = new SealedKeys(settings);
  first = store.add("first", "ecdsa-p256", p256());
  second = store.add("second", "ecdsa-p256", p256());
});

describe("a sealed key file", () => {
  test("opens again, under its id and label", () => {
    expect(new SealedKeys(settings).open(first.held.ref).held).toEqual(first.held);
  });

  test("is readable by its owner only, in a directory that is", () => {
    const modes = readdirSync(settings.keystoreDir).map(
      (name) => statSync(join(settings.keystoreDir, name)).mode & 0o777,
    );
    expect(modes).toEqual(modes.map(() => 0o600));
    expect(statSync(settings.keystoreDir).mode & 0o777).toBe(0o700);
    expect(statSync(settings.masterKeyFile).mode & 0o777).toBe(0o600);
  });

  test("holds no plain key and leaves no temporary file", () => {
    const secret = exportSecret(first.secret);
    const content = readFileSync(fileOf(first));
    expect(content.includes(secret.subarray(40, 60))).toBe(false);
    expect(content.includes(secret.toString("base64").slice(48, 80))).toBe(false);
    expect(readdirSync(settings.keystoreDir).filter((name) => name.startsWith("."))).toEqual([]);
  });

  test("is refused when any octet of its seal is changed", () => {
    const file = JSON.parse(readFileSync(fileOf(first), "utf8"));
    const sealed = Buffer.from(file.sealed, "base64");
    for (const index of [0, 11, 12, 27, 28, sealed.length - 1]) {
      const altered = Buffer.from(sealed);
      altered[index] = (altered[index] ?? 0) ^ 1;
      writeFileSync(fileOf(first), JSON.stringify({ ...file, sealed: altered.toString("base64") }));
      expect(() => new SealedKeys(settings).open(first.held.ref)).toThrow(unavailable);
    }
  });

  test("is refused when it is cut short, empty, not JSON or far too long", () => {
    const content = readFileSync(fileOf(first));
    for (const wrong of [content.subarray(0, 100), "", "key", Buffer.alloc(1 << 20, "{")]) {
      writeFileSync(fileOf(first), wrong);
      expect(() => new SealedKeys(settings).open(first.held.ref)).toThrow(unavailable);
    }
  });

  test("is refused under the name of another key", () => {
    copyFileSync(fileOf(second), fileOf(first));
    expect(() => new SealedKeys(settings).open(first.held.ref)).toThrow(unavailable);
  });

  test("is refused when it claims the id of another key", () => {
    const file = JSON.parse(readFileSync(fileOf(second), "utf8"));
    const { id, label } = first.held.ref;
    writeFileSync(fileOf(first), JSON.stringify({ ...file, id, label }));
    expect(() => new SealedKeys(settings).open(first.held.ref)).toThrow(unavailable);
  });

  test("is refused when it claims another label or type", () => {
    const file = JSON.parse(readFileSync(fileOf(first), "utf8"));
    const relabelled = { ...first.held.ref, label: "root" };
    writeFileSync(fileOf(first), JSON.stringify({ ...file, label: "root" }));
    expect(() => new SealedKeys(settings).open(relabelled)).toThrow(unavailable);
    writeFileSync(fileOf(first), JSON.stringify({ ...file, key_type: "ecdsa-p384" }));
    expect(() => new SealedKeys(settings).open(first.held.ref)).toThrow(unavailable);
  });

  test("is refused in another key store, even with the same master key", () => {
    const other = newKeyStore().software;
    new SealedKeys(other).add("other", "ecdsa-p256", p256());
    const shared = { keystoreDir: other.keystoreDir, masterKeyFile: settings.masterKeyFile };
    rmSync(join(other.keystoreDir, "master.check"));
    for (const name of readdirSync(other.keystoreDir)) {
      if (name.endsWith(".key")) rmSync(join(other.keystoreDir, name));
    }
    const store = new SealedKeys(shared);
    copyFileSync(fileOf(first), join(other.keystoreDir, `${first.held.ref.id}.key`));
    expect(() => store.open(first.held.ref)).toThrow(unavailable);
  });

  test("is not found by a wrong label, and a path is not an id", () => {
    const store = new SealedKeys(settings);
    expect(() => store.open({ ...first.held.ref, label: "second" })).toThrow(unavailable);
    expect(() => store.open({ id: "../master", label: "first" })).toThrow(unavailable);
  });

  test("a label is taken once", () => {
    expect(() => new SealedKeys(settings).add("first", "ecdsa-p256", p256())).toThrow("taken");
  });
});

describe("the master key", () => {
  test("is not made before there is a key to seal", () => {
    const empty = newKeyStore().software;
    new SealedKeys(empty);
    expect(() => statSync(empty.masterKeyFile)).toThrow("ENOENT");
  });

  test("V-12: readable by others, it is refused", () => {
    chmodSync(settings.masterKeyFile, 0o640);
    expect(() => new SealedKeys(settings)).toThrow("open to others");
  });

  test("V-12: missing while sealed keys exist, it is refused and not made anew", () => {
    renameSync(settings.masterKeyFile, `${settings.masterKeyFile}.away`);
    expect(() => new SealedKeys(settings)).toThrow("missing while sealed keys exist");
    expect(() => statSync(settings.masterKeyFile)).toThrow("ENOENT");
  });

  test("V-12: another one does not open the known value", () => {
    writeFileSync(settings.masterKeyFile, Buffer.alloc(32, 7));
    expect(() => new SealedKeys(settings)).toThrow("not the one the keys were sealed with");
  });

  test("of a wrong length is refused", () => {
    writeFileSync(settings.masterKeyFile, Buffer.alloc(16, 7));
    expect(() => new SealedKeys(settings)).toThrow("wrong length");
  });

  test("a key store open to others is refused", () => {
    chmodSync(settings.keystoreDir, 0o755);
    expect(() => new SealedKeys(settings)).toThrow("open to others");
  });
});

describe("a passphrase instead of the file", () => {
  const withPassphrase = (value: string): SoftwareSettings => ({
    ...newKeyStore().software,
    passphraseSource: { type: "value", value },
  });

  test("opens what it sealed, and writes no master key", () => {
    const derived = withPassphrase("correct horse");
    const key = new SealedKeys(derived).add("ca", "ecdsa-p256", p256());
    expect(new SealedKeys(derived).open(key.held.ref).held).toEqual(key.held);
    expect(() => statSync(derived.masterKeyFile)).toThrow("ENOENT");
  });

  test("V-12: a wrong one is refused", () => {
    const derived = withPassphrase("correct horse");
    new SealedKeys(derived).add("ca", "ecdsa-p256", p256());
    const wrong = { ...derived, passphraseSource: { type: "value", value: "battery" } as const };
    expect(() => new SealedKeys(wrong)).toThrow("not the one the keys were sealed with");
  });

  test("V-12: without its salt it is refused while sealed keys exist", () => {
    const derived = withPassphrase("correct horse");
    new SealedKeys(derived).add("ca", "ecdsa-p256", p256());
    rmSync(join(derived.keystoreDir, "master.salt"));
    expect(() => new SealedKeys(derived)).toThrow("missing while sealed keys exist");
  });
});

const p256 = () => generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
const fileOf = (key: OpenKey) => join(settings.keystoreDir, `${key.held.ref.id}.key`);
const unavailable = expect.objectContaining({ code: "key_unavailable" });
