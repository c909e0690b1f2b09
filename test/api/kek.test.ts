/** The key-encryption key in JSON, through the pipeline. */

import { askJson, openPipeline } from "#test/support/worlds/asking.ts";
import { expect, test } from "bun:test";

import { kekHandlers } from "#api/kek.ts";
import { Envelopes, keepSealed } from "#domain/envelopes/envelopes.ts";
import { Keks } from "#domain/envelopes/keks.ts";
import { placeOf } from "#domain/envelopes/places.ts";
import { KekRotation } from "#domain/envelopes/rotation.ts";
import { issuanceWorld, rootOrigin } from "#test/support/worlds/issuance.ts";

const { store, keys, clock, random } = issuanceWorld();
const keks = new Keks({ store, keys, clock, provider: "software", family: "kek" });
const envelopes = new Envelopes({ keks, keys, random, onOperation: () => {} });
const rotation = new KekRotation({ store, random, keks, keys, envelopes, pause: Bun.sleep });
const handlers = kekHandlers({ store, keys, random, keks, envelopes, rotation });
const perform = openPipeline({ store, clock });

async function call(operation: keyof typeof handlers, body?: unknown) {
  const asked = { operation, origin: rootOrigin, path: {}, query: new URLSearchParams() };
  const answer = await askJson(perform, { ...asked, body: async () => body }, handlers[operation]);
  return answer.body;
}

test("what is sealed under a version is tried page by page, and what does not open is named", async () => {
  const own = issuanceWorld();
  const theirs = new Keks({ ...own, provider: "software", family: "kek" });
  const sealing = new Envelopes({ ...own, keks: theirs, onOperation: () => {} });
  const tried = kekHandlers({ ...own, keks: theirs, envelopes: sealing, rotation })["kek.try"];
  const ask = async (body: object) => {
    const asked = { operation: "kek.try", origin: rootOrigin, path: {} } as const;
    const through = openPipeline({ ...own });
    const query = new URLSearchParams();
    return (await askJson(through, { ...asked, query, body: async () => body }, tried)).body;
  };
  for (let n = 0; n < 150; n++) {
    const place = placeOf("instance", `value-${String(n).padStart(3, "0")}`);
    const value = await sealing.seal(place, Buffer.from(`secret ${n}`));
    const kept = n === 120 ? { ...value, envelope: altered(value.envelope) } : value;
    await own.store.atomically((tx) => keepSealed(tx, kept));
  }
  const first = await ask({ version: 1 });
  expect(first).toEqual({
    tried: 100,
    shut: [],
    shut_keys: [],
    next: "instance/value/value-099",
  });
  expect(await ask({ version: 1, after: "instance/value/value-099" })).toEqual({
    tried: 50,
    shut: ["instance/value/value-120"],
    shut_keys: [],
  });
  await own.keys.keks.destroy((await theirs.active()).key);
  expect((await ask({ version: 1 })) as object).toMatchObject({
    tried: 100,
    shut: { length: 100 },
  });
  expect(await ask({ version: 2 })).toEqual({ tried: 0, shut: [], shut_keys: [] });
});

test("before the first value there is no KEK, then its versions are listed newest first", async () => {
  await expect(call("kek.show")).rejects.toMatchObject({ code: "feature_disabled" });
  await keks.active();
  expect(await call("kek.rotate")).toEqual({
    kek_label: "kek",
    old_version: 1,
    new_version: 2,
    rewrapped: 0,
  });
  await expect(call("kek.rotate", { force: true })).rejects.toMatchObject({
    code: "unknown_field",
  });
  const created_at = expect.stringMatching(/Z$/);
  expect(await call("kek.show")).toEqual({
    kek_label: "kek",
    provider: "software",
    version: 2,
    wrapped_keys: 0,
    versions: [
      { version: 2, status: "active", created_at },
      { version: 1, status: "retired", created_at },
    ],
  });
});

/** Well-formed still: another first character of what is sealed. */
const altered = (envelope: string): string =>
  envelope.replace(/(?<="ciphertext":")./, (first) => (first === "A" ? "B" : "A"));
