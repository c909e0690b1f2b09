/**
 * An NSS softokn token in a directory of its own: the second PKCS#11 module, with other habits than
 * SoftHSM.
 */

import { existsSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { Pkcs11Settings } from "#adapters/keys/settings.ts";
import type { KeyType } from "#core/x509/algorithms.ts";
import type { KeyHandle } from "#domain/keys.ts";

import { ensureAddon } from "./addon.ts";

/** Where the module is, undefined when it or `certutil` is not installed. */
export const nssModule =
  Bun.which("certutil") === null
    ? undefined
    : [
        "/usr/lib/x86_64-linux-gnu/libsoftokn3.so",
        "/usr/lib/x86_64-linux-gnu/nss/libsoftokn3.so",
        "/usr/lib/aarch64-linux-gnu/libsoftokn3.so",
        "/usr/lib64/libsoftokn3.so",
      ].find((path) => existsSync(path));

/** A token and what it takes to use it. */
export interface Nss {
  readonly settings: Pkcs11Settings;
  /**
   * Makes a key with the bare module: pkid itself refuses to make keys on a token that gives them
   * away.
   */
  provide(label: string, keyType: KeyType): Promise<KeyHandle>;
  /** How many private keys the token holds, counted by another program. */
  privateKeys(): number;
}

/** Makes a certificate database with a password. */
export function newNss(): Nss {
  if (nssModule === undefined) throw new Error("NSS is not installed");
  ensureAddon();
  const directory = mkdtempSync(join(tmpdir(), "pkid-nss-"));
  const pin = "nss-password-1";
  const passwordFile = join(directory, "password");
  writeFileSync(passwordFile, pin, { mode: 0o600 });
  const made = Bun.spawnSync(["certutil", "-N", "-d", `sql:${directory}`, "-f", passwordFile]);
  if (made.exitCode !== 0) throw new Error(made.stderr.toString());
  const names = "certPrefix='' keyPrefix='' secmod='secmod.db'";
  const settings: Pkcs11Settings = {
    module_path: nssModule,
    token_label: "NSS Certificate DB",
    session_pool_size: 2,
    pin: { type: "file", path: passwordFile },
    operation_timeout_seconds: 10,
    libraryParameters: `configdir='sql:${directory}' ${names}`,
  };
  return {
    settings,
    provide: (label, keyType) => provide(settings, label, keyType),
    privateKeys: () => {
      const command = ["certutil", "-K", "-d", `sql:${directory}`, "-f", passwordFile];
      return (
        Bun.spawnSync(command)
          .stdout.toString()
          .match(/^< *\d+>/gm)?.length ?? 0
      );
    },
  };
}

/** In a process of its own: a module keeps state that must not be shared with other tests. */
async function provide(settings: Pkcs11Settings, label: string, keyType: KeyType) {
  const script = join(import.meta.dir, "token-keygen.ts");
  const input = Buffer.from(JSON.stringify({ settings, label, keyType }));
  const child = Bun.spawn([process.execPath, script], { stdin: input, stderr: "inherit" });
  const held = JSON.parse(await new Response(child.stdout).text());
  return { ...held, spki: Uint8Array.fromBase64(held.spki) };
}
