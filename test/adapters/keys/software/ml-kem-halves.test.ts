/**
 * Sealed ML-KEM halves: what is refused when a file, its name or the master key is not as it was
 * left.
 */

import { beforeEach, expect, test } from "bun:test";
import { readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { ml_kem1024 } from "@noble/post-quantum/ml-kem.js";

import type { SoftwareSettings } from "#adapters/keys/settings.ts";
import { sealedIds } from "#adapters/keys/software/sealed-files.ts";
import { openUnderBoth } from "#core/hybrid-wrap.ts";
import { newKeyStore } from "#test/support/keys/keystore.ts";
import { sealedStore } from "#test/support/keys/sealed-store.ts";

const kek = { id: "ab".repeat(20), label: "pkid-kek-v1" };
const shut = { code: "key_unavailable" };
const [dek, share] = [new Uint8Array(32).fill(1), new Uint8Array(32).fill(2)];
const wrappedShare = { wrap: "AES-256-GCM", wrappedDek: new Uint8Array(60).fill(3) } as const;
const request = { family: "pkid-kek", version: 1, dek, share, wrappedShare };

let settings: SoftwareSettings;
let half: string;
const halves = () => sealedStore(settings).halves;
const fileOf = ({ id }: { readonly id: string }) => join(settings.keystore_dir, `${id}.mlkem`);
beforeEach(async () => {
  settings = newKeyStore().software;
  half = await halves().generate(kek);
});

test("lies sealed with mode 0600, and opens after a restart what it wrapped, for the same use only", async () => {
  expect(statSync(fileOf(kek)).mode & 0o777).toBe(0o600);
  const header = await halves().wrap(kek, request, "value");
  expect(await halves().unwrap(kek, header, share, "value")).toEqual(dek);
  const otherUse = halves().unwrap(kek, header, share, "private key");
  await expect(otherUse).rejects.toMatchObject(shut);
  expect(await halves().fingerprint(kek)).toBe(half);
});

test("another ML-KEM secret than that of the half opens nothing, by another implementation too", async () => {
  const header = await halves().wrap(kek, request, "value");
  const { secretKey } = ml_kem1024.keygen();
  const shared = ml_kem1024.decapsulate(header.pqc.ciphertext, secretKey);
  const bound = { terms: header, use: "value" };
  expect(openUnderBoth({ share, shared }, bound, header.wrappedDek)).toBeUndefined();
});

test("a file under the name of another KEK, relabelled, altered or of another store is an absent half", async () => {
  const header = await halves().wrap(kek, request, "value");
  const text = readFileSync(fileOf(kek), "utf8");
  const other = { id: "cd".repeat(20), label: "pkid-kek-v2" };
  writeFileSync(fileOf(other), text.replaceAll(kek.id, other.id).replace(kek.label, other.label));
  await expect(halves().fingerprint(other)).rejects.toMatchObject(shut);
  const renamed = { ...kek, label: "pkid-kek-v2" };
  await expect(halves().fingerprint(renamed)).rejects.toMatchObject(shut);
  const { sealed, ...rest } = JSON.parse(text);
  const octets = Buffer.from(sealed, "base64");
  for (const at of [0, 12, 28, octets.length - 1]) {
    const altered = Buffer.from(octets);
    altered.writeUInt8(altered.readUInt8(at) ^ 1, at);
    writeFileSync(fileOf(kek), JSON.stringify({ ...rest, sealed: altered.toString("base64") }));
    await expect(halves().unwrap(kek, header, share, "value")).rejects.toMatchObject(shut);
    await expect(halves().wrap(kek, request, "value")).rejects.toMatchObject(shut);
  }
  writeFileSync(fileOf(kek), "no JSON");
  await expect(halves().fingerprint(kek)).rejects.toMatchObject(shut);
  settings = newKeyStore().software;
  await halves().generate(other);
  writeFileSync(fileOf(kek), text);
  await expect(halves().fingerprint(kek)).rejects.toMatchObject(shut);
});

test("an id that is none leads to no file", async () => {
  const outside = { id: "../master", label: kek.label };
  await expect(halves().fingerprint(outside)).rejects.toMatchObject(shut);
});

test("V-12: a half keeps pkid from starting without the master key that sealed it", () => {
  // Nothing else in the store needs the master key.
  for (const id of sealedIds(settings.keystore_dir, "kek")) {
    rmSync(join(settings.keystore_dir, `${id}.kek`));
  }
  rmSync(settings.master_key_file);
  expect(() => halves()).toThrow("is missing while sealed keys exist");
});
