/**
 * Keys made while the KEK is rotated: none is handed out that does not open, and none is left
 * behind.
 */

import { expect, test } from "bun:test";

import { refuse } from "#core/problems.ts";
import { underNewest } from "#domain/envelopes/newest.ts";
import { openMemoryKeys } from "#test/support/keys/memory-keys.ts";

const wanted = { provider: "software", label: "one", keyType: "ed25519", role: "ca" } as const;

/** `tell` that fails where the list says so, in its order. */
function telling(...fails: readonly boolean[]) {
  const coming = fails.values();
  return {
    tell: async () => {
      if (coming.next().value === true) throw refuse("storage_unavailable", { retry_after: 2 });
    },
  };
}

test("a key is not left behind when nobody can say whether it opens", async () => {
  const keys = openMemoryKeys();
  const made = underNewest(keys, telling(false, true, true)).generate(wanted);
  await expect(made).rejects.toMatchObject({ code: "storage_unavailable" });
  expect(keys.held.size).toBe(0);
});

test("a key under a version that was retired meanwhile is made anew, once", async () => {
  const keys = openMemoryKeys();
  const { find } = keys;
  let missing = 1;
  const shut = {
    ...keys,
    find: async (ref: Parameters<typeof find>[0]) => {
      if (missing-- > 0) throw refuse("key_unavailable", { retry_after: 2 });
      return await find(ref);
    },
  };
  const handle = await underNewest(shut, telling()).generate(wanted);
  expect([...keys.held.keys()]).toEqual([handle.ref.id]);
  missing = 2;
  const failed = underNewest(shut, telling()).generate({ ...wanted, label: "two" });
  await expect(failed).rejects.toMatchObject({ code: "key_unavailable" });
  expect([...keys.held.keys()]).toEqual([handle.ref.id]);
});
