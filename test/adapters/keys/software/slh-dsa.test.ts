/** SLH-DSA in the signer: slow, and in nobody's way. */

import { expect, test } from "bun:test";

import { importPublicKey, verifySignature } from "#core/crypto.ts";
import { openKeys } from "#adapters/keys/open.ts";
import { newKeyStore } from "#test/support/keystore.ts";
import { ticketFor } from "#test/support/signing.ts";

test("while an SLH-DSA signature is being made, the signer makes others", async () => {
  const keys = await openKeys(newKeyStore());
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
