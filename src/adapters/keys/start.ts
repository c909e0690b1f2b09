/** Starts the key adapter: signers, and around them what every key operation passes. */

import { refuse } from "#core/problems.ts";
import type { Keys, ListedKey } from "#domain/keys.ts";
import type { ProviderName } from "#domain/key-ref.ts";

import { SignerClient } from "./client.ts";
import { guarded, Turns } from "./guard.ts";
import { ownSignerCommand } from "./launch.ts";
import { tellingLeftBehind } from "./left-behind.ts";
import { measured, publicKeyOf } from "./measure.ts";
import { routed } from "./route.ts";
import { isCarriedRequest, type CarriedRequest } from "./requests.ts";
import type { GuardSettings, KeyHooks, KeySettings } from "./settings.ts";
import { singleUse } from "./single-use.ts";
import { verified } from "./verify.ts";

/**
 * Starts a signer for each configured provider. Throws a `LaunchFault` of kind `configuration` when
 * a setting keeps a provider from ever serving (V-11, V-12); a device that is merely away is waited
 * for as long as the settings say, then refused until it is there.
 */
export async function startSigners(settings: KeySettings, hooks: KeyHooks = {}): Promise<OpenKeys> {
  const clients = clientsFor(settings, hooks);
  const all = Object.values(clients);
  try {
    await Promise.all(all.map((client) => client.start(settings.startPatienceMs)));
  } catch (fault) {
    await Promise.all(all.map((client) => client.close()));
    throw fault;
  }
  // From the inside out: what is measured is the device, what is verified is its answer, and a
  // ticket is spent before it waits for its turn.
  const raw = routed(clients);
  const proven = verified(measured(raw, hooks), hooks, publicKeyOf(raw, hooks));
  const limits = () => settings.guard?.() ?? usualGuard;
  const turns = new Turns(limits);
  return {
    ...tellingLeftBehind(singleUse(guarded(proven, limits, turns)), hooks),
    load: () => ({ inUse: turns.inUse, waiting: turns.waiting }),
    again: () => {
      for (const client of all) client.again();
    },
  };
}

/**
 * What the token holds, seen by a signer that ends with the look; nothing is made, on this machine
 * either. Empty where no token is configured. Refuses `key_unavailable` for a token that is away;
 * throws `LaunchFault` as `startSigners` does.
 */
export async function listStarted(settings: KeySettings): Promise<readonly ListedKey[]> {
  const hsmToken = tokenClient(settings, {});
  if (hsmToken === undefined) return [];
  try {
    await hsmToken.start();
    const [facts] = await hsmToken.facts();
    if (facts?.error !== undefined) throw refuse("key_unavailable", {}, facts.error);
    return await routed({ pkcs11: hsmToken }).list("pkcs11");
  } finally {
    await hsmToken.close();
  }
}

/** The keys, and what an operator may do about providers that do not serve. */
export interface OpenKeys extends Keys {
  /**
   * Reads a refused PIN again and looks for missing keys now. Presents a PIN that was refused
   * already only when the token was unlocked since (`objection` of `pkcs11/refused-pins.ts`).
   */
  again(): void;
  /** Operations under way and waiting for their turn. */
  load(): { readonly inUse: number; readonly waiting: number };
}

function clientsFor(
  settings: KeySettings,
  hooks: KeyHooks,
): Partial<Record<ProviderName, SignerClient>> {
  const command = settings.signerCommand ?? ownSignerCommand();
  const { privateDir, software, lookingOnly } = settings;
  const common = { command, privateDir, hooks, lookingOnly };
  const hsmToken = tokenClient(settings, hooks);
  const sealed = new SignerClient({
    ...common,
    configuration: { provider: "software", software, keks: [] },
    operationTimeoutMs: softwareTimeoutMs,
    carry: carrier(hsmToken, hooks),
  });
  return { software: sealed, ...(hsmToken === undefined ? {} : { pkcs11: hsmToken }) };
}

/** The signer of the token, when one is configured. */
function tokenClient(
  { signerCommand, privateDir, pkcs11, lookingOnly }: KeySettings,
  hooks: KeyHooks,
): SignerClient | undefined {
  if (pkcs11 === undefined) return undefined;
  return new SignerClient({
    command: signerCommand ?? ownSignerCommand(),
    privateDir,
    hooks,
    lookingOnly,
    configuration: { provider: "pkcs11", pkcs11 },
    carry: nothing,
    operationTimeoutMs: pkcs11.operation_timeout_seconds * 1000,
  });
}

/**
 * What the signer of software keys asks for is done by the signer of the token, and by no other.
 */
function carrier(hsmToken: SignerClient | undefined, { measured: report }: KeyHooks) {
  return async (request: CarriedRequest): Promise<unknown> => {
    if (hsmToken === undefined || !isCarriedRequest(request)) return nothing();
    const started = performance.now();
    let result = "key_unavailable";
    try {
      const served = await hsmToken.serve(request);
      result = "ok";
      return served;
    } finally {
      const seconds = (performance.now() - started) / 1000;
      if (request.operation === "kek.hand_out") report?.("decrypt", result, seconds);
    }
  };
}

const nothing = async (): Promise<never> => {
  throw refuse("key_unavailable", { retry_after: 2 });
};

const usualGuard: GuardSettings = { max_in_flight: 256, max_queue: 1024, acquire_timeout_ms: 5000 };
const softwareTimeoutMs = 10_000;
