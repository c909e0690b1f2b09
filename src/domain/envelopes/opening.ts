/** Tries whether what is sealed opens by the KEK version it is under, and keeps nothing of it. */

import { Problem } from "#core/problems.ts";
import type { KekKeys, Keys } from "#domain/keys.ts";
import type { Random } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";
import type { Envelopes } from "./envelopes.ts";
import type { Place } from "./places.ts";

export interface OpeningDeps {
  readonly store: Pick<Store, "read">;
  readonly keys: Pick<Keys, "list"> & { readonly keks: Pick<KekKeys, "handOut"> };
  readonly envelopes: Pick<Envelopes, "open">;
  readonly random: Pick<Random, "bytes">;
}

/** What was tried: how many, and the places of values or labels of private keys that are shut. */
export interface Tried {
  readonly tried: number;
  readonly shut: readonly string[];
}

/**
 * Some values under a version, in the order of their places, those behind `after`; `next` is where
 * to go on. A value under a version that is retired does not open.
 */
export async function triedValues(
  { store, envelopes }: Pick<OpeningDeps, "store" | "envelopes">,
  version: number,
  after: Place | undefined,
): Promise<Tried & { readonly next: Place | undefined }> {
  const values = await store.read.envelopes.under(version, valuesAtOnce, after);
  const shut: string[] = [];
  for (const value of values) {
    try {
      (await envelopes.open(value)).fill(0);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      shut.push(value.place);
    }
  }
  const next = values.length < valuesAtOnce ? undefined : values.at(-1)?.place;
  return { tried: values.length, shut, next };
}

/** Every software-held private key under a version. */
export async function triedPrivateKeys(
  { keys, random }: Pick<OpeningDeps, "keys" | "random">,
  version: number,
): Promise<Tried> {
  const under = (await keys.list("software")).filter(({ kekVersion }) => kekVersion === version);
  if (under.length === 0) return { tried: 0, shut: [] };
  // To an address that nobody has the other half of: only which there are is asked.
  const opened = new Set((await keys.keks.handOut(random.bytes(32))).map(({ id }) => id));
  const shut = under.filter(({ id }) => !opened.has(id)).map(({ label }) => label);
  return { tried: under.length, shut };
}

const valuesAtOnce = 100;
