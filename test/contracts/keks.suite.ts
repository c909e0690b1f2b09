/** What every provider of key-encryption keys must do, whatever holds them. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";

import { randomBytes } from "node:crypto";

import type { HybridHeader, Wrap } from "#core/envelope.ts";
import { unwrapHybrid, wrapHybrid } from "#domain/envelopes/hybrid.ts";
import type { KeyRef, ProviderName } from "#domain/key-ref.ts";
import type { Keys } from "#domain/keys.ts";
import type { Random } from "#domain/ports.ts";

/** Declares the suite; `open` opens the same key store again after a close when `durable`. */
export function keksContract(
  name: string,
  subject: {
    readonly provider: ProviderName;
    readonly open: () => Promise<Keys>;
    readonly durable: boolean;
    /** What it wraps with, and how many octets that gives. */
    readonly wraps?: readonly [wrap: Wrap, octets: number];
  },
): void {
  describe(`KEKs by ${name}`, () => {
    const { provider, wraps: [how, octets] = ["AES-256-GCM", 60] as const } = subject;
    const dek = crypto.getRandomValues(new Uint8Array(32));
    let keys: Keys;
    let kek: KeyRef;
    beforeAll(async () => {
      keys = await subject.open();
      kek = (await keys.keks.generate({ provider, label: "pkid-kek-v1" })).key;
    }, 60_000);
    afterAll(() => keys.close());
    const unavailable = { code: "key_unavailable", facts: { retry_after: 2 } };

    test("a data key comes out as it went in, and is never wrapped the same way twice", async () => {
      const wrapped = await keys.keks.wrap(kek, dek);
      expect(wrapped).toMatchObject({ wrap: how, wrappedDek: { length: octets } });
      expect(await keys.keks.unwrap(kek, wrapped)).toEqual(dek);
      expect(await keys.keks.wrap(kek, dek)).not.toEqual(wrapped);
    });

    test("KEY-8: altered octets, another KEK and a missing one are one and the same refusal", async () => {
      const wrapped = await keys.keks.wrap(kek, dek);
      const { wrap, wrappedDek } = wrapped;
      const opened = (octets: Uint8Array) => keys.keks.unwrap(kek, { wrap, wrappedDek: octets });
      for (const at of [0, 12, 59, octets - 1]) {
        const altered = wrappedDek.with(at, (wrappedDek[at] ?? 0) ^ 1);
        await expect(opened(altered)).rejects.toMatchObject(unavailable);
      }
      for (const length of [octets - 1, 59, 12, 0]) {
        const cut = wrappedDek.slice(0, length);
        await expect(opened(cut)).rejects.toMatchObject(unavailable);
      }
      const instead = how === "AES-256-GCM" ? "RSA-OAEP-SHA256" : "AES-256-GCM";
      const otherwise = { wrap: instead, wrappedDek } as const;
      await expect(keys.keks.unwrap(kek, otherwise)).rejects.toMatchObject(unavailable);
      const { key: other } = await keys.keks.generate({ provider, label: "pkid-kek-v2" });
      await expect(keys.keks.unwrap(other, wrapped)).rejects.toMatchObject(unavailable);
      const missing = { ...kek, id: "00".repeat(20) };
      await expect(keys.keks.unwrap(missing, wrapped)).rejects.toMatchObject(unavailable);
      const renamed = { ...kek, label: "pkid-kek-v2" };
      await expect(keys.keks.unwrap(renamed, wrapped)).rejects.toMatchObject(unavailable);
      expect(await keys.keks.unwrap(kek, wrapped)).toEqual(dek);
    });

    test("a label is taken once", async () => {
      const again = keys.keks.generate({ provider, label: "pkid-kek-v1" });
      await expect(again).rejects.toMatchObject({ code: "already_exists" });
    });

    test("a destroyed KEK opens nothing, and its label is free", async () => {
      const { key: gone } = await keys.keks.generate({ provider, label: "short-lived" });
      const wrapped = await keys.keks.wrap(gone, dek);
      await keys.keks.destroy(gone);
      await expect(keys.keks.unwrap(gone, wrapped)).rejects.toMatchObject(unavailable);
      await keys.keks.destroy((await keys.keks.generate({ provider, label: "short-lived" })).key);
    });

    describe("KEK-5: with its ML-KEM half", () => {
      const random: Random = { bytes: randomBytes, uuid: () => crypto.randomUUID() };
      const version = () => ({ key: kek, family: "pkid-kek", version: 1 });
      const hybrid = () => wrapHybrid(keys, version(), { dek, random });
      let half: string;
      beforeAll(async () => {
        half = await keys.keks.halves.generate(kek);
      });

      test("a data key comes out as it went in, and the KEK alone gives only the share", async () => {
        const header = await hybrid();
        expect(header).toMatchObject({ kek: "pkid-kek", kekVersion: 1, wrap: how });
        expect(header.pqc).toMatchObject({ wrappedShare: { length: octets } });
        expect(header.pqc.ciphertext).toHaveLength(1568);
        expect(await unwrapHybrid(keys, { key: kek }, header)).toEqual(dek);
        const { wrap, pqc } = header;
        const share = await keys.keks.unwrap(kek, { wrap, wrappedDek: pqc.wrappedShare });
        expect(share).not.toEqual(dek);
        await expect(keys.keks.unwrap(kek, header)).rejects.toMatchObject(unavailable);
      });

      test("an altered header, another share and another KEK's half are one and the same refusal", async () => {
        const header = await hybrid();
        const { pqc, wrappedDek } = header;
        const flip = (of: Uint8Array, at: number) => of.with(at, (of[at] ?? 0) ^ 1);
        const other = await hybrid();
        const altered: readonly HybridHeader[] = [
          { ...header, kek: "pkid-ke" },
          { ...header, kekVersion: 2 },
          { ...header, wrappedDek: flip(wrappedDek, 20) },
          { ...header, pqc: { ...pqc, ciphertext: flip(pqc.ciphertext, 700) } },
          { ...header, pqc: { ...pqc, ciphertext: pqc.ciphertext.slice(1) } },
          { ...header, pqc: { ...pqc, wrappedShare: flip(pqc.wrappedShare, 20) } },
          { ...header, pqc: { ...pqc, wrappedShare: other.pqc.wrappedShare } },
          { ...header, pqc: { ...pqc, ciphertext: other.pqc.ciphertext } },
        ];
        for (const one of altered) {
          await expect(unwrapHybrid(keys, { key: kek }, one)).rejects.toMatchObject(unavailable);
        }
        const share = new Uint8Array(32);
        const guessed = keys.keks.halves.unwrap(kek, header, share);
        await expect(guessed).rejects.toMatchObject(unavailable);
      });

      test("a KEK has one half, whose fingerprint stays; without it nothing is wrapped or opened", async () => {
        const again = keys.keks.halves.generate(kek);
        await expect(again).rejects.toMatchObject({ code: "already_exists" });
        expect(await keys.keks.halves.fingerprint(kek)).toBe(half);
        const { key: bare } = await keys.keks.generate({ provider, label: "without-half" });
        const request = { key: bare, family: "f", version: 1 };
        await expect(wrapHybrid(keys, request, { dek, random })).rejects.toMatchObject(unavailable);
        await expect(keys.keks.halves.fingerprint(bare)).rejects.toMatchObject(unavailable);
        const made = await keys.keks.halves.generate(bare);
        expect(made).not.toBe(half);
        const header = await wrapHybrid(keys, request, { dek, random });
        await keys.keks.halves.destroy(bare);
        await expect(unwrapHybrid(keys, request, header)).rejects.toMatchObject(unavailable);
        await keys.keks.destroy(bare);
      });
    });

    if (!subject.durable) return;

    test("a KEK opens after a restart what it sealed before", async () => {
      const wrapped = await keys.keks.wrap(kek, dek);
      const version = { key: kek, family: "pkid-kek", version: 1 };
      const random: Random = { bytes: randomBytes, uuid: () => crypto.randomUUID() };
      const header = await wrapHybrid(keys, version, { dek, random });
      await keys.close();
      keys = await subject.open();
      expect(await unwrapHybrid(keys, version, header)).toEqual(dek);
      expect(await keys.keks.unwrap(kek, wrapped)).toEqual(dek);
    });
  });
}
