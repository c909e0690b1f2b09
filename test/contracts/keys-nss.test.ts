/** The key contract, kept by an NSS token for keys that are there; pkid makes none on it. */

import { describe, expect, test } from "bun:test";

import { startSigners } from "#adapters/keys/start.ts";
import { newKeyStore } from "#test/support/keys/keystore.ts";
import { newNss, nssModule } from "#test/support/keys/nss.ts";

import { keysContract } from "./keys.suite.ts";

if (nssModule === undefined) describe.todo("Keys by NSS softokn: it is not installed here");
else {
  const nss = newNss();
  const settings = { ...newKeyStore(), pkcs11: nss.settings };
  keysContract("NSS softokn", {
    provider: "pkcs11",
    keyTypes: ["ecdsa-p256", "ecdsa-p384", "rsa-2048"],
    open: () => startSigners(settings),
    provide: nss.provide,
    durable: true,
  });

  test("KEY-2: on a token that gives new keys away none is made", async () => {
    const hsmToken = newNss();
    const keys = await startSigners({ ...newKeyStore(), pkcs11: hsmToken.settings });
    for (const keyType of ["ecdsa-p256", "rsa-2048"] as const) {
      const wanted = { provider: "pkcs11", label: "ca", keyType, role: "ca" } as const;
      const refusal = keys.generate(wanted);
      await expect(refusal).rejects.toMatchObject({ code: "not_supported" });
      await expect(refusal).rejects.toThrow(/it was destroyed/);
    }
    // Whatever wraps there can be asked to give away what it wrapped; so neither AES nor RSA will
    // do.
    const kek = keys.keks.generate({ provider: "pkcs11", label: "kek-v1" });
    await expect(kek).rejects.toMatchObject({ code: "not_supported" });
    await expect(kek).rejects.toThrow(/it was destroyed/);
    expect(await keys.list("pkcs11")).toEqual([]);
    await keys.close();
    expect(hsmToken.privateKeys()).toBe(0);
  }, 60_000);
}
