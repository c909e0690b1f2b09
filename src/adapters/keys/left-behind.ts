/**
 * Names in the log each key that was to be destroyed and is still there, whoever wanted it and
 * whatever they say of it.
 */

import type { KeyRef } from "#domain/key-ref.ts";
import type { Keys } from "#domain/keys.ts";

import type { KeyHooks } from "./settings.ts";

/** Wraps `keys`; what a destruction is refused with reaches its caller as before. */
export function tellingLeftBehind(keys: Keys, { fault }: KeyHooks): Keys {
  const told = async (ref: KeyRef, what: string, work: Promise<void>): Promise<void> => {
    try {
      await work;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      fault?.(`A ${what} could not be destroyed and is still there.`, { ...ref, reason });
      throw error;
    }
  };
  const { keks } = keys;
  return {
    ...keys,
    destroy: (ref) => told(ref, "key", keys.destroy(ref)),
    keks: {
      ...keks,
      destroy: (kek) => told(kek, "key-encryption key", keks.destroy(kek)),
      halves: {
        ...keks.halves,
        destroy: (kek) => told(kek, "half of a key-encryption key", keks.halves.destroy(kek)),
      },
    },
  };
}
