/** A KEK that is given up: what data keys open comes under a new one, and the rest is named. */

import { expect, test } from "bun:test";

import { Envelopes, keepSealed } from "#domain/envelopes/envelopes.ts";
import { Keks } from "#domain/envelopes/keks.ts";
import { placeOf } from "#domain/envelopes/places.ts";
import { type Recovered, recover } from "#domain/envelopes/recovery.ts";
import { openMemoryKeys } from "#test/support/keys/memory-keys.ts";
import { createMemoryStore } from "#test/support/stores/memory-store.ts";
import { testClock } from "#test/support/ports.ts";

const by = { actor: "local:operator" };
const secretOf = (id: number) => new TextEncoder().encode(`secret ${id}`);
const place = (id: number) => placeOf("approval", `secret ${id}`);

/** An instance with sealed values, and their data keys as an archive has them; its KEK is gone. */
async function lostWorld(count: number) {
  const [store, keys, clock] = [createMemoryStore(), openMemoryKeys(), testClock()];
  const random = {
    bytes: (length: number) => crypto.getRandomValues(new Uint8Array(length)),
    uuid: () => crypto.randomUUID(),
  };
  const keks = new Keks({ store, keys, clock, provider: "software", family: "kek" });
  const envelopes = new Envelopes({ keks, keys, random, onOperation: () => {} });
  const values = new Map<string, Uint8Array>();
  for (let id = 0; id < count; id++) {
    const value = await envelopes.seal(place(id), secretOf(id));
    await store.atomically((tx) => keepSealed(tx, value));
    values.set(value.place, await envelopes.dataKey(value));
  }
  const [lost] = await keks.versions();
  if (lost !== undefined) await keys.keks.destroy(lost.key);
  const recovered = async (given: ReadonlyMap<string, Uint8Array>) => {
    const told: Recovered[] = [];
    const made: number[] = [];
    await recover(
      { store, keys, keks, envelopes },
      {
        dataKeys: { values: given, privateKeys: new Map() },
        by,
        made: ({ version }) => void made.push(version),
        done: (all) => void told.push(all),
      },
    );
    expect(made).toEqual([2]);
    return told[0];
  };
  return { store, keks, envelopes, values, recovered };
}

test("RES-4: every value opens again, under one new version, which an event tells", async () => {
  const { store, keks, envelopes, values, recovered } = await lostWorld(205);
  expect(await recovered(values)).toMatchObject({ values: 205, shutValues: [], shutKeys: [] });
  for (const id of [0, 99, 100, 204]) {
    const value = await store.read.envelopes.at(place(id));
    expect(value && (await envelopes.open(value))).toEqual(secretOf(id));
  }
  const statuses = (await keks.versions()).map(({ version, status }) => `${version} ${status}`);
  expect(statuses).toEqual(["2 active", "1 retired"]);
  const event = store.listEvents().find(({ action }) => action === "kek.rotate");
  expect(event).toMatchObject({ actor: by.actor, detail: "old_version=1 new_version=2" });
});

test("a value without its data key, or with another's, is named, and stays as it was", async () => {
  const { store, keks, values, recovered } = await lostWorld(4);
  const before = await store.read.envelopes.at(place(1));
  values.delete(place(1));
  values.set(place(2), values.get(place(3)) ?? new Uint8Array());
  expect(await recovered(values)).toMatchObject({ values: 2, shutValues: [place(1), place(2)] });
  expect(await store.read.envelopes.at(place(1))).toEqual(before);
  const statuses = (await keks.versions()).map(({ version, status }) => `${version} ${status}`);
  expect(statuses).toEqual(["2 active", "1 retiring"]);
});
