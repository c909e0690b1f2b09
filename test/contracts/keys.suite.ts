/** What every provider of keys must do, whatever holds them. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { generateKeyPairSync } from "node:crypto";

import { boxFor, Mailbox } from "#adapters/keys/signer/hand-over.ts";
import {
  defaultSignature,
  isPostQuantum,
  type KeyType,
  type SignatureName,
} from "#core/x509/algorithms.ts";
import type { ProviderName } from "#domain/key-ref.ts";
import type { KeyHandle, Keys } from "#domain/keys.ts";
import { opensslVerifies, ticketFor, verifies } from "#test/support/keys/signing.ts";

/** One provider under test. */
export interface KeysUnderTest {
  readonly provider: ProviderName;
  /** Key types it must be able to use. */
  readonly keyTypes: readonly KeyType[];
  /** Opens the same key store; called again after a close when `durable`. */
  readonly open: () => Promise<Keys>;
  /** Makes a key the provider will find; most simply ask `generate`. */
  readonly provide?: (label: string, keyType: KeyType) => Promise<KeyHandle>;
  /** True when keys outlive a close. */
  readonly durable: boolean;
}

/** Declares the suite for one provider. */
export function keysContract(name: string, subject: KeysUnderTest): void {
  describe(`Keys by ${name}`, () => {
    let keys: Keys;
    const made = new Map<KeyType, KeyHandle>();
    const make = (label: string, keyType: KeyType) =>
      subject.provide?.(label, keyType) ??
      keys.generate({ provider: subject.provider, label, keyType, role: "ca" });
    const one = (keyType: KeyType): KeyHandle => {
      const handle = made.get(keyType);
      if (handle === undefined) throw new Error("made by an earlier test");
      return handle;
    };
    const fastType = subject.keyTypes[0] ?? "ecdsa-p256";

    beforeAll(async () => {
      keys = await subject.open();
      for (const keyType of subject.keyTypes)
        made.set(keyType, await make(`ca ${keyType}`, keyType));
    }, 60_000);
    afterAll(() => keys.close());

    for (const keyType of subject.keyTypes) {
      for (const algorithm of algorithmsOf(keyType)) {
        test(`a ${keyType} key signs with ${algorithm}`, async () => {
          const handle = one(keyType);
          const message = Buffer.from(`signed with ${algorithm}`);
          const signature = await keys.sign(ticketFor(handle, algorithm, message), message);
          expect(verifies(handle, algorithm, message, signature)).toBe(true);
          if (isPostQuantum(keyType)) return; // The installed openssl does not know it.
          expect(opensslVerifies(handle, algorithm, message, signature)).toBe(true);
          expect(opensslVerifies(handle, algorithm, Buffer.from("other"), signature)).toBe(false);
        });
      }
    }

    test("the facts name the provider, its device and what it can hold", async () => {
      const facts = (await keys.facts()).find((each) => each.provider === subject.provider);
      expect(facts).toMatchObject({ available: true, deviceSerial: one(fastType).deviceSerial });
      expect(facts?.keyTypes).toEqual(expect.arrayContaining([...subject.keyTypes]));
    });

    test("a key is found as it was made", async () => {
      expect(await keys.find(one(fastType).ref)).toEqual(one(fastType));
    });

    test("every key is listed with what keeps it inside, as its provider says it", async () => {
      const listed = await keys.list(subject.provider);
      for (const { ref, keyType } of made.values()) {
        const its = listed.filter(({ id, label }) => id === ref.id && label === ref.label);
        expect(its).toMatchObject([{ ...ref, keyType, sensitive: true }]);
        // What the token was made to hold by others may well be free to leave, and is told so.
        expect(its[0]?.extractable).toBe(subject.provide !== undefined);
      }
    });

    test("a missing key is refused and not made anew", async () => {
      const ref = { ...one(fastType).ref, id: "00".repeat(20) };
      const message = Buffer.from("for nobody");
      const ticket = (opId: string) =>
        ticketFor(one(fastType), "ecdsa-sha256", message, { key: ref, opId });
      const refusal = expect.objectContaining({ code: "key_unavailable" });
      for (let round = 0; round < 2; round += 1) {
        await expect(keys.find(ref)).rejects.toEqual(refusal);
        await expect(keys.sign(ticket(`absent ${round}`), message)).rejects.toEqual(refusal);
      }
    });

    test("a signature over other octets than the ticket's is not made", async () => {
      const ticket = ticketFor(one(fastType), defaultSignature(fastType), Buffer.from("these"));
      await expect(keys.sign(ticket, Buffer.from("those"))).rejects.toThrow(
        "exactly the octets it was made for",
      );
    });

    test("a ticket makes one signature", async () => {
      const message = Buffer.from("once");
      const ticket = ticketFor(one(fastType), defaultSignature(fastType), message);
      await keys.sign(ticket, message);
      await expect(keys.sign(ticket, message)).rejects.toThrow("used once");
    });

    for (const keyType of subject.keyTypes.filter((name) => !name.startsWith("slh-dsa-"))) {
      test(`a ${keyType} key signs four megabytes that come in pieces`, async () => {
        const handle = one(keyType);
        const algorithm = defaultSignature(keyType);
        const whole = Buffer.alloc(4_000_000, "long");
        const pieces = [0, 1, 65_000, 600_000].map((from, at, all) =>
          whole.subarray(from, all[at + 1]),
        );
        const signature = await keys.sign(ticketFor(handle, algorithm, whole), pieces);
        expect(verifies(handle, algorithm, whole, signature)).toBe(true);
      });
    }

    test("32 signatures at once are each over their own octets", async () => {
      const handle = one(fastType);
      const algorithm = defaultSignature(fastType);
      const messages = Array.from({ length: 32 }, (_, index) => Buffer.from(`message ${index}`));
      const signatures = await Promise.all(
        messages.map((message) => keys.sign(ticketFor(handle, algorithm, message), message)),
      );
      const good = messages.map((message, index) =>
        verifies(handle, algorithm, message, signatures[index] ?? new Uint8Array()),
      );
      expect(good).toEqual(messages.map(() => true));
    });

    test("a destroyed key is gone", async () => {
      const handle = await make("short-lived", fastType);
      await keys.destroy(handle.ref);
      await expect(keys.find(handle.ref)).rejects.toMatchObject({ code: "key_unavailable" });
    });

    if (subject.provider === "software") {
      test("a private key comes in by a box for this store alone, and is the same a second time", async () => {
        const secret = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
        const pkcs8 = secret.export({ format: "der", type: "pkcs8" });
        const box = async () => boxFor(await keys.intake.address(), pkcs8, "intake");
        const take = async () => keys.intake.take({ label: "brought", box: await box() });
        const handle = await take();
        expect(handle).toMatchObject({ keyType: "ecdsa-p256", ref: { label: "brought" } });
        expect(await take()).toEqual(handle);
        expect(await keys.find(handle.ref)).toEqual(handle);
        const message = Buffer.from("signed with a key that came");
        const ticket = ticketFor(handle, "ecdsa-sha256", message);
        const signature = await keys.sign(ticket, message);
        expect(verifies(handle, "ecdsa-sha256", message, signature)).toBe(true);
      });
    }

    if (!subject.durable) return;

    if (subject.provider === "software") {
      test("a box that nobody here can open, and one without a key, are refused and leave nothing", async () => {
        const listed = async () => (await keys.list("software")).length;
        const before = await listed();
        const codeOf = (box: Uint8Array) =>
          keys.intake.take({ label: "odd", box }).then(
            () => "taken",
            (error) => error.code,
          );
        const address = await keys.intake.address();
        const whole = boxFor(address, Buffer.from("no key"), "intake");
        expect(await codeOf(whole)).toBe("bad_key");
        expect(await codeOf(whole.subarray(0, 40))).toBe("bad_key");
        const stranger = new Mailbox("intake").address;
        expect(await codeOf(boxFor(stranger, Buffer.from("x"), "intake"))).toBe("bad_key");
        const strange = generateKeyPairSync("x25519").privateKey.export({
          format: "der",
          type: "pkcs8",
        });
        expect(await codeOf(boxFor(address, strange, "intake"))).toBe("key_type_unsupported");
        expect(await listed()).toBe(before);
      });
    }

    test("keys are found again after a restart, and sign", async () => {
      await keys.close();
      keys = await subject.open();
      const handle = one(fastType);
      expect(await keys.find(handle.ref)).toEqual(handle);
      const message = Buffer.from("after the restart");
      const algorithm = defaultSignature(fastType);
      const signature = await keys.sign(ticketFor(handle, algorithm, message), message);
      expect(verifies(handle, algorithm, message, signature)).toBe(true);
    });
  });
}

function algorithmsOf(keyType: KeyType): readonly SignatureName[] {
  if (keyType.startsWith("rsa-")) return ["rsa-pkcs1-sha256", "rsa-pkcs1-sha512", "rsa-pss-sha256"];
  return [defaultSignature(keyType)];
}
