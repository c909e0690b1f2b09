/**
 * Resolves a PIN or passphrase, inside the signer; one that a server keeps is fetched before a
 * provider is opened.
 */

import { readFileSync, statSync } from "node:fs";

import { assert } from "#core/problems.ts";
import { LaunchFault } from "#adapters/keys/requests.ts";
import type { KeptElsewhere, SecretSource, SignerConfiguration } from "#adapters/keys/settings.ts";

/** Fetches from a server that keeps secrets; rejects with a sentence that names it. */
export type FetchSecret = (
  source: KeptElsewhere["source"],
  caFile: string | undefined,
) => Promise<string>;

/**
 * The configuration with a PIN or passphrase in place of a server that keeps it. Throws a `source`
 * fault when it cannot be had. What it was fetched with is gone from the environment afterwards.
 */
export async function withFetchedSecret(
  configuration: SignerConfiguration,
  fetchSecret: FetchSecret,
): Promise<SignerConfiguration> {
  if (configuration.provider === "pkcs11") {
    const { pkcs11 } = configuration;
    if (pkcs11.pin.type !== "remote") return configuration;
    const pin = await fetched(pkcs11.pin, "PIN", fetchSecret);
    return { ...configuration, pkcs11: { ...pkcs11, pin } };
  }
  const { software } = configuration;
  if (software.passphrase?.type !== "remote") return configuration;
  const passphrase = await fetched(software.passphrase, "passphrase", fetchSecret);
  return { ...configuration, software: { ...software, passphrase } };
}

/**
 * Reads the PIN again, as often as it is called: from its file, or from the server that keeps it.
 */
export function pinReader(
  configuration: SignerConfiguration,
  fetchSecret: FetchSecret,
): () => Promise<string> {
  const variables = variablesFor(configuration);
  return async () => {
    // What it is fetched with, or what it is itself, was taken out of the environment by the first
    // time.
    for (const [name, value] of variables) process.env[name] = value;
    const complete = await withFetchedSecret(configuration, fetchSecret);
    if (complete.provider !== "pkcs11") throw new LaunchFault("configuration", "There is no PIN.");
    return resolveSecret(complete.pkcs11.pin, "PIN");
  };
}

function variablesFor(configuration: SignerConfiguration): readonly (readonly [string, string])[] {
  if (configuration.provider !== "pkcs11") return [];
  const { pin } = configuration.pkcs11;
  const names = pin.type === "env" ? [pin.name] : [];
  return (pin.type === "remote" ? pin.variables : names).flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value] as const];
  });
}

async function fetched(
  { key, source, caFile, variables }: KeptElsewhere,
  what: string,
  fetchSecret: FetchSecret,
): Promise<SecretSource> {
  try {
    return { type: "value", value: await fetchSecret(source, caFile) };
  } catch (error) {
    const reason = `${key}: ${error instanceof Error ? error.message : String(error)}`;
    throw new LaunchFault("source", `The ${what} cannot be had from its source.`, reason);
  } finally {
    // Nothing this process starts later shall inherit a token.
    for (const name of variables) delete process.env[name];
  }
}

/**
 * The secret, without a final line end. Throws a `configuration` fault when it is absent, empty,
 * longer than 4 KiB or in a file that others may read.
 */
export function resolveSecret(source: SecretSource, what: "PIN" | "passphrase"): string {
  const secret = secretFrom(source, what);
  if (secret === "") throw new LaunchFault("configuration", `The source of the ${what} is empty.`);
  return secret;
}

function secretFrom(source: SecretSource, what: string): string {
  if (source.type === "value") return source.value;
  if (source.type === "env") return takeFromEnvironment(source.name, what);
  assert(source.type === "file", "what a server keeps is fetched before a provider is opened");
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
