/** What a provider of keys does inside the signer process. */

import type { KeyType, SignatureName } from "#core/x509/algorithms.ts";
import type { HeldKey, KeyRef, ListedKey, ProviderFacts } from "#domain/keys.ts";

/** Names a key inside one provider. */
export type LocalRef = Pick<KeyRef, "id" | "label">;

/**
 * One provider. It refuses with `key_unavailable`, `key_type_unsupported`, `already_exists` or `not_supported`;
 * it throws `RestartNeeded` when only a fresh process can help.
 */
export interface SigningProvider {
  facts(): ProviderFacts;
  generate(label: string, keyType: KeyType): Promise<HeldKey>;
  find(ref: LocalRef): Promise<HeldKey>;
  /** Fast signatures come at once, slow ones later; `message` must not be read after the call returned. */
  sign(ref: LocalRef, algorithm: SignatureName, message: Buffer): Uint8Array | Promise<Uint8Array>;
  list(): Promise<readonly ListedKey[]>;
  destroy(ref: LocalRef): Promise<void>;
  generateKek(label: string): Promise<KeyRef>;
  /** IV, ciphertext and tag. */
  wrap(kek: LocalRef, dek: Uint8Array): Promise<Uint8Array>;
  /** Refuses with `key_unavailable`, whatever the reason. */
  unwrap(kek: LocalRef, wrapped: Uint8Array): Promise<Uint8Array>;
  destroyKek(kek: LocalRef): Promise<void>;
}
