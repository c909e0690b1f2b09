/** The key-encryption key in JSON, through the pipeline. */

import { askJson, openPipeline } from "#test/support/worlds/asking.ts";
import { expect, test } from "bun:test";

import { kekHandlers } from "#api/kek.ts";
import { Envelopes } from "#domain/envelopes/envelopes.ts";
import { Keks } from "#domain/envelopes/keks.ts";
import { KekRotation } from "#domain/envelopes/rotation.ts";
import { issuanceWorld, rootOrigin } from "#test/support/worlds/issuance.ts";

const { store, keys, clock, random } = issuanceWorld();
const keks = new Keks({ store, keys, clock, provider: "software", family: "kek" });
const envelopes = new Envelopes({ keks, keys, random, onOperation: () => {} });
const rotation = new KekRotation({ store, random, keks, keys, envelopes, pause: Bun.sleep });
const handlers = kekHandlers({ store, keys, keks, rotation });
const perform = openPipeline({ store, clock });

async function call(operation: keyof typeof handlers, body?: unknown) {
  const asked = { operation, origin: rootOrigin, path: {}, query: new URLSearchParams() };
  const answer = await askJson(perform, { ...asked, body: async () => body }, handlers[operation]);
  return answer.body;
}

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
