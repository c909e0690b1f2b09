/** Working key-encryption keys in memory. */

import { openAes256Gcm, sealAes256Gcm } from "#core/crypto.ts";
import { refuse } from "#core/problems.ts";
import type { KeyRef } from "#domain/key-ref.ts";
import type { KekKeys } from "#domain/keys.ts";

import { createMemoryMlKem } from "./memory-ml-kem.ts";

/** Creates an empty set of KEKs. Tests find the secrets in `secrets`, by id. */
export function memoryKeks(): KekKeys & { readonly secrets: Map<string, Uint8Array> } {
  const secrets = new Map<string, Uint8Array>();
  const labels = new Map<string, string>();
  const requireSecret = ({ id, label }: KeyRef) => {
    const secret = labels.get(id) === label ? secrets.get(id) : undefined;
    if (secret === undefined) throw refuse("key_unavailable", { retry_after: 2 });
    return secret;
  };
  return {
    secrets,
    generate: async ({ provider, label }) => {
      if ([...labels.values()].includes(label)) throw refuse("already_exists", { field: "label" });
      const id = crypto.getRandomValues(new Uint8Array(20)).toHex();
      secrets.set(id, crypto.getRandomValues(new Uint8Array(32)));
      labels.set(id, label);
      const deviceSerial = "software:memory";
      return { key: { provider, label, id }, keyType: "aes-256", spki: undefined, deviceSerial };
    },
    wrap: async (kek, dek) => {
      const iv = crypto.getRandomValues(new Uint8Array(12));
      const sealed = sealAes256Gcm(requireSecret(kek), iv, new Uint8Array(), dek);
      return { wrap: "AES-256-GCM", wrappedDek: new Uint8Array(Buffer.concat([iv, sealed])) };
    },
    unwrap: async (kek, { wrap, wrappedDek }) => {
      if (wrap !== "AES-256-GCM") throw refuse("key_unavailable", { retry_after: 2 });
      const [iv, sealed] = [wrappedDek.subarray(0, 12), wrappedDek.subarray(12)];
      const dek = openAes256Gcm(requireSecret(kek), iv, new Uint8Array(), sealed);
      if (dek === undefined) throw refuse("key_unavailable", { retry_after: 2 });
      return dek;
    },
    destroy: async ({ id }) => {
      secrets.delete(id);
      labels.delete(id);
    },
    halves: createMemoryMlKem(),
    use: async () => {},
    reseal: async () => 0,
    handOut: async () => [],
    takeOver: async () => {},
  };
}
