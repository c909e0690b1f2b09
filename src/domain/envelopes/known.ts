/** Proves at start that the KEK still opens what it sealed (V-12). */

import { equalInConstantTime } from "#core/crypto.ts";
import { Problem } from "#core/problems.ts";
import type { Keys } from "#domain/keys.ts";
import type { Log } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";
import { type Envelopes, keepSealed } from "./envelopes.ts";
import { hasItsHalf, type Keks } from "./keks.ts";
import { placeOf } from "./places.ts";

export interface KnownValueDeps {
  readonly store: Store;
  readonly keys: Keys;
  readonly keks: Keks;
  readonly envelopes: Envelopes;
  readonly log: Log;
  /** True when `secret.kek_label` is set. */
  readonly labelled: boolean;
  /** The label family used without it. */
  readonly usualFamily: string;
}

/** Why the KEK keeps pkid from starting. */
export class KekUnusable extends Error {
  override readonly name = "KekUnusable";
}

/**
 * Makes the first KEK and tells the key stores which versions there are, so that private keys can
 * be opened and made. Throws `KekUnusable` when values are sealed under a label that is not set any
 * more or under a provider that is not configured, when the ML-KEM half of a version is not here,
 * and when an instance would begin without a KEK. A provider that is merely away is else no reason
 * not to start.
 */
export async function prepareKek(deps: KnownValueDeps): Promise<void> {
  await checkSettings(deps);
  await checkHalves(deps);
  const { store, keks, log } = deps;
  try {
    await keks.prepare();
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    // What an instance is made of is sealed from its first moment on.
    if ((await store.read.audit.ledgerHead()).seq === 0) {
      throw new KekUnusable(`The first KEK cannot be made: ${error.message}`);
    }
    log.write("warn", "kek_unavailable", { ...(await keks.holder()), code: error.code });
  }
}

/**
 * Seals a known value at the first start and opens it at every later one. Throws `KekUnusable` when
 * the provider answers and the value does not open. A provider that is merely away is no reason not
 * to start.
 */
export async function checkKnownValue(deps: KnownValueDeps): Promise<void> {
  const { store, keys, keks, envelopes, log } = deps;
  const value = await store.read.envelopes.at(place);
  try {
    if (value === undefined) {
      const sealed = await envelopes.seal(place, content);
      await store.atomically((tx) => keepSealed(tx, sealed));
      return;
    }
    if (equalInConstantTime(await envelopes.open(value), content)) return;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    const { provider } = await keks.holder();
    const facts = (await keys.facts()).find((one) => one.provider === provider);
    if (value === undefined || facts?.available !== true) {
      log.write("warn", "kek_unavailable", { provider, code: error.code });
      return;
    }
  }
  throw new KekUnusable("The KEK does not open the value it sealed; restore the KEK.");
}

async function checkSettings({ keys, keks, labelled, usualFamily }: KnownValueDeps): Promise<void> {
  const inUse = (await keks.versions()).filter(({ status }) => status !== "retired");
  if (!labelled && inUse.some(({ family }) => family !== usualFamily)) {
    throw new KekUnusable("secret.kek_label must be set: values are sealed under it.");
  }
  const configured = new Set((await keys.facts()).map(({ provider }) => provider));
  if (inUse.some(({ key }) => !configured.has(key.provider))) {
    throw new KekUnusable(
      "The provider of the KEK is not configured, and values are sealed under it.",
    );
  }
}

/** KEK-5: what both halves seal opens with neither alone. */
async function checkHalves(deps: KnownValueDeps): Promise<void> {
  const { keys, keks } = deps;
  for (const version of await keks.versions()) {
    if (version.status === "retired" || (await hasItsHalf(deps, version))) continue;
    const facts = (await keys.facts()).find(({ provider }) => provider === "software");
    if (facts?.available !== true) return;
    throw new KekUnusable(
      `The ML-KEM half of KEK version ${version.version} is not in this key store; restore the store with its master key, or share those of the replica that made it.`,
    );
  }
}

const place = placeOf("instance", "kek_check");
const content = new TextEncoder().encode("pkid key-encryption key");
