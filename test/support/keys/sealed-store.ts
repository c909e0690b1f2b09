/**
 * A key store opened without its signer process, and key files as releases before envelopes wrote
 * them.
 */

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import type { SoftwareSettings } from "#adapters/keys/settings.ts";
import { exportSecret, type Secret, spkiOf } from "#adapters/keys/software/secrets.ts";
import { seal } from "#adapters/keys/software/seal.ts";
import { SealedKeys } from "#adapters/keys/software/store.ts";
import { refuse } from "#core/problems.ts";
import type { KeyType } from "#core/x509/algorithms.ts";
import { keyIdOf } from "#core/x509/public-keys.ts";
import type { KeyRef } from "#domain/key-ref.ts";

/** Nobody holds a KEK but the store itself. */
export const noLink = {
  request: async (): Promise<never> => {
    throw refuse("key_unavailable", { retry_after: 2 });
  },
  tally: () => {},
  note: () => {},
};

/** Opens the store with its first KEK as the active version; makes that when there is none. */
export function sealedStore(settings: SoftwareSettings): SealedKeys {
  const store = new SealedKeys(settings, noLink);
  const [known] = store.keks.list();
  const key: KeyRef = known ?? store.keks.add("kek-v1").key;
  store.ring.use([{ version: 1, family: "kek", status: "active", key }]);
  return store;
}

/** Seals a key under the master key itself, as releases before envelopes did. */
export function writeLegacyKey(
  settings: Pick<SoftwareSettings, "keystore_dir" | "master_key_file">,
  { label, keyType, secret }: { label: string; keyType: KeyType; secret: Secret },
): KeyRef {
  const storeId = readFileSync(join(settings.keystore_dir, "store-id"), "utf8");
  const id = keyIdOf(spkiOf(secret));
  const context = ["pkid/sealed-key/1", storeId, id, label, keyType];
  const sealed = seal(readFileSync(settings.master_key_file), context, exportSecret(secret));
  const file = { version: 1, id, label, key_type: keyType, sealed: sealed.toString("base64") };
  const text = `${JSON.stringify(file, undefined, 2)}\n`;
  writeFileSync(join(settings.keystore_dir, `${id}.key`), text, { mode: 0o600 });
  return { provider: "software", label, id };
}
