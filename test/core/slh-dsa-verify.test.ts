/** SLH-DSA signatures of the library that signs, verified by the code that verifies in steps. */

import { expect, test } from "bun:test";

import { importPublicKey, verifySignature, verifySignatureAside } from "#core/crypto.ts";
import { type SlhDsaSet, slhDsaSets, slhDsaSpki } from "#core/slh-dsa.ts";
import { nextTurn } from "#core/turns.ts";

const message = new TextEncoder().encode("a certificate");

for (const name of Object.keys(slhDsaSets) as SlhDsaSet[]) {
  const set = slhDsaSets[name];
  const { n, blocks } = {
    "slh-dsa-sha2-128s": { n: 16, blocks: 491 },
    "slh-dsa-sha2-192s": { n: 24, blocks: 676 },
    "slh-dsa-sha2-256s": { n: 32, blocks: 931 },
  }[name];

  test(`a ${name} signature verifies, and no changed signature does`, async () => {
    const { publicKey, secretKey } = set.keygen();
    const signature = set.sign(message, secretKey);
    const key = importPublicKey(slhDsaSpki(name, publicKey));
    const verify = (changed: Uint8Array, signed = message) =>
      verifySignature(key, {}, signed, changed);
    expect(signature.length).toBe(n * blocks);
    expect(verify(signature)).toBe(true);
    expect(await verifySignatureAside(key, {}, message, signature)).toBe(true);

    // A change in any value of the signature: randomizer, FORS trees, chains and paths.
    for (let block = 0; block < blocks; block += 5) {
      const changed = Uint8Array.from(signature);
      const at = block * n + (block % n);
      changed[at] = (changed[at] ?? 0) ^ (1 << (block % 8));
      expect([block, verify(changed)]).toEqual([block, false]);
    }
    for (const changed of [signature.subarray(1), Buffer.concat([signature, Buffer.of(0)])]) {
      expect(verify(changed)).toBe(false);
    }
    expect(verify(signature, message.subarray(1))).toBe(false);
    const other = importPublicKey(slhDsaSpki(name, set.keygen().publicKey));
    expect(verifySignature(other, {}, message, signature)).toBe(false);
  }, 60_000);
}

test("an SLH-DSA signature over a long message is verified in many ticks", async () => {
  const set = slhDsaSets["slh-dsa-sha2-128s"];
  const { publicKey, secretKey } = set.keygen();
  const key = importPublicKey(slhDsaSpki("slh-dsa-sha2-128s", publicKey));
  const chunks = Array.from({ length: 9 }, (_, at) => new Uint8Array(1024 * 1024).fill(at));
  const signature = set.sign(Buffer.concat(chunks), secretKey);
  const running = { ended: false };
  const verifying = verifySignatureAside(key, {}, chunks, signature).finally(() => {
    running.ended = true;
  });
  let ticks = 0;
  while (!running.ended) {
    await nextTurn();
    ticks++;
  }
  expect(await verifying).toBe(true);
  // Nine slices of the message, the FORS trees and seven layers.
  expect(ticks).toBeGreaterThanOrEqual(9 + 8);
  const cut = [...chunks.slice(0, 8), chunks[0] ?? message];
  expect(await verifySignatureAside(key, {}, cut, signature)).toBe(false);
}, 60_000);
