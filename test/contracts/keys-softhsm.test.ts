/** The key contract, kept by a SoftHSM token behind a real signer process. */

import { describe } from "bun:test";

import { startSigners } from "#adapters/keys/start.ts";
import { newKeyStore, opener } from "#test/support/keys/keystore.ts";
import { newSoftHsm, softHsmModule } from "#test/support/keys/softhsm.ts";

import { keksContract } from "./keks.suite.ts";
import { keysContract } from "./keys.suite.ts";

if (softHsmModule === undefined) describe.todo("Keys by SoftHSM: it is not installed here");
else {
  const settings = { ...newKeyStore(), pkcs11: newSoftHsm().settings };
  keysContract("SoftHSM", {
    provider: "pkcs11",
    keyTypes: ["ecdsa-p256", "ecdsa-p384", "ecdsa-p521", "rsa-2048", "rsa-3072", "ed25519"],
    open: () => startSigners(settings, { fault: (...words) => console.error(...words) }),
    durable: true,
  });
  keysContract("sealed files under a KEK on a SoftHSM token", {
    provider: "software",
    keyTypes: ["ecdsa-p256", "rsa-2048", "ed25519", "ml-dsa-65"],
    open: opener(
      { ...newKeyStore(), pkcs11: settings.pkcs11 },
      { provider: "pkcs11", hooks: { fault: (...words) => console.error(...words) } },
    ),
    durable: true,
  });
  keysContract("sealed files under a KEK on a SoftHSM token with an ML-KEM half", {
    provider: "software",
    keyTypes: ["ecdsa-p256"],
    open: opener(
      { ...newKeyStore(), pkcs11: settings.pkcs11 },
      { provider: "pkcs11", hybrid: true, hooks: { fault: (...words) => console.error(...words) } },
    ),
    durable: true,
  });
  const open = () => startSigners(settings);
  keksContract("SoftHSM", { provider: "pkcs11", open, durable: true });
}
