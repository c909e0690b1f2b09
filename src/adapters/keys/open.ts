/** Puts the key adapter together: signers, and around them what every key operation passes. */

import type { Keys, ProviderName } from "#domain/keys.ts";

import { SignerClient } from "./client.ts";
import { guarded } from "./guard.ts";
import { ownSignerCommand } from "./launch.ts";
import { measured } from "./measure.ts";
import { routed } from "./route.ts";
import type { GuardSettings, KeyHooks, KeySettings, SignerConfiguration } from "./settings.ts";
import { singleUse } from "./single-use.ts";
import { verified } from "./verify.ts";

/**
 * Starts a signer for each configured provider. Throws a `LaunchFault` of kind `configuration` when a setting keeps
 * a provider from ever serving (V-11, V-12); a device that is merely away is waited for, and refused until then.
 */
export async function openKeys(settings: KeySettings, hooks: KeyHooks = {}): Promise<Keys> {
  const clients = clientsFor(settings, hooks);
  const all = Object.values(clients);
  try {
    await Promise.all(all.map((client) => client.start()));
  } catch (fault) {
    await Promise.all(all.map((client) => client.close()));
    throw fault;
  }
  // From the inside out: what is measured is the device, what is verified is its answer, and a ticket is spent
  // before it waits for its turn.
  const device = measured(routed(clients), hooks);
  return singleUse(guarded(verified(device, hooks), () => settings.guard?.() ?? usualGuard));
}

function clientsFor(
  settings: KeySettings,
  hooks: KeyHooks,
): Partial<Record<ProviderName, SignerClient>> {
  const command = settings.signerCommand ?? ownSignerCommand();
  const client = (configuration: SignerConfiguration, operationTimeoutMs: number) =>
    new SignerClient({
      ...{ configuration, command, operationTimeoutMs, hooks },
      privateDir: settings.privateDir,
    });
  const { software, pkcs11 } = settings;
  const sealed = client({ provider: "software", software }, softwareTimeoutMs);
  if (pkcs11 === undefined) return { software: sealed };
  const timeoutMs = pkcs11.operationTimeoutSeconds * 1000;
  return { software: sealed, pkcs11: client({ provider: "pkcs11", pkcs11 }, timeoutMs) };
}

const usualGuard: GuardSettings = { maxInFlight: 256, maxQueue: 1024, acquireTimeoutMs: 5000 };
const softwareTimeoutMs = 10_000;
