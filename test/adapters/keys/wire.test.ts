/**
 * What crosses the lines between server and signers: never a data key of a private key, never the
 * private key.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { startSigners } from "#adapters/keys/start.ts";
import type { KeySettings } from "#adapters/keys/settings.ts";
import { exportSecret } from "#adapters/keys/software/secrets.ts";
import { parseKeyFile, isEnveloped } from "#adapters/keys/software/key-file.ts";
import { type Envelope, fitsCommitment } from "#core/envelope.ts";
import type { ProviderName } from "#domain/key-ref.ts";
import type { KeyHandle, KekInUse, Keys } from "#domain/keys.ts";
import { newKeyStore, newVersion } from "#test/support/keys/keystore.ts";
import { noLink } from "#test/support/keys/sealed-store.ts";
import { ticketFor, verifies } from "#test/support/keys/signing.ts";
import { newSoftHsm, softHsmModule } from "#test/support/keys/softhsm.ts";
import { SealedKeys } from "#adapters/keys/software/store.ts";

const record = join(newKeyStore().privateDir, "..", "record");
const tap = [
  process.execPath,
  join(import.meta.dir, "..", "..", "support", "keys", "wiretap.ts"),
  record,
];
const wanted = { provider: "software", label: "ca", keyType: "ecdsa-p256", role: "ca" } as const;

if (softHsmModule === undefined) describe.todo("the wire: SoftHSM is not installed here");
else {
  let settings: KeySettings;
  let held: KeyHandle;
  let keys: Keys;
  const versions: KekInUse[] = [];

  /** The versions of a rotation: the newest seals, the one before it still opens. */
  async function rotate(provider: ProviderName): Promise<void> {
    const next = await newVersion(keys, versions.length + 1, provider);
    const [before] = versions;
    await keys.keks.use(before === undefined ? [next] : [next, { ...before, status: "retiring" }]);
    versions.unshift(next);
    await keys.keks.reseal(next.version);
  }

  async function signs(): Promise<boolean> {
    const message = Buffer.from("over the wire");
    const signature = await keys.sign(ticketFor(held, "ecdsa-sha256", message), message);
    return verifies(held, "ecdsa-sha256", message, signature);
  }

  const envelope = (): Envelope => {
    const { keystore_dir } = settings.software;
    const file = parseKeyFile(readFileSync(join(keystore_dir, `${held.ref.id}.key`)), held.ref.id);
    if (file === undefined || !isEnveloped(file)) throw new Error("the key is in an envelope");
    return file.sealed;
  };

  beforeAll(async () => {
    writeFileSync(record, "");
    const pkcs11 = newSoftHsm().settings;
    settings = { ...newKeyStore(), pkcs11, signerCommand: tap };
    keys = await startSigners(settings);
    // On the token, to another key there, to a sealed file: every way a data key can go.
    await rotate("pkcs11");
    held = await keys.generate(wanted);
    await rotate("pkcs11");
    await keys.find(held.ref);
    await rotate("software");
    await keys.find(held.ref);
  }, 60_000);
  afterAll(() => keys.close());

  test("the key signs, and its data key was unwrapped on the token and carried by the server", async () => {
    expect(await signs()).toBe(true);
    const seen = readFileSync(record, "latin1");
    for (const operation of ["kek.hand_out", "kek.take_in", "kek.address"]) {
      expect(seen).toContain(`"operation":"${operation}"`);
    }
  });

  test("neither the data key nor the private key crosses, in octets, hex or base64", async () => {
    const [active] = versions;
    if (active === undefined) throw new Error("there is a version");
    const store = new SealedKeys(settings.software, noLink);
    store.ring.use([active]);
    const dek = await store.ring.unwrap(envelope());
    expect(fitsCommitment(envelope(), dek)).toBe(true);
    const pkcs8 = exportSecret((await store.open(held.ref)).secret);
    const scalar = pkcs8.subarray(pkcs8.indexOf(Buffer.from("020101", "hex")) + 5).subarray(0, 32);
    const seen = readFileSync(record);
    // The search finds what is there: the public key crossed.
    expect(seen.includes(Buffer.from(held.spki).toString("base64"))).toBe(true);
    for (const secret of [Buffer.from(dek), scalar]) {
      for (const form of [secret, secret.toReversed()]) {
        expect(seen.includes(form)).toBe(false);
        expect(seen.includes(Buffer.from(form).toString("hex"))).toBe(false);
        for (const cut of [0, 1, 2]) {
          // A base64 text depends on where in a group of three its octets begin; the edges are left
          // out.
          const text = Buffer.from(form.subarray(cut, cut + 24)).toString("base64");
          expect(seen.includes(text)).toBe(false);
        }
      }
    }
  });

  test("the server's own unwrap opens no data key of a private key, on the token or in a file", async () => {
    const [onFile, onToken] = versions;
    if (onFile === undefined || onToken === undefined) throw new Error("there were rotations");
    await expect(keys.keks.unwrap(onFile.key, envelope())).rejects.toMatchObject(shut);
    const dek = new Uint8Array(32).fill(7);
    expect(await keys.keks.unwrap(onToken.key, await keys.keks.wrap(onToken.key, dek))).toEqual(
      dek,
    );
    await keys.keks.use([{ ...onToken, version: 9, status: "active" }]);
    const second = await keys.generate({ ...wanted, label: "second" });
    held = second;
    await expect(keys.keks.unwrap(onToken.key, envelope())).rejects.toMatchObject(shut);
    expect(await signs()).toBe(true);
  });
}

const shut = { code: "key_unavailable", facts: { retry_after: 2 } };
