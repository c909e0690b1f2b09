/** A SoftHSM token in a directory of its own, which a test may take away and bring back. */

import { existsSync, mkdirSync, mkdtempSync, renameSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { Pkcs11Settings } from "#adapters/keys/settings.ts";

import { ensureAddon } from "./addon.ts";

/** A token and the settings that select it. */
export interface SoftHsm {
  readonly settings: Pkcs11Settings;
  readonly pin: string;
  /** Set it in the environment of whoever loads the module. */
  readonly configurationFile: string;
  /** The token directory disappears, as a card that is pulled out. */
  pull(): void;
  plugIn(): void;
}

/** Where the module is, undefined when it is not installed. */
export const softHsmModule = [
  "/usr/lib/softhsm/libsofthsm2.so",
  "/usr/lib/x86_64-linux-gnu/softhsm/libsofthsm2.so",
  "/usr/lib/aarch64-linux-gnu/softhsm/libsofthsm2.so",
].find((path) => existsSync(path));

/**
 * Makes a token, and points this process at it through SOFTHSM2_CONF, which signers inherit. Kill
 * no signer while it logs in: SoftHSM rewrites the token file at that moment and may leave it
 * empty.
 */
export function newSoftHsm(changes: Partial<Pkcs11Settings> = {}): SoftHsm {
  if (softHsmModule === undefined) throw new Error("SoftHSM is not installed");
  ensureAddon();
  const directory = mkdtempSync(join(tmpdir(), "pkid-softhsm-"));
  const tokens = join(directory, "tokens");
  mkdirSync(tokens, { mode: 0o700 });
  const configurationFile = join(directory, "softhsm2.conf");
  const lines = [`directories.tokendir = ${tokens}`, "objectstore.backend = file"];
  writeFileSync(configurationFile, `${[...lines, "log.level = ERROR"].join("\n")}\n`);
  process.env.SOFTHSM2_CONF = configurationFile;
  initHsmToken("pkid test", configurationFile);
  return {
    pin,
    configurationFile,
    settings: {
      module_path: softHsmModule,
      token_label: "pkid test",
      session_pool_size: 2,
      pin: { type: "value", value: pin },
      operation_timeout_seconds: 10,
      ...changes,
    },
    pull: () => renameSync(tokens, `${tokens}.pulled`),
    plugIn: () => renameSync(`${tokens}.pulled`, tokens),
  };
}

/** Makes a further token beside the first. */
export function initHsmToken(label: string, configurationFile: string): void {
  const command = ["softhsm2-util", "--init-token", "--free", "--label", label];
  const made = Bun.spawnSync([...command, "--pin", pin, "--so-pin", "so-secret"], {
    env: { ...process.env, SOFTHSM2_CONF: configurationFile },
  });
  if (made.exitCode !== 0) throw new Error(made.stderr.toString());
}

const pin = "correct-pin";
