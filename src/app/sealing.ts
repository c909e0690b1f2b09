/** Opens what seals secrets in the database: the KEK, the envelopes under it, and its rotation. */

import type { Metrics } from "#adapters/telemetry/families.ts";
import type { Config } from "#config/schema.ts";
import { Envelopes } from "#domain/envelopes/envelopes.ts";
import { Keks } from "#domain/envelopes/keks.ts";
import { checkKnownValue } from "#domain/envelopes/known.ts";
import { KekRotation } from "#domain/envelopes/rotation.ts";
import type { Keys } from "#domain/keys.ts";
import type { Clock, Log, Random } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";
import { kekHolder, usualKekFamily } from "./settings.ts";

export interface Sealing {
  readonly keks: Keks;
  readonly envelopes: Envelopes;
  readonly rotation: KekRotation;
}

/** Throws `KekUnusable` when what is sealed cannot be opened with these settings (V-12). */
export async function openSealing(ground: {
  readonly config: Config;
  readonly store: Store;
  readonly keys: Keys;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: Metrics;
}): Promise<Sealing> {
  const { config, store, keys, clock, random, log, metrics } = ground;
  const keks = new Keks({ store, keys, clock, ...kekHolder(config) });
  const envelopes = new Envelopes({
    ...{ keks, keys, random },
    onOperation: (operation, succeeded) => {
      const result = succeeded ? "success" : "error";
      metrics.count("pki_envelope_operations_total", { operation, result });
    },
  });
  const labelled = config.secret.kek_label !== undefined;
  const known = { store, keys, keks, envelopes, log, labelled };
  await checkKnownValue({ ...known, usualFamily: usualKekFamily });
  return { keks, envelopes, rotation: new KekRotation({ store, random, keks, envelopes }) };
}
