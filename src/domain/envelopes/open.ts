/**
 * Opens what seals secrets of the database and private keys: the KEK, the envelopes under it, and
 * its rotation.
 */

import { Problem } from "#core/problems.ts";
import { Envelopes } from "./envelopes.ts";
import { Keks } from "./keks.ts";
import { checkKnownValue, prepareKek } from "./known.ts";
import { KekRotation } from "./rotation.ts";
import { type Recovery, recover } from "./recovery.ts";
import type { Keys } from "#domain/keys.ts";
import type { Clock, Log, Random } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";
import { type KekSections, kekPlace, usualKekFamily } from "./place.ts";

export interface Sealing {
  readonly keks: Keks;
  readonly envelopes: Envelopes;
  readonly rotation: KekRotation;
  /**
   * Brings private keys of earlier releases into envelopes, and throws `KekUnusable` when what is
   * sealed cannot be opened with these settings (V-12).
   */
  prove(): Promise<void>;
}

/** `secret`, and the provider the KEK is made in. */
export interface SealingSections extends KekSections {
  readonly secret: KekSections["secret"] & { readonly pqc_hybrid: boolean };
}

export interface SealingPorts {
  readonly store: Store;
  readonly keys: Keys;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly pause: (milliseconds: number) => Promise<void>;
  /** Given where the KEK is given up for a new one. */
  readonly recovery: Recovery | undefined;
  /** Told every data key wrapped or unwrapped for a value. */
  readonly onOperation: (operation: "encrypt" | "decrypt", succeeded: boolean) => void;
}

/**
 * Opens it as far as private keys need it; throws `KekUnusable` when these settings cannot be right
 * (V-12).
 */
export async function openSealing(config: SealingSections, ports: SealingPorts): Promise<Sealing> {
  const { store, keys, clock, random, log, pause, onOperation } = ports;
  const hybrid = config.secret.pqc_hybrid;
  const keks = new Keks({ store, keys, clock, ...kekPlace(config), hybrid });
  const envelopes = new Envelopes({ keks, keys, random, onOperation });
  const rotation = new KekRotation({ store, random, keks, keys, envelopes, pause });
  hearRotations(store, keks, log);
  const labelled = config.secret.kek_label !== undefined;
  if (ports.recovery !== undefined) {
    await recover({ store, keys, keks, envelopes }, ports.recovery);
  }
  const known = { store, keys, keks, envelopes, log, labelled, usualFamily: usualKekFamily };
  await prepareKek(known);
  const prove = async () => {
    await keks.announce();
    await settled(rotation, log);
    await checkKnownValue(known);
  };
  return { keks, envelopes, rotation, prove };
}

/**
 * Takes up at once what another replica has begun: it waits for this one before it retires a
 * version.
 */
function hearRotations(store: Store, keks: Keks, log: Log): void {
  store.onEvents((events) => {
    if (!events.some(({ action, result }) => action === "kek.rotate" && result === "success"))
      return;
    keks.tell().catch((error) => {
      // The job tells too, within a minute.
      const code = error instanceof Problem ? error.code : "internal";
      log.write("warn", "kek_rotation_not_heard", { code });
    });
  });
}

/** Keys that cannot be brought over yet open as they are, and the job tries again. */
async function settled(rotation: KekRotation, log: Log): Promise<void> {
  try {
    await rotation.settle();
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    log.write("warn", "private_keys_not_resealed", { code: error.code });
  }
}
