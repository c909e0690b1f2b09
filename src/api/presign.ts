/** OCSP answers signed ahead, in JSON: the sweep on demand. */

import { caId } from "#core/ids.ts";
import { refuse } from "#core/problems.ts";
import { decimal, optional, shape, text } from "#core/shape.ts";
import { type Definition, operation } from "#domain/access/operation.ts";
import { thePlatform } from "#domain/access/targets.ts";
import type { Presigner } from "#domain/revocation/presign.ts";
import type { Store } from "#domain/store.ts";
import type { OperationName } from "#operations";
import { count } from "./shapes.ts";

interface Deps {
  readonly store: Store;
  readonly presigner: Pick<Presigner, "run">;
  /** `presign.enabled`. */
  readonly enabled: boolean;
}

/** Handler for `ocsp.presign`. */
export function presignHandlers({ store, presigner, enabled }: Deps) {
  return {
    "ocsp.presign": operation({
      summary: "Sign OCSP answers ahead, for every certificate or those of one CA.",
      target: thePlatform,
      input: { ca_id: optional(text({ min: 1, max: 64 })) },
      output: sweepShape,
      run: async ({ input, origin }) => {
        if (!enabled) throw refuse("feature_disabled", { feature: "presign" });
        const only = input.ca_id === undefined ? undefined : caId(input.ca_id);
        if (only !== undefined && (await store.read.cas.byId(only)) === undefined) {
          throw refuse("not_found");
        }
        const { responses, seconds } = await presigner.run(origin, only);
        return { responses, duration_seconds: seconds };
      },
    }),
  } satisfies Partial<Record<OperationName, Definition>>;
}

const sweepShape = shape({ responses: count, duration_seconds: decimal() });
