/** Working key-encryption keys in memory. */

import { openAes256Gcm, sealAes256Gcm } from "#core/crypto.ts";
import { refuse } from "#core/problems.ts";
import type { KekKeys, KeyRef } from "#domain/keys.ts";

/** An empty set of KEKs; the secrets are laid open to tests, by id. */
export function memoryKeks(): KekKeys & { readonly secrets: Map<string, Uint8Array> } {
  const secrets = new Map<string, Uint8Array>();
  const labels = new Map<string, string>();
  const secretOf = ({ id, label }: KeyRef) => {
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
      return { provider, label, id };
    },
    wrap: async (kek, dek) => {
      const iv = crypto.getRandomValues(new Uint8Array(12));
      return Buffer.concat([iv, sealAes256Gcm(secretOf(kek), iv, new Uint8Array(), dek)]);
    },
    unwrap: async (kek, wrapped) => {
      const [iv, sealed] = [wrapped.subarray(0, 12), wrapped.subarray(12)];
      const dek = openAes256Gcm(secretOf(kek), iv, new Uint8Array(), sealed);
      if (dek === undefined) throw refuse("key_unavailable", { retry_after: 2 });
      return dek;
    },
    destroy: async ({ id }) => {
      secrets.delete(id);
      labels.delete(id);
    },
  };
}
