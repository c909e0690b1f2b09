/** Two replicas over one key store: a rotation by one leaves no key of the other behind. */

import { afterAll, expect, test } from "bun:test";

import { startSigners } from "#adapters/keys/start.ts";
import type { Keys } from "#domain/keys.ts";
import { Envelopes } from "#domain/envelopes/envelopes.ts";
import { Keks } from "#domain/envelopes/keks.ts";
import { underNewest } from "#domain/envelopes/newest.ts";
import { KekRotation } from "#domain/envelopes/rotation.ts";
import { rootOrigin } from "#test/support/worlds/issuance.ts";
import { newKeyStore } from "#test/support/keys/keystore.ts";
import { createMemoryStore } from "#test/support/stores/memory-store.ts";
import { seededRandom, testClock } from "#test/support/ports.ts";

const [settings, store, clock] = [newKeyStore(), createMemoryStore(), testClock()];
const opened: Keys[] = [];
afterAll(async () => {
  for (const keys of opened) await keys.close();
});

async function replica() {
  const keys = await startSigners(settings);
  opened.push(keys);
  const keks = new Keks({ store, keys, clock, provider: "software", family: "kek" });
  await keks.prepare();
  const random = seededRandom(String(opened.length));
  const envelopes = new Envelopes({ keks, keys, random, onOperation: () => {} });
  const rotation = new KekRotation({ store, random, keks, keys, envelopes, pause: Bun.sleep });
  return { keys: underNewest(keys, keks), rotation };
}

const wanted = { provider: "software", keyType: "ecdsa-p256", role: "ca" } as const;

test("a key made by one after the other's rotation is under the new version, and opens for both", async () => {
  const [one, two] = [await replica(), await replica()];
  const before = await two.keys.generate({ ...wanted, label: "before" });
  await one.rotation.rotate(rootOrigin);
  const after = await two.keys.generate({ ...wanted, label: "after" });
  const listed = (await one.keys.list("software")).filter(({ keyType }) => keyType !== "aes-256");
  expect(listed.map(({ label, kekVersion }) => [label, kekVersion]).sort()).toEqual([
    ["after", 2],
    ["before", 2],
  ]);
  for (const { keys } of [one, two]) {
    for (const handle of [before, after]) expect(await keys.find(handle.ref)).toEqual(handle);
  }
});

test("the other takes up a rotation with its next look", async () => {
  const [one, two] = [await replica(), await replica()];
  const handle = await one.keys.generate({ ...wanted, label: "shared" });
  await one.rotation.rotate(rootOrigin);
  await two.rotation.finish();
  expect(await two.keys.find(handle.ref)).toEqual(handle);
});
