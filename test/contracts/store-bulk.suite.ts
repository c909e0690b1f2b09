/** What a store guarantees about bulk issues, whoever keeps it. */

import { expect, test } from "bun:test";

import { caId } from "#core/ids.ts";
import type { BulkOperation } from "#domain/certificates/bulk-store.ts";
import type { Store } from "#domain/store.ts";
import { newSerial, noon } from "#test/support/stores/records.ts";

/** The guarantees, as tests of the store `given` holds. */
export function bulkContract(given: () => { readonly store: Store }): void {
  const operation = (): BulkOperation => ({
    id: crypto.randomUUID(),
    lineage: caId(crypto.randomUUID()),
    digest: "ab".repeat(32),
    requestedBy: "root",
    createdAt: noon,
  });
  const item = (position: number) => ({
    position,
    caId: caId(crypto.randomUUID()),
    serial: newSerial(),
  });

  test("an operation id is taken once, and keeps what it stands for", async () => {
    const { store } = given();
    const first = operation();
    expect(await store.atomically((tx) => tx.bulk.begin(first))).toBe(true);
    const again = { ...first, digest: "cd".repeat(32) };
    expect(await store.atomically((tx) => tx.bulk.begin(again))).toBe(false);
    expect(await store.read.bulk.operation(first)).toEqual(first);
    expect(await store.read.bulk.operation({ ...first, id: "none" })).toBeUndefined();
  });

  test("an item becomes one certificate, and items are read in order and in pages", async () => {
    const { store } = given();
    const key = operation();
    const items = [item(2), item(0), item(1)] as const;
    for (const one of items) {
      expect(await store.atomically((tx) => tx.bulk.settle(key, one))).toBe(true);
    }
    expect(await store.atomically((tx) => tx.bulk.settle(key, item(1)))).toBe(false);
    expect(await store.read.bulk.issued(key, 2, -1)).toEqual([items[1], items[2]]);
    expect(await store.read.bulk.issued(key, 2, 1)).toEqual([items[0]]);
    expect(await store.read.bulk.issued({ ...key, id: "other" }, 2, -1)).toEqual([]);
  });

  test("an id is another operation in another lineage", async () => {
    const { store } = given();
    const mine = operation();
    const foreign = { ...operation(), id: mine.id, digest: "cd".repeat(32) };
    expect(await store.atomically((tx) => tx.bulk.begin(mine))).toBe(true);
    expect(await store.read.bulk.operation(foreign)).toBeUndefined();
    expect(await store.atomically((tx) => tx.bulk.begin(foreign))).toBe(true);
    expect(await store.read.bulk.operation(mine)).toEqual(mine);
    const [one, other] = [item(0), item(0)];
    expect(await store.atomically((tx) => tx.bulk.settle(mine, one))).toBe(true);
    expect(await store.atomically((tx) => tx.bulk.settle(foreign, other))).toBe(true);
    expect(await store.read.bulk.issued(mine, 9, -1)).toEqual([one]);
    expect(await store.read.bulk.issued(foreign, 9, -1)).toEqual([other]);
  });

  test("a unit that fails leaves no item", async () => {
    const { store } = given();
    const key = operation();
    const failed = store.atomically(async (tx) => {
      await tx.bulk.settle(key, item(0));
      throw new Error("the certificate is not stored");
    });
    await expect(failed).rejects.toThrow("not stored");
    expect(await store.read.bulk.issued(key, 1, -1)).toEqual([]);
  });
}
