/** Has private keys made under the KEK version that seals now, also when another replica has just begun it. */

import type { Keys } from "#domain/keys.ts";
import type { Keks } from "./keks.ts";

/**
 * Wraps `keys`: before a software-held key is made, its store is told the versions as they are. Else a key made between
 * another replica's rotation and the next look at it would be under a version that opens nothing any more.
 */
export function underNewest(keys: Keys, keks: Pick<Keks, "tell">): Keys {
  return {
    ...keys,
    generate: async (wanted) => {
      if (wanted.provider === "software") await keks.tell();
      return await keys.generate(wanted);
    },
  };
}
