/** The store contract, kept by the fake that other tests build on. */

import { openMemoryStore } from "#test/support/memory/store.ts";

import { storeContract } from "./store.suite.ts";

storeContract("memory", async () => openMemoryStore());
