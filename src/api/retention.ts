/** Retention of the inventory in JSON: a run on demand, and how the last one went. */

import { flag, oneOf, optional, otherwise, shape } from "#core/shape.ts";
import { type Definition, operation } from "#domain/access/operation.ts";
import { thePlatform } from "#domain/access/targets.ts";
import type { Retention } from "#domain/retention/retention.ts";
import type { OperationName } from "#operations";
import { count, time } from "./shapes.ts";

/** Handlers of `retention.run` and `retention.status`. */
export function retentionHandlers({ retention }: { readonly retention: Retention }) {
  return {
    "retention.run": operation({
      summary: "Let certificates that expired long ago leave the inventory now.",
      target: thePlatform,
      input: { dry_run: otherwise(flag(), false) },
      output: runShape,
      run: async ({ input, origin }) => await retention.run(origin, input.dry_run),
    }),
    "retention.status": operation({
      summary: "Tells what the last retention did.",
      target: thePlatform,
      output: shape({ last: optional(runShape) }),
      run: async () => {
        const last = await retention.last();
        return last === undefined ? {} : { last };
      },
    }),
  } satisfies Partial<Record<OperationName, Definition>>;
}

const runShape = shape({
  at: time,
  dry_run: flag(),
  archived: count,
  pruned: count,
  held_back: count,
  result: oneOf(["success", "error"]),
});
