/**
 * Fetches a configured secret from where it is kept: in place, on this machine, or from a server
 * (SEC-2 to SEC-4).
 */

import {
  isLocal,
  type LocalSource,
  type RemoteSource,
  type SecretSetting,
  type SecretSource,
  type Secrets,
  SecretUnavailable,
} from "#config/secret.ts";
import { Kept } from "#domain/kept.ts";

import { Attempt, type AttemptDeps, type Trust } from "./attempt.ts";
import { fromAws } from "./aws.ts";
import { awsVariables } from "./aws-credentials.ts";
import { azureVariables, fromAzure } from "./azure.ts";
import { describeLocal, probeLocal, readLocal, readMounted } from "./local.ts";
import { SourceFault } from "./unavailable.ts";
import { fromVault, vaultVariables } from "./vault.ts";

/** The secrets of one configuration. */
export class SecretSources implements Secrets {
  readonly #deps: AttemptDeps;
  readonly #kept = new Map<SecretSource, Kept<string>>();

  constructor(deps: AttemptDeps) {
    this.#deps = deps;
  }

  fresh(key: string, setting: SecretSetting | undefined): Promise<string | undefined> {
    return revealed(key, setting, (source) => fetchSecret(source, this.#deps));
  }

  recent(key: string, setting: SecretSetting | undefined): Promise<string | undefined> {
    return revealed(key, setting, (source) => this.#keptOf(source).value());
  }

  /**
   * Whether a source on this machine has something, which is not looked at; a server's is never
   * probed.
   */
  probe(key: string, source: LocalSource): void {
    try {
      probeLocal(source, this.#deps.env);
    } catch (error) {
      throw withKey(key, error);
    }
  }

  #keptOf(source: SecretSource): Kept<string> {
    const known = this.#kept.get(source);
    if (known !== undefined) return known;
    // A server that fails is left alone for a moment, however many people wait for it.
    const times = { fresh: keptSeconds, stale: keptSeconds, pause: isLocal(source) ? 0 : 2 };
    const clock = { now: this.#deps.now };
    const kept = new Kept(clock, times, () => fetchSecret(source, this.#deps));
    this.#kept.set(source, kept);
    return kept;
  }
}

async function revealed(
  key: string,
  setting: SecretSetting | undefined,
  fetched: (source: SecretSource) => Promise<string>,
): Promise<string | undefined> {
  if (setting === undefined) return undefined;
  if (setting.from === "value") return setting.value.reveal();
  try {
    return await fetched(setting.source);
  } catch (error) {
    throw withKey(key, error);
  }
}

const withKey = (key: string, error: unknown): unknown =>
  error instanceof SecretUnavailable ? new SecretUnavailable(`${key}: ${error.message}`) : error;

/**
 * Fetches a secret now: at most two attempts at a server, each within its time. Throws
 * `SecretUnavailable` when it cannot be had, is empty or is over 64 KiB.
 */
export async function fetchSecret(source: SecretSource, deps: AttemptDeps): Promise<string> {
  if (isLocal(source)) return readLocal(source, deps.env);
  const told = (why: string) =>
    new SecretUnavailable(`${describeSource(source)} cannot be had: ${why}.`);
  try {
    const secret = (await attempted(source, deps)).replace(/\r?\n$/, "");
    if (secret === "") throw told("it is empty");
    if (Buffer.byteLength(secret) > bytesMax) throw told("it is larger than 64 KiB");
    return secret;
  } catch (error) {
    if (error instanceof SourceFault) throw told(error.message);
    throw error;
  }
}

/** Names a source for messages: its type and where it points. */
export function describeSource(source: SecretSource): string {
  switch (source.type) {
    case "vault": {
      const { address, mount, path, field } = source.vault;
      return `The secret ${mount}/${path} (field ${field}) of Vault at ${address}`;
    }
    case "aws":
      return `The secret ${source.aws.secret_id} of AWS Secrets Manager`;
    case "azure":
      return `The secret ${source.azure.name} of the key vault ${source.azure.vault_url}`;
    default:
      return describeLocal(source);
  }
}

/** The variables a process must have that fetches from this server. */
export function variablesOf(source: RemoteSource): readonly string[] {
  const proxies = ["HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "NO_PROXY"];
  const ways = [...proxies, ...proxies.map((name) => name.toLowerCase())];
  switch (source.type) {
    case "vault":
      return [...vaultVariables(source.vault), ...ways];
    case "aws":
      return [...awsVariables, ...ways];
    case "azure":
      return [...azureVariables, ...ways];
    default:
      return source satisfies never;
  }
}

/** Once, and once more when the fault was one that passes. */
async function attempted(source: RemoteSource, deps: AttemptDeps): Promise<string> {
  try {
    return await once(source, deps);
  } catch (error) {
    if (!(error instanceof SourceFault) || !error.passing) throw error;
    await Bun.sleep(retryMs);
    return await once(source, deps);
  }
}

async function once(source: RemoteSource, deps: AttemptDeps): Promise<string> {
  const seconds = source.type === "vault" ? source.vault.timeout_seconds : attemptSeconds;
  const attempt = new Attempt(deps, trustOf(source, deps), seconds);
  switch (source.type) {
    case "vault":
      return await fromVault(source.vault, deps.env, attempt);
    case "aws":
      return await fromAws(source.aws, attempt);
    case "azure":
      return await fromAzure(source.azure, attempt);
    default:
      return source satisfies never;
  }
}

function trustOf(source: RemoteSource, deps: AttemptDeps): Trust {
  const file = source.type === "vault" ? source.vault.ca_file : undefined;
  if (file === undefined) return deps.trust();
  const pem = readMounted(file, certificateBytesMax);
  if (pem?.includes("-----BEGIN CERTIFICATE-----")) return { only: [pem] };
  throw new SourceFault(`the file ${file} (vault.ca_file) holds no certificates`);
}

const bytesMax = 65_536;
const certificateBytesMax = 1_048_576;
const keptSeconds = 60;
const attemptSeconds = 5;
const retryMs = 200;
