/** What every provider of key-encryption keys must do, whatever holds them. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";

import type { Wrap } from "#core/envelope.ts";
import type { KeyRef, Keys, ProviderName } from "#domain/keys.ts";

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

    if (!subject.durable) return;

    test("a KEK opens after a restart what it sealed before", async () => {
      const wrapped = await keys.keks.wrap(kek, dek);
      await keys.close();
      keys = await subject.open();
      expect(await keys.keks.unwrap(kek, wrapped)).toEqual(dek);
    });
  });
}
