/**
 * Sealed values and the rotation of the KEK: what opens, what is refused, and what a crash in
 * between leaves.
 */

import { beforeEach, describe, expect, test } from "bun:test";

import { parseEnvelope } from "#core/envelope.ts";
import { refuse } from "#core/problems.ts";
import { Envelopes, keepSealed } from "#domain/envelopes/envelopes.ts";
import { Keks } from "#domain/envelopes/keks.ts";
import { checkKnownValue, prepareKek } from "#domain/envelopes/known.ts";
import { placeOf } from "#domain/envelopes/places.ts";
import { KekRotation } from "#domain/envelopes/rotation.ts";
import { rootOrigin } from "#test/support/worlds/issuance.ts";
import { openMemoryKeys } from "#test/support/keys/memory-keys.ts";
import { createMemoryStore } from "#test/support/stores/memory-store.ts";
import { testClock } from "#test/support/ports.ts";

function sealingWorld() {
  const [store, keys, clock] = [createMemoryStore(), openMemoryKeys(), testClock()];
  const random = {
    bytes: (length: number) => crypto.getRandomValues(new Uint8Array(length)),
    uuid: () => crypto.randomUUID(),
  };
  const counted: string[] = [];
  const keks = new Keks({ store, keys, clock, provider: "software", family: "kek" });
  const onOperation = (operation: string, succeeded: boolean) => {
    counted.push(`${operation} ${succeeded}`);
  };
  const envelopes = new Envelopes({ keks, keys, random, onOperation });
  const rotation = new KekRotation({ store, random, keks, keys, envelopes, pause: Bun.sleep });
  return { store, keys, clock, random, keks, envelopes, rotation, counted };
}

let world: ReturnType<typeof sealingWorld>;
beforeEach(() => {
  world = sealingWorld();
});

const secretOf = (id: number) => new TextEncoder().encode(`secret ${id}`);
const place = (id: number) => placeOf("instance", `secret ${String(id).padStart(4, "0")}`);
async function keep(id: number) {
  const value = await world.envelopes.seal(place(id), secretOf(id));
  await world.store.atomically((tx) => keepSealed(tx, value));
  return value;
}
async function stored(id: number) {
  const value = await world.store.read.envelopes.at(place(id));
  if (value === undefined) throw new Error("kept by the test");
  return value;
}
const statuses = async () =>
  (await world.keks.versions()).map(({ version, status }) => `${version} ${status}`);
const shut = { code: "key_unavailable" };

describe("a sealed value", () => {
  test("opens at its place, and the first one makes the KEK", async () => {
    await keep(1);
    expect(await world.envelopes.open(await stored(1))).toEqual(secretOf(1));
    expect(await world.keks.versions()).toMatchObject([
      { version: 1, status: "active", family: "kek", key: { label: "kek-v1" } },
    ]);
    expect(world.counted).toEqual(["encrypt true", "decrypt true"]);
  });

  test("moved to another row it does not open, and the refusal is that of every other reason", async () => {
    const value = await keep(1);
    const moved = world.envelopes.open({ place: place(2), envelope: value.envelope });
    await expect(moved).rejects.toMatchObject(shut);
    const damaged = world.envelopes.open({ ...value, envelope: "{}" });
    await expect(damaged).rejects.toMatchObject(shut);
    const foreign = value.envelope.replace('"kek":"kek"', '"kek":"other"');
    await expect(world.envelopes.open({ ...value, envelope: foreign })).rejects.toMatchObject(shut);
    await world.keys.keks.destroy((await world.keks.active()).key);
    await expect(world.envelopes.open(value)).rejects.toMatchObject(shut);
    expect(world.counted.filter((one) => one === "decrypt false")).toHaveLength(4);
  });

  test("a label that a crash left behind is passed over", async () => {
    await world.keys.keks.generate({ provider: "software", label: "kek-v1" });
    await keep(1);
    expect(await statuses()).toEqual(["2 active"]);
  });
});

describe("a rotation", () => {
  test("KEK-4: writes every header anew, leaves the ciphertext, and retires the old version", async () => {
    for (let id = 0; id < 250; id += 1) await keep(id);
    const before = await stored(7);
    const rotated = await world.rotation.rotate(rootOrigin);
    expect(rotated).toEqual({ family: "kek", oldVersion: 1, newVersion: 2, rewrapped: 250 });
    expect(await statuses()).toEqual(["2 active", "1 retired"]);
    const after = await stored(7);
    const [old, now] = [parseEnvelope(before.envelope), parseEnvelope(after.envelope)];
    expect(now).toMatchObject({ kekVersion: 2, ciphertext: old?.ciphertext, commit: old?.commit });
    expect(now?.wrappedDek).not.toEqual(old?.wrappedDek);
    for (const id of [0, 99, 100, 249]) {
      expect(await world.envelopes.open(await stored(id))).toEqual(secretOf(id));
    }
    await expect(world.envelopes.open(before)).rejects.toMatchObject(shut);
    const events = world.store.listEvents();
    expect(events.map(({ action, target, detail }) => ({ action, target, detail }))).toEqual([
      { action: "kek.rotate", target: "kek", detail: "old_version=1 new_version=2" },
    ]);
  });

  test("is refused while one runs", async () => {
    await keep(1);
    const first = world.rotation.rotate(rootOrigin);
    const second = world.rotation.rotate(rootOrigin);
    await expect(second).rejects.toMatchObject({ code: "operation_running" });
    await world.rotation.finish();
    expect((await first).newVersion).toBe(2);
    expect(await statuses()).toEqual(["2 active", "1 retired"]);
  });

  test("that could not begin says why, also when its KEK cannot be destroyed again", async () => {
    await keep(1);
    world.store.checkWrite = (operation) => {
      if (operation === "envelopes.begin") throw refuse("storage_unavailable");
    };
    Object.assign(world.keys.keks, { destroy: () => Promise.reject(refuse("key_unavailable")) });
    await expect(world.rotation.rotate(rootOrigin)).rejects.toMatchObject({
      code: "storage_unavailable",
    });
    expect(await statuses()).toEqual(["1 active"]);
  });

  for (const [who, go] of [
    ["the job", () => world.rotation.finish()],
    ["the next call", () => world.rotation.rotate(rootOrigin)],
  ] as const) {
    test(`stopped half-way is finished by ${who}, under the version it had begun`, async () => {
      for (let id = 0; id < 150; id += 1) await keep(id);
      let batches = 0;
      world.store.checkWrite = (operation) => {
        if (operation === "envelopes.rewrap") batches += 1;
        if (batches > 100) throw refuse("storage_unavailable", { retry_after: 1 });
      };
      const cut = world.rotation.rotate(rootOrigin);
      await expect(cut).rejects.toMatchObject({ code: "storage_unavailable" });
      world.store.checkWrite = () => {};
      expect(await statuses()).toEqual(["2 active", "1 retiring"]);
      expect(await world.store.read.envelopes.under(1, 200)).toHaveLength(50);
      for (const id of [0, 149]) {
        expect(await world.envelopes.open(await stored(id))).toEqual(secretOf(id));
      }
      await go();
      expect(await statuses()).toEqual(["2 active", "1 retired"]);
      for (const id of [0, 149]) {
        expect(await world.envelopes.open(await stored(id))).toEqual(secretOf(id));
      }
      expect(world.store.countRows("events")).toBe(1);
    });
  }

  test("whose event cannot be written changes nothing, and leaves no key behind", async () => {
    await keep(1);
    world.store.checkWrite = (operation) => {
      if (operation === "audit.appendEvent")
        throw refuse("storage_unavailable", { retry_after: 1 });
    };
    const lost = world.rotation.rotate(rootOrigin);
    await expect(lost).rejects.toMatchObject({ code: "storage_unavailable" });
    world.store.checkWrite = () => {};
    expect(await statuses()).toEqual(["1 active"]);
    expect((await world.rotation.rotate(rootOrigin)).newVersion).toBe(2);
  });

  test("whose commit is made late, its answer lost, keeps the key of the version it has begun", async () => {
    await keep(1);
    const { atomically } = world.store;
    let late: (() => Promise<unknown>) | undefined;
    // The unit is under way in the database when its caller is told that nobody knows; it ends
    // before the next one begins.
    Object.assign(world.store, {
      atomically: async (unit: Parameters<typeof atomically>[0]) => {
        if (late === undefined) {
          late = () => atomically(unit);
          throw refuse("storage_unavailable", { retry_after: 1 });
        }
        await late();
        late = async () => {};
        return await atomically(unit);
      },
    });
    const lost = world.rotation.rotate(rootOrigin);
    await expect(lost).rejects.toMatchObject({ code: "storage_unavailable" });
    await keep(2);
    Object.assign(world.store, { atomically });
    await world.rotation.finish();
    expect(await statuses()).toEqual(["2 active", "1 retired"]);
    for (const id of [1, 2]) {
      expect(await world.envelopes.open(await stored(id))).toEqual(secretOf(id));
    }
  });

  test("moves to another provider and label, and numbers go on", async () => {
    await keep(1);
    const { store, keys, clock, random } = world;
    const keks = new Keks({ store, keys, clock, provider: "pkcs11", family: "pkid-kek" });
    const envelopes = new Envelopes({ keks, keys, random, onOperation: () => {} });
    expect(await envelopes.open(await stored(1))).toEqual(secretOf(1));
    const rotation = new KekRotation({ store, random, keks, keys, envelopes, pause: Bun.sleep });
    expect((await rotation.rotate(rootOrigin)).family).toBe("pkid-kek");
    const key = { provider: "pkcs11", label: "pkid-kek-v2" };
    expect(await keks.versions()).toMatchObject([{ version: 2, key }, { status: "retired" }]);
    expect(await envelopes.open(await stored(1))).toEqual(secretOf(1));
  });

  test("what was sealed under the old version and comes too late is refused, not lost", async () => {
    const late = await world.envelopes.seal(place(1), secretOf(1));
    await world.rotation.rotate(rootOrigin);
    const kept = world.store.atomically((tx) => keepSealed(tx, late));
    await expect(kept).rejects.toMatchObject(shut);
  });
});

describe("V-12: the known value", () => {
  const said: string[] = [];
  const check = async (labelled = false) => {
    const log = { write: (_level: string, message: string) => void said.push(message) };
    const known = { ...world, labelled, usualFamily: "kek", log };
    await prepareKek(known);
    await checkKnownValue(known);
  };

  test("is sealed at the first start, and opens at every later one, also after a rotation", async () => {
    await check();
    await check();
    await world.rotation.rotate(rootOrigin);
    await check();
    expect(await world.store.read.envelopes.count()).toBe(1);
  });

  test("keeps pkid from starting when it does not open though the provider answers", async () => {
    await check();
    await world.keys.keks.destroy((await world.keks.active()).key);
    await expect(check()).rejects.toThrow("restore the KEK");
  });

  test("is waited for while the provider is away", async () => {
    await check();
    await world.keys.keks.destroy((await world.keks.active()).key);
    const [facts] = await world.keys.facts();
    if (facts === undefined) throw new Error("the memory keys have one provider");
    world.keys.facts = async () => [{ ...facts, available: false }];
    await check();
    expect(said).toContain("kek_unavailable");
  });

  test("an instance does not begin without a KEK, and one that has begun waits for it", async () => {
    world.keys.keks.generate = async () => {
      throw refuse("key_unavailable", { retry_after: 2 });
    };
    await expect(check()).rejects.toThrow("The first KEK cannot be made");
    await world.store.atomically((tx) =>
      tx.audit.appendLedger({ kind: "genesis", timestamp: "2027-01-01T00:00:00.000000Z" }),
    );
    await check();
    expect(said).toContain("kek_unavailable");
  });

  test("under a label that is no longer set, or a provider that is gone, is a wrong setting", async () => {
    const { store, keys, clock } = world;
    const labelled = new Keks({ store, keys, clock, provider: "software", family: "pkid-kek" });
    await labelled.active();
    await check(true);
    await expect(check(false)).rejects.toThrow("secret.kek_label must be set");
    world.keys.facts = async () => [];
    await expect(check(true)).rejects.toThrow("not configured");
  });
});
