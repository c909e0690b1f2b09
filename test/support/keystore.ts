/** A software key store in a directory of its own. */

import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { KeySettings } from "#adapters/keys/settings.ts";

/** The signer of the tests, from source. */
export const signerCommand = [process.execPath, join(import.meta.dir, "signer-entry.ts")];

/** Settings for a new, empty key store. */
export function newKeyStore(): KeySettings {
  const directory = mkdtempSync(join(tmpdir(), "pkid-keys-"));
  return {
    software: {
      keystoreDir: join(directory, "keys"),
      masterKeyFile: join(directory, "master.key"),
    },
    privateDir: join(directory, "private"),
    signerCommand,
  };
}
