/** The key contract, kept by sealed files behind a real signer process. */

import { startSigners } from "#adapters/keys/start.ts";
import { newKeyStore, opener } from "#test/support/keys/keystore.ts";
import { node24Present } from "#test/support/encodings/node24.ts";

import { keksContract } from "./keks.suite.ts";
import { keysContract } from "./keys.suite.ts";

const settings = newKeyStore();

keysContract("sealed files", {
  provider: "software",
  keyTypes: [
    "ecdsa-p256",
    "ecdsa-p384",
    "ecdsa-p521",
    "rsa-2048",
    "rsa-3072",
    "ed25519",
    "ml-dsa-44",
    "ml-dsa-65",
    "ml-dsa-87",
    ...(node24Present ? (["slh-dsa-sha2-128s"] as const) : []),
  ],
  open: opener(settings),
  durable: true,
});
keysContract("sealed files under a KEK with an ML-KEM half", {
  provider: "software",
  keyTypes: ["ecdsa-p256", "ml-dsa-65"],
  open: opener(newKeyStore(), { hybrid: true }),
  durable: true,
});
keksContract("sealed files", {
  provider: "software",
  open: () => startSigners(settings),
  durable: true,
});
