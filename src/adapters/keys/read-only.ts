/** Keeps a drill from creating or destroying anything on the token. */

import { refuse } from "#core/problems.ts";
import type { ProviderName } from "#domain/key-ref.ts";
import type { OpenKeys } from "./start.ts";

/** Returns the keys without creation and destruction on the token; signing and unwrapping stay. */
export function withReadOnlyToken(keys: OpenKeys): OpenKeys {
  const check = ({ provider }: { readonly provider: ProviderName }) => {
    if (provider === "pkcs11") {
      throw refuse("key_unavailable", { retry_after: 2 }, "A drill does not change the token.");
    }
  };
  return {
    ...keys,
    generate: async (request) => {
      check(request);
      return await keys.generate(request);
    },
    destroy: async (key) => {
      check(key);
      await keys.destroy(key);
    },
    keks: {
      ...keys.keks,
      generate: async (request) => {
        check(request);
        return await keys.keks.generate(request);
      },
      destroy: async (kek) => {
        check(kek);
        await keys.keks.destroy(kek);
      },
    },
  };
}
