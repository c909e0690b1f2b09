/**
 * KEKs on a token without AES-GCM: RSA with OAEP and SHA-256 where it does that, and no KEK at all
 * where it does not.
 */

import { describe, expect, test } from "bun:test";

import { startSigners } from "#adapters/keys/start.ts";
import { spkiSha256 } from "#core/x509/public-keys.ts";
import { Keks } from "#domain/envelopes/keks.ts";
import { newKeyStore, opener } from "#test/support/keys/keystore.ts";
import { createMemoryStore } from "#test/support/stores/memory-store.ts";
import { newOaepModule } from "#test/support/keys/oaep-module.ts";
import { testClock } from "#test/support/ports.ts";
import { newSoftHsm, softHsmModule } from "#test/support/keys/softhsm.ts";

import { keksContract } from "./keks.suite.ts";
import { keysContract } from "./keys.suite.ts";
import { defaultTenant } from "#core/ids.ts";

if (softHsmModule === undefined) describe.todo("KEKs by RSA: SoftHSM is not installed here");
else {
  const real = softHsmModule;
  const { settings: hsmToken } = newSoftHsm();
  const module_path = newOaepModule(real, "sha256");
  const settings = { ...newKeyStore(), pkcs11: { ...hsmToken, module_path } };

  keksContract("a token with OAEP and no AES-GCM", {
    provider: "pkcs11",
    open: () => startSigners(settings),
    durable: true,
    wraps: ["RSA-OAEP-SHA256", 384],
  });

  keysContract("sealed files under an RSA KEK on a token", {
    provider: "software",
    keyTypes: ["ecdsa-p256", "ml-dsa-44"],
    open: opener({ ...newKeyStore(), pkcs11: settings.pkcs11 }, { provider: "pkcs11" }),
    durable: true,
  });

  test("KCK-2: an RSA KEK is the instance's own key, and listed as a key that stays", async () => {
    const keys = await startSigners(settings);
    try {
      const [store, clock] = [createMemoryStore(), testClock()];
      const keks = new Keks({ store, keys, clock, provider: "pkcs11", family: "own" });
      const { key, spkiSha256: digest = "" } = await keks.active();
      const question = { spkiSha256: digest, tenant: defaultTenant, duplicate: undefined };
      expect((await store.read.keyChecks.keyStatus(question)).own).toBe(true);
      const { spki, keyType } = await keys.find(key);
      expect([keyType, spkiSha256(spki)]).toEqual(["rsa-3072", digest]);
      const listed = (await keys.list("pkcs11")).filter(({ label }) => label === "own-v1");
      expect(listed).toMatchObject([{ keyType: "rsa-3072", extractable: false, sensitive: true }]);
    } finally {
      await keys.close();
    }
  }, 60_000);

  for (const [what, hash] of [
    ["that has no OAEP with SHA-256, as SoftHSM has none", undefined],
    ["that takes SHA-256 and means SHA-1", "sha1"],
  ] as const) {
    test(`KEK-3: a token ${what}, gets no KEK, and nothing is left on it`, async () => {
      const pkcs11 = { ...hsmToken, module_path: newOaepModule(real, hash) };
      const keys = await startSigners({ ...newKeyStore(), pkcs11 });
      try {
        const before = await keys.list("pkcs11");
        const refusal = keys.keks.generate({ provider: "pkcs11", label: "refused-v1" });
        await expect(refusal).rejects.toMatchObject({ code: "not_supported" });
        await expect(refusal).rejects.toThrow("keeps no KEK");
        expect(await keys.list("pkcs11")).toEqual(before);
      } finally {
        await keys.close();
      }
    }, 60_000);
  }
}
