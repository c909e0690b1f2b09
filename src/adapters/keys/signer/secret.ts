/** Resolves a PIN or passphrase, inside the signer. */

import { readFileSync, statSync } from "node:fs";

import { LaunchFault } from "#adapters/keys/requests.ts";
import type { SecretSource } from "#adapters/keys/settings.ts";

/**
 * The secret, without a final line end. Throws a `configuration` fault when it is absent, empty, longer than
 * 4 KiB or in a file that others may read.
 */
export function resolveSecret(source: SecretSource, what: "PIN" | "passphrase"): string {
  const secret = secretFrom(source, what);
  if (secret === "") throw new LaunchFault("configuration", `The source of the ${what} is empty.`);
  return secret;
}

function secretFrom(source: SecretSource, what: string): string {
  if (source.type === "value") return source.value;
  if (source.type === "env") return takeFromEnvironment(source.name, what);
  const mode = modeOf(source.path);
  if (mode === undefined) {
    throw new LaunchFault("configuration", `The file with the ${what} cannot be read.`);
  }
  if ((mode & 0o077) !== 0 && source.allowInsecurePermissions !== true) {
    throw new LaunchFault("configuration", `The file with the ${what} is open to others.`);
  }
  const text = readFileSync(source.path, "utf8");
  if (text.length > secretBytesMax) {
    throw new LaunchFault("configuration", `The file with the ${what} is too long.`);
  }
  return text.replace(/\r?\n$/, "");
}

function takeFromEnvironment(name: string, what: string): string {
  const value = process.env[name];
  if (value === undefined) {
    throw new LaunchFault("configuration", `The environment variable with the ${what} is not set.`);
  }
  // Nothing this process starts later shall inherit it.
  delete process.env[name];
  return value;
}

function modeOf(path: string): number | undefined {
  try {
    return statSync(path).mode;
  } catch {
    return undefined; // Absent or unreachable: the caller says so in its own words.
  }
}

const secretBytesMax = 4096;
