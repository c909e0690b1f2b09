/**
 * The secrets of one configuration, reached through the network this instance speaks with
 * everybody.
 */

import { readFileSync } from "node:fs";

import { askServer, OutboundFault } from "#adapters/network/outbound.ts";
import type { Ask } from "#adapters/secrets/attempt.ts";
import { fetchSecret, SecretSources } from "#adapters/secrets/sources.ts";
import { systemClock } from "#adapters/system.ts";
import type { Environment } from "#config/environment.ts";
import type { Config } from "#config/schema.ts";
import type { RemoteSource } from "#config/secret.ts";

/** Opens them; no source is asked before somebody wants its secret. */
export const openSecrets = (
  { outbound }: { readonly outbound: Pick<Config["outbound"], "ca_file"> },
  env: Environment = process.env,
): SecretSources => new SecretSources({ ...reach, env, trust: () => trusted(outbound.ca_file) });

/** A secret for a process that has no configuration: the signer. `caFile` is `outbound.ca_file`. */
export const fetchRemote = (source: RemoteSource, caFile: string | undefined): Promise<string> =>
  fetchSecret(source, { ...reach, env: process.env, trust: () => trusted(caFile) });

const ask: Ask = async ({ url, init, timeoutSeconds, bytesMax, trust }) => {
  try {
    const limits = { timeoutSeconds, bytesMax };
    const { status, octets } = await askServer(url, init, limits, trust);
    return { status, octets };
  } catch (error) {
    if (error instanceof OutboundFault) return { fault: error.message };
    throw error;
  }
};

const trusted = (caFile: string | undefined): readonly string[] =>
  caFile === undefined ? [] : [readFileSync(caFile, "utf8")];

const reach = { ask, now: () => systemClock.now() };
