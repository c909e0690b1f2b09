/**
 * Two replicas over one PostgreSQL and one key store: a rotation by one waits for the other, and
 * kills no key of it.
 */

import { expect, setDefaultTimeout, test } from "bun:test";

import { startSigners } from "#adapters/keys/start.ts";
import type { KeyRef } from "#domain/key-ref.ts";
import type { Keys } from "#domain/keys.ts";
import { Envelopes } from "#domain/envelopes/envelopes.ts";
import { Keks } from "#domain/envelopes/keks.ts";
import { underNewest } from "#domain/envelopes/newest.ts";
import { KekRotation } from "#domain/envelopes/rotation.ts";
import type { Store } from "#domain/store.ts";
import { rootOrigin } from "#test/support/worlds/issuance.ts";
import { newKeyStore } from "#test/support/keys/keystore.ts";
import { seededRandom, testClock } from "#test/support/ports.ts";
import { sharePostgres } from "#test/support/servers/postgres.ts";
import { newSoftHsm, softHsmModule } from "#test/support/keys/softhsm.ts";
import { postgresDatabase } from "#test/support/stores/stores.ts";

setDefaultTimeout(120_000);
const server = await sharePostgres();

/**
 * A store and its signer, as one process opens them; `hears` false: it never learns of another's
 * rotation by itself.
 */
async function replica(store: Store, settings: ReturnType<typeof newKeyStore>, hears: boolean) {
  const opened = await startSigners(settings);
  const clock = testClock();
  const random = { ...seededRandom(), uuid: () => crypto.randomUUID() };
  const keks = new Keks({ store, keys: opened, clock, provider: "software", family: "kek" });
  await keks.prepare();
  if (hears) store.onEvents(() => void keks.tell());
  const envelopes = new Envelopes({ keks, keys: opened, random, onOperation: () => {} });
  const waits: number[] = [];
  const pause = (milliseconds: number) => {
    waits.push(milliseconds);
    return Bun.sleep(Math.min(milliseconds, 20));
  };
  const rotation = new KekRotation({ store, random, keks, keys: opened, envelopes, pause });
  return { store, opened, keys: underNewest(opened, keks), keks, rotation, waits };
}

async function two({ hears = true } = {}) {
  const database = await postgresDatabase(server);
  const settings = newKeyStore();
  const one = await replica(await database.open(), settings, true);
  const other = await replica(await database.open(), settings, hears);
  const close = async () => {
    for (const { opened, store } of [one, other]) {
      await opened.close();
      await store.close();
    }
  };
  return { one, other, close, database };
}

const statuses = async ({ keks }: { readonly keks: Keks }) =>
  (await keks.versions()).map(({ version, status }) => `${version} ${status}`);
const opens = async (keys: Keys, ref: KeyRef) => expect((await keys.find(ref)).ref).toEqual(ref);
/** Takes seconds to make. */
const slow = { provider: "software", keyType: "slh-dsa-sha2-128s", role: "ca" } as const;
const quick = { provider: "software", keyType: "ecdsa-p256", role: "ca" } as const;

test("a key that one is making while the other rotates opens for both afterwards", async () => {
  const { one, other, close } = await two();
  const making = [1, 2, 3].map((number) =>
    other.keys.generate({ ...slow, label: `slow ${number}` }),
  );
  const rotated = await one.rotation.rotate(rootOrigin);
  expect(rotated).toMatchObject({ oldVersion: 1, newVersion: 2 });
  for (const { ref } of await Promise.all(making)) {
    for (const { keys } of [one, other]) await opens(keys, ref);
  }
  expect(await statuses(one)).toEqual(["2 active", "1 retired"]);
  await close();
});

test("a version is not retired before the other has heard of the next one, and everything opens until then", async () => {
  const { one, other, close } = await two({ hears: false });
  const before = await other.keys.generate({ ...quick, label: "before" });
  const silent = one.rotation.rotate(rootOrigin).then(
    () => undefined,
    (error) => error,
  );
  expect(await silent).toMatchObject({ code: "key_unavailable" });
  expect(one.waits.length).toBeGreaterThan(100);
  expect(await statuses(one)).toEqual(["2 active", "1 retiring"]);
  for (const { keys } of [one, other]) await opens(keys, before.ref);
  await other.keks.tell();
  await one.rotation.finish();
  expect(await statuses(one)).toEqual(["2 active", "1 retired"]);
  for (const { keys } of [one, other]) await opens(keys, before.ref);
  await close();
});

test("nobody waits for a replica that has ended", async () => {
  const { one, other, close } = await two({ hears: false });
  await other.store.close();
  await one.rotation.rotate(rootOrigin);
  expect(await statuses(one)).toEqual(["2 active", "1 retired"]);
  await close();
});

test("a key made by one that was cut off while its version was retired is made anew before anybody knows it", async () => {
  const { one, other, close, database } = await two({ hears: false });
  const cut = other.keys.generate({ ...slow, label: "cut off" });
  // As if the network had lost its connection: nobody waits for it, and it hears of nothing.
  await database.query(
    "select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory'",
  );
  await one.rotation.rotate(rootOrigin);
  expect(await statuses(one)).toEqual(["2 active", "1 retired"]);
  const { ref } = await cut;
  for (const { keys } of [one, other]) await opens(keys, ref);
  await close();
});

test.skipIf(softHsmModule === undefined)(
  "KEK-5: a replica whose key store lacks the half of a new version is waited for, and the old one goes on opening",
  async () => {
    const database = await postgresDatabase(server);
    const hsmToken = newSoftHsm().settings;
    const stores = [await database.open(), await database.open()] as const;
    const opened = async (store: Store) => {
      // One token, and a key store each.
      const keys = await startSigners({ ...newKeyStore(), pkcs11: hsmToken });
      const deps = {
        store,
        keys,
        clock: testClock(),
        provider: "pkcs11",
        family: "own",
      } as const;
      return { keys, plain: new Keks(deps), hybrid: new Keks({ ...deps, hybrid: true }) };
    };
    // One after the other: SoftHSM shows no token to who looks while another process begins.
    const one = await opened(stores[0]);
    const other = await opened(stores[1]);
    await one.plain.prepare();
    await other.plain.prepare();
    const first = await one.plain.active();
    const next = await one.hybrid.next(first);
    await one.hybrid.tell();
    await expect(other.hybrid.tell()).rejects.toMatchObject({ code: "key_unavailable" });
    expect(await stores[0].read.envelopes.unheard(2)).toBe(1);
    expect(await stores[0].atomically((tx) => tx.envelopes.retire(1))).toBe(false);
    expect(next).toMatchObject({ version: 2, key: { provider: "pkcs11" } });
    for (const { keys } of [one, other]) await keys.close();
    for (const store of stores) await store.close();
  },
);
