/** ML-KEM keys in memory, by another implementation than that of the software key store. */

import { ml_kem1024 } from "@noble/post-quantum/ml-kem.js";

import { sha256Hex } from "#core/crypto.ts";
import { openUnderBoth, wrapUnderBoth } from "#core/hybrid-wrap.ts";
import { refuse } from "#core/problems.ts";
import type { KeyRef } from "#domain/key-ref.ts";
import type { MlKemHalves } from "#domain/keys.ts";

type Pair = ReturnType<typeof ml_kem1024.keygen>;

/** Creates an empty set. Tests find the key pairs in `pairs`, by the id of their KEK. */
export function createMemoryMlKem(): MlKemHalves & { readonly pairs: Map<string, Pair> } {
  const pairs = new Map<string, Pair>();
  const use = "value";
  const requirePair = ({ id }: KeyRef) => pairs.get(id) ?? unavailable();
  return {
    pairs,
    generate: async ({ id }) => {
      if (pairs.has(id)) throw refuse("already_exists", { field: "label" });
      const pair = ml_kem1024.keygen();
      pairs.set(id, pair);
      return sha256Hex(pair.publicKey);
    },
    fingerprint: async (kek) => sha256Hex(requirePair(kek).publicKey),
    wrap: async (kek, { family, version, dek, share, wrappedShare }) => {
      const { cipherText, sharedSecret } = ml_kem1024.encapsulate(requirePair(kek).publicKey);
      const pqc = { wrappedShare: wrappedShare.wrappedDek, ciphertext: cipherText };
      const terms = { kek: family, kekVersion: version, wrap: wrappedShare.wrap, pqc };
      const fresh = { dek, iv: crypto.getRandomValues(new Uint8Array(12)) };
      const secrets = { share, shared: sharedSecret };
      return { ...terms, wrappedDek: wrapUnderBoth(secrets, { terms, use }, fresh) };
    },
    unwrap: async (kek, header, share) => {
      if (header.pqc.ciphertext.length !== 1568) return unavailable();
      const shared = ml_kem1024.decapsulate(header.pqc.ciphertext, requirePair(kek).secretKey);
      const bound = { terms: header, use };
      return openUnderBoth({ share, shared }, bound, header.wrappedDek) ?? unavailable();
    },
    destroy: async ({ id }) => {
      pairs.delete(id);
    },
  };
}

function unavailable(): never {
  throw refuse("key_unavailable", { retry_after: 2 });
}
