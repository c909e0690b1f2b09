/** What a provider of keys does inside the signer process. */

import type { HybridHeader, WrappedDek } from "#core/envelope.ts";
import type { KeyType, SignatureName } from "#core/x509/algorithms.ts";
import type { KeyRef } from "#domain/key-ref.ts";
import type {
  KekHandle,
  KeyHandle,
  HybridRequest,
  KekInUse,
  ListedKey,
  ProviderFacts,
} from "#domain/keys.ts";
import type { DataKeyBody, HandedOut, Resealed } from "#adapters/keys/requests.ts";

/** Names a key inside one provider. */
export type LocalRef = Pick<KeyRef, "id" | "label">;

/**
 * Whose data key is wrapped: of a value in the database, which the server seals and opens, or of a
 * private key, which it never may. What is wrapped for one does not unwrap for the other.
 */
export type DekUse = "value" | "private key";

/** What binds a wrapped data key to its use; the first is older than the second. */
export const useContext: Readonly<Record<DekUse, Buffer>> = {
  value: Buffer.from("pkid/wrap/1"),
  "private key": Buffer.from("pkid/wrap-private-key/1"),
};

/**
 * One provider. It refuses with `key_unavailable`, `key_type_unsupported`, `already_exists` or
 * `not_supported`; it throws `RestartNeeded` when only a fresh process can help.
 */
export interface SigningProvider {
  facts(): ProviderFacts;
  generate(label: string, keyType: KeyType): Promise<KeyHandle>;
  find(ref: LocalRef): Promise<KeyHandle>;
  /**
   * Fast signatures come at once, slow ones later; `message` must not be read after the call
   * returned.
   */
  sign(ref: LocalRef, algorithm: SignatureName, message: Buffer): Uint8Array | Promise<Uint8Array>;
  list(): Promise<readonly ListedKey[]>;
  /** Takes a fresh look where a key was missing; may end the process for it. */
  lookAgain(): void;
  destroy(ref: LocalRef): Promise<void>;
  generateKek(label: string): Promise<KekHandle>;
  wrap(kek: LocalRef, dek: Uint8Array, use: DekUse): Promise<WrappedDek>;
  /** Refuses with `key_unavailable`, whatever the reason. */
  unwrap(kek: LocalRef, wrapped: WrappedDek, use: DekUse): Promise<Uint8Array>;
  destroyKek(kek: LocalRef): Promise<void>;
  /** True when other signers may have data keys of private keys wrapped and unwrapped here. */
  readonly servesSigners: boolean;
  /** Undefined where private keys are the device's own business. */
  readonly sealing: PrivateKeySealing | undefined;
  /**
   * Seals a key that another CA has used, PKCS#8; the caller wipes it. Undefined where keys of
   * others never come in by this process.
   */
  readonly take: ((label: string, pkcs8: Buffer) => Promise<KeyHandle>) | undefined;
  /** Undefined where none are kept. */
  readonly halves: KekHalves | undefined;
}

/** As `MlKemHalves`, inside the signer and for either use. */
export interface KekHalves {
  generate(kek: LocalRef): Promise<string>;
  fingerprint(kek: LocalRef): Promise<string>;
  wrap(kek: LocalRef, request: HybridRequest, use: DekUse): Promise<HybridHeader>;
  unwrap(kek: LocalRef, header: HybridHeader, share: Uint8Array, use: DekUse): Promise<Uint8Array>;
  remove(kek: LocalRef): void;
}

/** Private keys sealed under a KEK. */
export interface PrivateKeySealing {
  /** Takes the versions there are, all of them. */
  use(versions: readonly KekInUse[]): void;
  /** One step of `KekKeys.reseal`. */
  reseal(version: number): Promise<Resealed>;
  /** One step of `KekKeys.handOut`: those behind the id `after`. */
  handOut(address: Uint8Array, after: string): Promise<HandedOut>;
  /** As `KekKeys.takeOver`. */
  takeOver(dataKeys: readonly DataKeyBody[]): Promise<void>;
}
