/** Emptying a token: only the right one, only when nothing needs it, and on record. */

import { beforeEach, expect, test } from "bun:test";

import { caId } from "#core/ids.ts";
import { factoryReset, type FactoryResetRequest } from "#domain/instance/factory-reset.ts";
import { Keks } from "#domain/envelopes/keks.ts";
import type { ProviderName } from "#domain/key-ref.ts";
import { rootOrigin, type SmallCa, smallCa } from "#test/support/worlds/small-ca.ts";

const serial = "token 7";
let small: SmallCa;
beforeEach(async () => {
  small = await smallCa();
  // The memory keys keep whatever they are asked to; here they are a token with a serial.
  const facts = small.keys.facts;
  small.keys.facts = async () =>
    (await facts()).map((one) => ({ ...one, provider: "pkcs11", deviceSerial: serial }));
  const list = small.keys.list;
  small.keys.list = async (provider) =>
    (await list(provider)).filter((key) => key.provider === provider);
});

const reset = (request: Partial<FactoryResetRequest> = {}, provider: ProviderName = "pkcs11") =>
  factoryReset({ ...small, provider }, rootOrigin, {
    confirm: serial,
    destroyCaKeys: false,
    destroyRetiredKeks: false,
    ...request,
  });

/** A further CA whose key is on the token. */
async function onApiToken() {
  const wanted = {
    provider: "pkcs11",
    label: "hsm-root",
    keyType: "ecdsa-p256",
    role: "ca",
  } as const;
  const { ref, spki } = await small.keys.generate(wanted);
  const id = caId(crypto.randomUUID());
  const ca = { ...small.ca, id, lineage: id, label: "hsm-root", key: ref, spki };
  await small.store.atomically((tx) => tx.cas.insert(ca));
  return ref;
}

test("keys in files, and a device of another serial, are left alone", async () => {
  await expect(reset({}, "software")).rejects.toMatchObject({ code: "not_supported" });
  await expect(reset({ confirm: "token 8" })).rejects.toMatchObject({
    code: "invalid_field",
    facts: { field: "confirm" },
  });
  expect(small.store.countRows("events")).toBe(0);
});

test("a token with keys of a CA that signs is refused with their labels, and nothing is destroyed", async () => {
  const ref = await onApiToken();
  expect(await refusalOf(reset())).toEqual(["keys_in_use", { labels: ["hsm-root"] }]);
  expect((await small.keys.find(ref)).ref).toEqual(ref);
  expect(small.store.countRows("events")).toBe(0);
});

test("when they are to go too they are destroyed, each in the ledger, and the event comes first", async () => {
  const ref = await onApiToken();
  await reset({ destroyCaKeys: true });
  expect(small.store.listEvents()).toMatchObject([
    { action: "hsm.factory_reset", result: "success", target: serial },
  ]);
  expect(small.store.listLedger().at(-1)).toMatchObject({
    kind: "key",
    operation: "destroy",
    keyLabel: "hsm-root",
  });
  await expect(small.keys.find(ref)).rejects.toMatchObject({ code: "key_unavailable" });
  // What is not on the token stays.
  expect((await small.keys.find(small.ca.key)).ref).toEqual(small.ca.key);
});

test("a token that holds the KEK is refused whatever else is asked", async () => {
  const { store, keys, clock } = small;
  const keks = new Keks({ store, keys, clock, provider: "pkcs11", family: "kek" });
  const { key } = await keks.active();
  small.keys.list = async (provider) =>
    provider === "pkcs11"
      ? [{ ...key, keyType: "aes-256", extractable: false, sensitive: true }]
      : [];
  expect(await refusalOf(reset({ destroyCaKeys: true }))).toEqual([
    "keys_in_use",
    { labels: [key.label] },
  ]);
});

test("a retired KEK on the token is refused with the way out, and destroyed when it is to go too, on record", async () => {
  const { store, keys, clock } = small;
  const family = { store, keys, clock, family: "kek" };
  const old = await new Keks({ ...family, provider: "pkcs11" }).active();
  const next = await new Keks({ ...family, provider: "software" }).next(old);
  const listed = { ...old.key, keyType: "aes-256", extractable: false, sensitive: true };
  const gone: string[] = [];
  const { destroy } = keys.keks;
  Object.assign(keys.keks, {
    destroy: async (key: typeof old.key) => {
      gone.push(key.label);
      await destroy(key);
    },
  });
  keys.list = async (provider) =>
    provider === "pkcs11" && !gone.includes(old.key.label) ? [listed] : [];
  const everything = { destroyCaKeys: true, destroyRetiredKeks: true };
  expect(await refusalOf(reset(everything))).toEqual(["keys_in_use", { labels: [old.key.label] }]);
  expect(await store.atomically((tx) => tx.envelopes.retire(old.version))).toBe(true);
  const refused = await reset({ destroyCaKeys: true }).catch((error) => error);
  expect([refused.code, refused.facts]).toEqual(["keys_in_use", { labels: [old.key.label] }]);
  expect([refused.message.includes("destroy_retired_keks"), gone]).toEqual([true, []]);
  await reset({ destroyRetiredKeks: true });
  expect(gone).toEqual([old.key.label]);
  expect(store.listLedger().at(-1)).toMatchObject({
    kind: "key",
    operation: "destroy",
    role: "kek",
    keyLabel: old.key.label,
  });
  expect(next?.key.provider).toBe("software");
  await reset({ destroyRetiredKeks: true });
});

const refusalOf = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    (error) => [error.code, error.facts],
  );
