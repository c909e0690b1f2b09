/** Counted keys: their signatures are in the ledger as numbers that add up. */

import { expect, test } from "bun:test";

import { KeyCounts } from "#domain/audit/key-counts.ts";
import { openMemoryKeys } from "#test/support/memory-keys.ts";
import { openMemoryStore } from "#test/support/memory-store.ts";
import { testClock } from "#test/support/ports.ts";

test("a count entry holds the signatures since the last one and the total ever", async () => {
  const { store, counts, held } = await ground();
  for (let n = 0; n < 3; n++) counts.add(held, "responder");
  await counts.write();
  counts.add(held, "responder");
  await counts.write();
  const entries = [...store.state.ledger.values()];
  expect(entries.map(({ kind, count, total }) => [kind, count, total])).toEqual([
    ["count", "3", "3"],
    ["count", "1", "4"],
  ]);
  expect(entries[0]).toMatchObject({ role: "responder", operation: "sign", keyLabel: "r1" });
});

test("nothing signed writes nothing", async () => {
  const { store, counts } = await ground();
  await counts.write();
  expect(store.state.ledger.size).toBe(0);
});

test("counts that could not be written are written with the next", async () => {
  const { store, counts, held } = await ground();
  counts.add(held, "responder");
  store.beforeWrite = () => {
    throw new Error("disk");
  };
  await expect(counts.write()).rejects.toThrow("disk");
  store.beforeWrite = () => {};
  counts.add(held, "responder");
  await counts.write();
  expect(store.state.ledger.get(1)).toMatchObject({ count: "2", total: "2" });
});

async function ground() {
  const store = openMemoryStore();
  const keys = openMemoryKeys();
  const counts = new KeyCounts({ store, clock: testClock(), onFailure: () => {} });
  const wanted = { label: "r1", keyType: "ecdsa-p256", role: "responder" } as const;
  return { store, counts, held: await keys.generate({ ...wanted, provider: "software" }) };
}
