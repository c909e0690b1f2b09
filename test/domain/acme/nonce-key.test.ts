/** The key of nonces, which a restore changes. */

import { test } from "bun:test";

import { systemClock, systemRandom } from "#adapters/system.ts";
import { nonceKey } from "#domain/acme/nonce-key.ts";
import { Nonces } from "#domain/acme/nonces.ts";
import { nonceEpochName } from "#domain/acme/voided.ts";
import { expectRefusal } from "#test/support/expect-refusal.ts";
import { bindingWorld } from "#test/support/worlds/binding.ts";

test.each([
  ["made here", undefined],
  ["configured", Buffer.alloc(32, 7)],
])(
  "RES-2: nonces of before a restore are none, used or not, under a key that is %s",
  async (_, configured) => {
    const { store, envelopes } = await bindingWorld();
    const deps = { store, envelopes, random: systemRandom, configured: async () => configured };
    const nonces = async () =>
      new Nonces({ ...deps, clock: systemClock, key: await nonceKey(deps) });
    const before = await nonces();
    const [used, kept] = [before.fresh(), before.fresh()];
    await before.use(used);
    // Another start without a restore.
    await (await nonces()).use(before.fresh());
    await store.atomically((tx) => tx.instance.setValue(nonceEpochName, "another"));
    const after = await nonces();
    for (const one of [used, kept]) await expectRefusal(after.use(one), "acme_bad_nonce", {});
    await after.use(after.fresh());
  },
);
