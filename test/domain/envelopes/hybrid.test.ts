/**
 * Hybrid KEK versions: which wraps need both halves, what a rotation makes of them, and what
 * happens to who lacks a half.
 */

import { expect, test } from "bun:test";

import { Envelopes, keepSealed } from "#domain/envelopes/envelopes.ts";
import { halfOf } from "#domain/envelopes/hybrid.ts";
import { Keks } from "#domain/envelopes/keks.ts";
import { prepareKek } from "#domain/envelopes/known.ts";
import { placeOf } from "#domain/envelopes/places.ts";
import { KekRotation } from "#domain/envelopes/rotation.ts";
import type { SealedValue } from "#domain/envelopes/store.ts";
import type { KekInUse } from "#domain/keys.ts";
import { rootOrigin } from "#test/support/worlds/issuance.ts";
import { memoryKeks } from "#test/support/keys/memory-keks.ts";
import { createMemoryMlKem } from "#test/support/keys/memory-ml-kem.ts";
import { openMemoryKeys } from "#test/support/keys/memory-keys.ts";
import { createMemoryStore } from "#test/support/stores/memory-store.ts";
import { testClock } from "#test/support/ports.ts";

const random = {
  bytes: (length: number) => crypto.getRandomValues(new Uint8Array(length)),
  uuid: () => crypto.randomUUID(),
};
const place = placeOf("instance", "secret");
const content = new TextEncoder().encode("the secret");
const shut = { code: "key_unavailable" };

/** A process over one store and one key store, of which the parts are laid open. */
function world(hybrid: boolean) {
  const [store, halves, secrets] = [createMemoryStore(), createMemoryMlKem(), memoryKeks()];
  const told: (readonly KekInUse[])[] = [];
  const use = async (versions: readonly KekInUse[]) => {
    told.push(versions);
  };
  const keys = { ...openMemoryKeys(), keks: { ...secrets, halves, use } };
  const deps = { store, keys, clock: testClock(), provider: "software", family: "kek" } as const;
  const replica = (on: boolean) => {
    const keks = new Keks({ ...deps, hybrid: on });
    const envelopes = new Envelopes({ keks, keys, random, onOperation: () => {} });
    const parts = { store, random, keks, keys, envelopes, pause: Bun.sleep };
    return { keks, envelopes, rotation: new KekRotation(parts) };
  };
  const keep = (value: SealedValue) => store.atomically((tx) => keepSealed(tx, value));
  return { ...replica(hybrid), replica, store, keys, halves, secrets, told, keep };
}

const format = ({ envelope }: SealedValue) => JSON.parse(envelope).v;

test("what is sealed under a version with a half opens with both only", async () => {
  const { envelopes, keks, halves, secrets } = world(true);
  const value = await envelopes.seal(place, content);
  expect(format(value)).toBe(2);
  expect(await envelopes.open(value)).toEqual(content);
  const { key } = await keks.active();
  const [pair, secret] = [halves.pairs.get(key.id), secrets.secrets.get(key.id)];
  if (pair === undefined || secret === undefined) throw new Error("made with the version");
  await halves.destroy(key);
  await expect(envelopes.open(value)).rejects.toMatchObject(shut);
  // Nothing is sealed without it either.
  await expect(envelopes.seal(place, content)).rejects.toMatchObject(shut);
  await halves.generate(key);
  await expect(envelopes.open(value)).rejects.toMatchObject(shut);
  halves.pairs.set(key.id, pair);
  expect(await envelopes.open(value)).toEqual(content);
  secrets.secrets.set(key.id, random.bytes(32));
  await expect(envelopes.open(value)).rejects.toMatchObject(shut);
  secrets.secrets.set(key.id, secret);
  const parts = JSON.parse(value.envelope);
  const bare = JSON.stringify({ ...parts, v: 1, pqc: undefined });
  await expect(envelopes.open({ place, envelope: bare })).rejects.toMatchObject(shut);
});

test("switched on, the next version has a half, and a rotation brings every value under both", async () => {
  const { replica, store, keep, envelopes, told } = world(false);
  await keep(await envelopes.seal(place, content));
  const later = replica(true);
  expect(format(await later.envelopes.seal(place, content))).toBe(1);
  await later.rotation.rotate(rootOrigin);
  const value = await store.read.envelopes.at(place);
  if (value === undefined) throw new Error("kept above");
  expect([format(value), value.kekVersion]).toEqual([2, 2]);
  expect(told.at(-1)).toMatchObject([{ version: 2, hybrid: true }]);
  const off = replica(false);
  expect(await off.envelopes.open(value)).toEqual(content);
  expect(format(await off.envelopes.seal(place, content))).toBe(1);
  await off.keks.tell();
  expect(told.at(-1)).toMatchObject([{ version: 2, hybrid: false }]);
  const again = await replica(true).envelopes.rewrapped(value, await off.keks.active());
  const [before, now] = [JSON.parse(value.envelope), JSON.parse(again.envelope)];
  expect(now.ciphertext).toBe(before.ciphertext);
  expect(now.pqc.ciphertext).not.toBe(before.pqc.ciphertext);
});

test("who lost the race for a version leaves neither key nor half", async () => {
  const { keks, halves, secrets, store } = world(true);
  const first = await keks.active();
  expect(halves.pairs.size).toBe(1);
  await keks.next(first);
  expect(await keks.next(first)).toBeUndefined();
  expect([halves.pairs.size, secrets.secrets.size]).toEqual([2, 2]);
  const marks = [1, 2, 3].map((version) => halfOf(store, { version }));
  expect((await Promise.all(marks)).map((mark) => mark !== undefined)).toEqual([true, true, false]);
});

test("a version whose half cannot be made is not begun, and its key is destroyed", async () => {
  const { keks, halves, secrets } = world(true);
  const generate = halves.generate;
  halves.generate = async () => {
    throw new Error("the disk is full");
  };
  await expect(keks.active()).rejects.toThrow("the disk is full");
  expect([await keks.versions(), secrets.secrets.size]).toEqual([[], 0]);
  halves.generate = generate;
  expect((await keks.active()).version).toBe(1);
});

test("a process without the half does not say that it knows the version, and does not start", async () => {
  const { replica, keks, halves, store, keys } = world(true);
  await keks.prepare();
  await keks.announce();
  const { key } = await keks.active();
  await halves.destroy(key);
  const other = replica(true);
  await expect(other.keks.tell()).rejects.toMatchObject(shut);
  const log = { write: () => {} };
  const start = (on: boolean) =>
    prepareKek({
      store,
      keys,
      keks: replica(on).keks,
      envelopes: other.envelopes,
      log,
      labelled: true,
      usualFamily: "kek",
    });
  for (const on of [true, false]) {
    await expect(start(on)).rejects.toThrow(
      "The ML-KEM half of KEK version 1 is not in this key store",
    );
  }
  const facts = keys.facts;
  // A store that does not answer is waited for.
  keys.facts = async () => (await facts()).map((one) => ({ ...one, available: false }));
  await start(true);
});
