/** SLH-DSA in the signer: slow, and in nobody's way. */

import { expect, test } from "bun:test";

import { importPublicKey, verifySignature } from "#core/crypto.ts";
import { SlhDsaSecret } from "#adapters/keys/software/secrets.ts";
import { SlhDsaWork } from "#adapters/keys/software/slh-dsa.ts";
import { newKeyStore, opener } from "#test/support/keys/keystore.ts";
import { ticketFor } from "#test/support/keys/signing.ts";

test("while an SLH-DSA signature is being made, the signer makes others", async () => {
  const keys = await opener(newKeyStore())();
  try {
    const make = (keyType: "slh-dsa-sha2-128s" | "ecdsa-p256") =>
      keys.generate({ provider: "software", label: keyType, keyType, role: "ca" });
    const [slow, fast] = [await make("slh-dsa-sha2-128s"), await make("ecdsa-p256")];
    const message = Buffer.from("signed");
    const order: string[] = [];
    const signing = keys.sign(ticketFor(slow, "slh-dsa-sha2-128s", message), message);
    void signing.then(() => order.push("slow"));
    for (let count = 0; count < 5; count++) {
      await keys.sign(ticketFor(fast, "ecdsa-sha256", message), message);
      order.push("fast");
    }
    const signature = await signing;
    expect(order).toEqual(["fast", "fast", "fast", "fast", "fast", "slow"]);
    expect(signature.length).toBe(7856);
    expect(verifySignature(importPublicKey(slow.spki), {}, message, signature)).toBe(true);
  } finally {
    await keys.close();
  }
}, 60_000);

test("what would wait too long for an SLH-DSA signature is refused, and a dead worker does not hold up the rest", async () => {
  // Workers that end without an answer: nothing but the queue is of interest.
  const work = new SlhDsaWork("data:text/javascript,");
  const secret = new SlhDsaSecret("slh-dsa-sha2-128s", new Uint8Array(64));
  const asked = Array.from({ length: 18 }, () => work.sign(secret, new Uint8Array(1)));
  const ends = await Promise.allSettled(asked);
  const codes = ends.map((end) => (end.status === "rejected" ? end.reason.code : "signed"));
  expect(codes.filter((code) => code === undefined)).toHaveLength(16);
  expect(codes.slice(16)).toEqual(["overloaded", "overloaded"]);
  const next = await work.sign(secret, new Uint8Array(1)).catch((error: unknown) => error);
  expect(String(next)).toContain("without an answer");
});
