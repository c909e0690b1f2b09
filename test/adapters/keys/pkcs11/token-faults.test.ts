/**
 * What happens to callers when a token misbehaves: SoftHSM, pulled out, and behind a module that
 * fails on demand.
 */

import { afterEach, describe, expect, test } from "bun:test";
import { chmodSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { SignerClient } from "#adapters/keys/client.ts";
import type { Pkcs11Settings } from "#adapters/keys/settings.ts";
import type { KeyHandle } from "#domain/keys.ts";
import { newFaultyModule } from "#test/support/keys/faulty-module.ts";
import { newKeyStore, signerCommand } from "#test/support/keys/keystore.ts";
import { noLink } from "#test/support/keys/sealed-store.ts";
import { ticketFor, verifies } from "#test/support/keys/signing.ts";
import { initHsmToken, newSoftHsm, softHsmModule } from "#test/support/keys/softhsm.ts";

const opened: SignerClient[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((client) => client.close()));
});

if (softHsmModule === undefined) describe.todo("tokens: SoftHSM is not installed here");
else declareAll(softHsmModule);

function declareAll(module: string): void {
  describe("a token that fails", () => {
    const faulty = newFaultyModule(module);
    const withKey = () => clientWithKey(newSoftHsm({ module_path: faulty.path }).settings);
    /**
     * With a key that is used on the signer's own thread, unless this machine is too slow for that.
     */
    const withQuickKey = async () => {
      const made = await withKey();
      for (let n = 0; n < 40; n += 1) expect(await signs(made.client, made.held)).toBe(true);
      return made;
    };

    // Columns: return value, how often, whether the signer survives it.
    for (const [name, rv, times, survives] of [
      ["CKR_SESSION_HANDLE_INVALID", 0xb3, 1, true],
      ["CKR_OBJECT_HANDLE_INVALID, three times", 0x82, 3, true],
      ["CKR_OPERATION_NOT_INITIALIZED", 0x91, 2, true],
      ["CKR_DEVICE_MEMORY", 0x31, 2, true],
    ] as const) {
      test(`${name}: healed where it happened, the caller sees a signature`, async () => {
        const { client, held } = await withKey();
        const pid = client.signerPid;
        faulty.fail(rv, times);
        expect(await signs(client, held)).toBe(true);
        expect(client.signerPid === pid).toBe(survives);
      });
    }

    test("a new key has signed nothing: each of its signatures has a ticket", async () => {
      const { client } = await withKey();
      faulty.fail(0, 9);
      const kinds = ["ecdsa-p384", "rsa-2048", "ed25519"] as const;
      for (const keyType of kinds) {
        const wanted = { provider: "pkcs11", label: keyType, keyType, role: "ca" } as const;
        const held = await client.generate(wanted);
        expect(faulty.left()).toBe(9);
        expect(held.keyType).toBe(keyType);
      }
    });

    test("the same for a key that is used without a worker", async () => {
      const { client, held } = await withQuickKey();
      const pid = client.signerPid;
      for (const rv of [0xb3, 0x82, 0x91, 0x31]) {
        faulty.fail(rv, 1);
        expect(await signs(client, held)).toBe(true);
      }
      expect(client.signerPid).toBe(pid);
    });

    for (const [what, withOne] of [
      ["a key", withKey],
      ["a key used without a worker", withQuickKey],
    ] as const) {
      test(`CKR_DEVICE_ERROR that stays is refused; the signer goes on and heals with the token: ${what}`, async () => {
        const { client, held, faults } = await withOne();
        faulty.fail(0x30, 1000);
        await expect(signs(client, held)).rejects.toMatchObject({ code: "key_unavailable" });
        expect(faults.join()).toContain("CKR_DEVICE_ERROR");
        faulty.fail(0, 0);
        expect(await signs(client, held)).toBe(true);
      });

      test(`a token session fault that stays becomes a refusal, not a wait: ${what}`, async () => {
        const { client, held } = await withOne();
        faulty.fail(0xb3, 1000);
        await expect(signs(client, held)).rejects.toMatchObject({ code: "key_unavailable" });
        faulty.fail(0, 0);
        expect(await signs(client, held)).toBe(true);
      });
    }

    for (const [what, before] of [
      ["a key", 0],
      ["a key used without a worker", 40],
    ] as const) {
      test(`a stalled C_Sign is refused after the deadline, and the next caller served: ${what}`, async () => {
        const { settings } = newSoftHsm({ module_path: faulty.path });
        const { client, held } = await clientWithKey({ ...settings, operation_timeout_seconds: 2 });
        for (let n = 0; n < before; n += 1) expect(await signs(client, held)).toBe(true);
        const pid = client.signerPid;
        faulty.fail(0, 1, 60_000);
        await expect(signs(client, held)).rejects.toMatchObject({ code: "key_unavailable" });
        expect(await signs(client, held)).toBe(true);
        expect(client.signerPid).not.toBe(pid);
      });
    }
  });

  describe("a token that vanishes", () => {
    test("is unavailable while it is away, and serves again by itself, with no new key", async () => {
      const hsmToken = newSoftHsm();
      const { client, held } = await clientWithKey(hsmToken.settings);
      hsmToken.pull();
      await expect(client.find(held.ref)).rejects.toMatchObject({ code: "key_unavailable" });
      await expect(signs(client, held)).rejects.toMatchObject({ code: "key_unavailable" });
      expect((await client.facts())[0]).toMatchObject({ available: false });
      hsmToken.plugIn();
      expect(await eventually(() => signs(client, held))).toBe(true);
      expect(await client.find(held.ref)).toEqual(held);
    });

    test("a signer killed with signatures in flight answers them all", async () => {
      const { client, held } = await clientWithKey(newSoftHsm().settings, "rsa-4096");
      const messages = Array.from({ length: 32 }, (_, index) => Buffer.from(`message ${index}`));
      const signing = messages.map((message) =>
        client.sign(ticketFor(held, "rsa-pkcs1-sha512", message), message),
      );
      await Bun.sleep(20);
      process.kill(client.signerPid ?? 0, "SIGKILL");
      const signatures = await Promise.all(signing);
      const good = messages.filter((message, index) =>
        verifies(held, "rsa-pkcs1-sha512", message, signatures[index] ?? new Uint8Array()),
      );
      expect(good.length).toBe(32);
    }, 30_000);
  });

  describe("the PIN", () => {
    test("a wrong one is tried once and never again", async () => {
      const { settings } = newSoftHsm();
      const { client, faults } = clientFor({ ...settings, pin: value("wrong-pin") });
      await client.start();
      for (let round = 0; round < 3; round += 1) {
        const wanted = {
          provider: "pkcs11",
          label: "x",
          keyType: "ecdsa-p256",
          role: "ca",
        } as const;
        await expect(client.generate(wanted)).rejects.toMatchObject({ code: "key_unavailable" });
      }
      await Bun.sleep(500);
      expect(faults).toEqual(["The token refused the PIN. CKR_PIN_INCORRECT"]);
      expect((await client.facts())[0]).toMatchObject({ error: "The token refused the PIN." });
    });

    test("V-11: a file readable by others is refused, unless that is allowed", async () => {
      const path = join(mkdtempSync(join(tmpdir(), "pkid-pin-")), "pin");
      const hsmToken = newSoftHsm();
      writeFileSync(path, `${hsmToken.pin}\n`);
      chmodSync(path, 0o644);
      const refused = { ...hsmToken.settings, pin: { type: "file", path } as const };
      await expect(clientFor(refused).client.start()).rejects.toMatchObject({
        kind: "configuration",
        message: "The file with the PIN is open to others.",
      });
      const pin = { type: "file", path, allowInsecurePermissions: true } as const;
      const { client } = clientFor({ ...hsmToken.settings, pin });
      await client.start();
      expect((await client.facts())[0]).toMatchObject({ available: true });
    });

    test("an environment variable reaches the signer", async () => {
      const hsmToken = newSoftHsm();
      process.env.PKID_TEST_PIN = hsmToken.pin;
      const pin = { type: "env", name: "PKID_TEST_PIN" } as const;
      const { client } = clientFor({ ...hsmToken.settings, pin });
      await client.start();
      expect((await client.facts())[0]).toMatchObject({ available: true });
    });
  });

  describe("V-11", () => {
    test("a selection that fits no token stops the start", async () => {
      const { client } = clientFor({ ...newSoftHsm().settings, token_label: "another" });
      await expect(client.start()).rejects.toMatchObject({
        kind: "configuration",
        message: "No token matches the settings.",
      });
    });

    test("a selection that fits two tokens stops the start", async () => {
      const hsmToken = newSoftHsm();
      initHsmToken("pkid test", hsmToken.configurationFile);
      await expect(clientFor(hsmToken.settings).client.start()).rejects.toMatchObject({
        kind: "configuration",
        message: "More than one token matches the settings.",
      });
    });

    test("a module that does not load stops the start", async () => {
      const { client } = clientFor({ ...newSoftHsm().settings, module_path: "/nonexistent.so" });
      await expect(client.start()).rejects.toMatchObject({
        kind: "configuration",
        message: "The PKCS#11 module cannot be loaded.",
      });
    });
  });

  describe("KEY-2: a key on a token", () => {
    test("a label is taken once", async () => {
      const { client } = await clientWithKey(newSoftHsm().settings);
      const wanted = {
        provider: "pkcs11",
        label: "ca",
        keyType: "ecdsa-p256",
        role: "ca",
      } as const;
      await expect(client.generate(wanted)).rejects.toMatchObject({ code: "already_exists" });
    });

    test("a type the token cannot make is refused", async () => {
      const { client } = await clientWithKey(newSoftHsm().settings);
      const wanted = { provider: "pkcs11", label: "pq", keyType: "ml-dsa-65", role: "ca" } as const;
      await expect(client.generate(wanted)).rejects.toMatchObject({ code: "key_type_unsupported" });
    });

    test("is not found under another label", async () => {
      const { client, held } = await clientWithKey(newSoftHsm().settings);
      const refusal = client.find({ ...held.ref, label: "other" });
      await expect(refusal).rejects.toMatchObject({ code: "key_unavailable" });
    });
  });
}

async function clientWithKey(
  settings: Pkcs11Settings,
  keyType: KeyHandle["keyType"] = "ecdsa-p256",
) {
  const { client, faults } = clientFor(settings);
  await client.start();
  const held = await client.generate({ provider: "pkcs11", label: "ca", keyType, role: "ca" });
  return { client, held, faults };
}

function clientFor(pkcs11: Pkcs11Settings) {
  const faults: string[] = [];
  const fault = (sentence: string, { reason = "" }: Readonly<Record<string, string | number>>) =>
    void faults.push(`${sentence} ${reason}`.trim());
  const client = new SignerClient({
    configuration: { provider: "pkcs11", pkcs11 },
    command: signerCommand,
    privateDir: newKeyStore().privateDir,
    operationTimeoutMs: pkcs11.operation_timeout_seconds * 1000,
    hooks: { fault },
    carry: noLink.request,
  });
  opened.push(client);
  return { client, faults };
}

async function signs(client: SignerClient, held: KeyHandle): Promise<boolean> {
  const message = Buffer.from("anything");
  const signature = await client.sign(ticketFor(held, "ecdsa-sha256", message), message);
  return verifies(held, "ecdsa-sha256", message, signature);
}

async function eventually(attempt: () => Promise<boolean>): Promise<boolean> {
  for (let round = 0; round < 100; round += 1) {
    if (await attempt().catch(() => false)) return true;
    await Bun.sleep(100);
  }
  return false;
}

const value = (text: string) => ({ type: "value", value: text }) as const;
