/** A software key store in a directory of its own. */

import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { startSigners } from "#adapters/keys/start.ts";
import type { KeyHooks, KeySettings } from "#adapters/keys/settings.ts";
import type { ProviderName } from "#domain/key-ref.ts";
import type { KekInUse, Keys } from "#domain/keys.ts";

/** The signer of the tests, from source. */
export const signerCommand = [process.execPath, join(import.meta.dir, "signer-entry.ts")];

/**
 * Opens these keys, at every call anew, with a KEK held by `provider` under which private keys are
 * sealed.
 */
export function opener(
  settings: KeySettings,
  request: { provider?: ProviderName; hooks?: KeyHooks; hybrid?: boolean } = {},
): () => Promise<Keys> {
  const { provider = "software", hooks = {}, hybrid = false } = request;
  let active: KekInUse | undefined;
  return async () => {
    const keys = await startSigners(settings, hooks);
    if (active === undefined) {
      // Two versions, so that stores with and without a half may share a token.
      active = { ...(await newVersion(keys, hybrid ? 2 : 1, provider)), hybrid };
      if (hybrid) await keys.keks.halves.generate(active.key);
    }
    await keys.keks.use([active]);
    return keys;
  };
}

/** A KEK made by `provider`, as the active version. */
export async function newVersion(
  keys: Keys,
  version: number,
  provider: ProviderName = "software",
): Promise<KekInUse> {
  const { key } = await keys.keks.generate({ provider, label: `kek-v${version}` });
  return { version, family: "kek", status: "active", key };
}

/** Settings for a new, empty key store. */
export function newKeyStore(): KeySettings {
  const directory = mkdtempSync(join(tmpdir(), "pkid-keys-"));
  return {
    software: {
      keystore_dir: join(directory, "keys"),
      master_key_file: join(directory, "master.key"),
    },
    privateDir: join(directory, "private"),
    signerCommand,
  };
}
