/** The key contract, kept by the fake that other tests build on. */

import { singleUse } from "#adapters/keys/single-use.ts";
import { openMemoryKeys } from "#test/support/keys/memory-keys.ts";

import { keksContract } from "./keks.suite.ts";
import { keysContract } from "./keys.suite.ts";

keysContract("the memory fake", {
  provider: "software",
  keyTypes: ["ecdsa-p256", "ecdsa-p384", "ed25519"],
  open: async () => singleUse(openMemoryKeys()),
  durable: false,
});
keksContract("the memory fake", {
  provider: "software",
  open: async () => openMemoryKeys(),
  durable: false,
});
