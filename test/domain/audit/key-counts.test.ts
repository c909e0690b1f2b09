/** Counted keys: their signatures are in the ledger as numbers that add up. */

import { expect, test } from "bun:test";

import { KeyCounts } from "#domain/audit/key-counts.ts";
import { Keks } from "#domain/envelopes/keks.ts";
import { openMemoryKeys } from "#test/support/keys/memory-keys.ts";
import { createMemoryStore } from "#test/support/stores/memory-store.ts";
import { testClock } from "#test/support/ports.ts";

test("a count entry holds the signatures since the last one and the total ever", async () => {
  const { store, counts, handle } = await countedWorld();
  for (let n = 0; n < 3; n++) counts.add(handle, "responder");
  await counts.write();
  counts.add(handle, "responder");
  await counts.write();
  const entries = store.listLedger();
  expect(entries.map(({ kind, count, total }) => [kind, count, total])).toEqual([
    ["count", "3", "3"],
    ["count", "1", "4"],
  ]);
  expect(entries[0]).toMatchObject({ role: "responder", operation: "sign", keyLabel: "r1" });
});

test("nothing signed writes nothing", async () => {
  const { store, counts } = await countedWorld();
  await counts.write();
  expect(store.countRows("ledger")).toBe(0);
});

test("counts that could not be written are written with the next", async () => {
  const { store, counts, handle } = await countedWorld();
  counts.add(handle, "responder");
  store.checkWrite = () => {
    throw new Error("disk");
  };
  await expect(counts.write()).rejects.toThrow("disk");
  store.checkWrite = () => {};
  counts.add(handle, "responder");
  await counts.write();
  expect(store.listLedger()[0]).toMatchObject({ count: "2", total: "2" });
});

test("a KEK's data keys are counted as decryptions, under the name its version has in the ledger", async () => {
  const { store, counts, keys } = await countedWorld();
  const keks = new Keks({ store, keys, clock: testClock(), provider: "software", family: "kek" });
  const { key } = await keks.active();
  await keks.announce();
  for (let n = 0; n < 2; n++) counts.addKek(key);
  await counts.write();
  counts.addKek({ ...key, id: "00".repeat(20) });
  await counts.write();
  const named = { role: "kek", keyLabel: "kek-v1", provider: "software" };
  const entries = store.listLedger();
  expect(entries).toMatchObject([
    { ...named, kind: "key", operation: "generate", deviceSerial: "software:memory" },
    { ...named, kind: "count", operation: "decrypt", count: "2", total: "2" },
    { ...named, kind: "count", operation: "decrypt", count: "1", total: "1" },
  ]);
  expect(entries[1]?.signerFingerprint).toBe(entries[0]?.signerFingerprint ?? "");
  expect(entries[2]?.signerFingerprint).not.toBe(entries[0]?.signerFingerprint ?? "");
});

test("a KEK is announced once, whenever the ledger began", async () => {
  const { store, keys } = await countedWorld();
  const keks = new Keks({ store, keys, clock: testClock(), provider: "software", family: "kek" });
  const first = await keks.active();
  expect(store.countRows("ledger")).toBe(0);
  await keks.announce();
  await keks.announce();
  await keks.next(first);
  await keks.announce();
  const labels = store.listLedger().map(({ kind, keyLabel }) => `${kind} ${keyLabel}`);
  expect(labels).toEqual(["key kek-v1", "key kek-v2"]);
});

async function countedWorld() {
  const store = createMemoryStore();
  const keys = openMemoryKeys();
  const counts = new KeyCounts({ store, clock: testClock(), onFailure: () => {} });
  const wanted = { label: "r1", keyType: "ecdsa-p256", role: "responder" } as const;
  return { store, counts, keys, handle: await keys.generate({ ...wanted, provider: "software" }) };
}
