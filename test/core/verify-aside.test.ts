/** Verification beside the serving of requests: what is quick is done here, one in each turn. */

import { generateKeyPairSync, type KeyObject, sign } from "node:crypto";

import { expect, test } from "bun:test";

import { importPublicKey, verifySignatureAside } from "#core/crypto.ts";
import { nextTurn } from "#core/turns.ts";

const message = new TextEncoder().encode("what was signed");
const p256 = generateKeyPairSync("ec", { namedCurve: "P-256" });
const p384 = generateKeyPairSync("ec", { namedCurve: "P-384" });
const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 });
const oddRsa = generateKeyPairSync("rsa", { modulusLength: 2048, publicExponent: 65_539 });
const ed25519 = generateKeyPairSync("ed25519");

interface Pair {
  readonly publicKey: KeyObject;
  readonly privateKey: KeyObject;
}

const imported = ({ publicKey }: Pair) =>
  importPublicKey(publicKey.export({ type: "spki", format: "der" }));

/** A verification under way: what it has come to, and whether it has ended yet. */
function begun(pair: Pair, signed: Uint8Array = message, octets: Uint8Array = message) {
  const scheme = pair === ed25519 ? {} : { hash: "sha256" as const, padding: paddingOf(pair) };
  const signature = sign(scheme.hash ?? null, signed, pair.privateKey);
  const state = { ended: false };
  const verdict = verifySignatureAside(imported(pair), scheme, octets, signature).then((good) => {
    state.ended = true;
    return good;
  });
  return { state, verdict };
}

const paddingOf = (pair: Pair) =>
  pair === rsa || pair === oddRsa ? ("pkcs1" as const) : undefined;

/** Lets run what waits for nothing but its turn among the microtasks. */
async function microtasks(): Promise<void> {
  for (let step = 0; step < 10; step += 1) await Promise.resolve();
}

for (const [name, pair] of Object.entries({ p256, rsa, ed25519 })) {
  test(`the first signature of a turn by ${name} is verified at once, the next is handed over`, async () => {
    for (const wanted of [true, false]) {
      await nextTurn();
      const signed = wanted ? message : new Uint8Array(3);
      const [first, second] = [begun(pair, signed), begun(pair, signed)];
      await microtasks();
      expect([first.state.ended, second.state.ended]).toEqual([true, false]);
      expect([await first.verdict, await second.verdict]).toEqual([wanted, wanted]);
    }
  });
}

test("what takes longer than handing it over is handed over, however quiet it is", async () => {
  const long = new Uint8Array(16 * 1024 + 1);
  for (const slow of [() => begun(p384), () => begun(oddRsa), () => begun(p256, long, long)]) {
    await nextTurn();
    const { state, verdict } = slow();
    await microtasks();
    expect(state.ended).toBe(false);
    expect(await verdict).toBe(true);
  }
});

test("what was handed over has not used up the turn of what is quick", async () => {
  await nextTurn();
  const [slow, quick] = [begun(p384), begun(p256)];
  await microtasks();
  expect([slow.state.ended, quick.state.ended]).toEqual([false, true]);
  expect([await slow.verdict, await quick.verdict]).toEqual([true, true]);
});
