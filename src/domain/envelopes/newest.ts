/**
 * Has private keys made under the KEK version that seals now, also when another replica has just
 * begun it.
 */

import { discarded } from "#domain/discard.ts";
import type { KeyHandle, Keys } from "#domain/keys.ts";
import type { Keks } from "./keks.ts";

/**
 * Wraps `keys`: before a software-held key is made, its store is told the versions as they are.
 * Else a key made between another replica's rotation and the next look at it would be under a
 * version that opens nothing any more. It is told again and looks again when the key is made, which
 * may have taken long: a key under a version retired meanwhile, by a replica that could not wait
 * for this one, is destroyed and made anew before anybody knows it.
 */
export function underNewest(keys: Keys, keks: Pick<Keks, "tell">): Keys {
  const sealed = async (make: () => Promise<KeyHandle>) => {
    for (let attempt = 1; ; attempt += 1) {
      await keks.tell();
      const handle = await make();
      try {
        await keks.tell();
        return await keys.find(handle.ref);
      } catch (error) {
        // Where it stays its label is taken, and another attempt would only say that.
        const gone = await discarded(() => keys.destroy(handle.ref));
        if (!gone || attempt === attemptsMax) throw error;
      }
    }
  };
  return {
    ...keys,
    generate: async (wanted) =>
      wanted.provider === "software"
        ? await sealed(() => keys.generate(wanted))
        : await keys.generate(wanted),
    // What another CA has used is in its owner's hands still, so it may be sealed anew as well.
    intake: { ...keys.intake, take: (wanted) => sealed(() => keys.intake.take(wanted)) },
  };
}

/** Nobody rotates a second time while a key is made. */
const attemptsMax = 2;
