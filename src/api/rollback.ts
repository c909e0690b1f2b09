/** Acceptance of a database that lacks acknowledged changes (RES-6). */

import { flag, integer, optional, shape, words } from "#core/shape.ts";
import { type Definition, operation } from "#domain/access/operation.ts";
import { thePlatform } from "#domain/access/targets.ts";
import type { Clock } from "#domain/ports.ts";
import { acceptRollback } from "#domain/rollback.ts";
import type { Store } from "#domain/store.ts";
import type { OperationName } from "#operations";

const rowNumber = integer(0, Number.MAX_SAFE_INTEGER);
const acceptedShape = shape({
  accepted: flag(),
  reason: optional(words()),
  seq: optional(rowNumber),
  acknowledged_seq: optional(rowNumber),
  ledger_number: optional(rowNumber),
  acknowledged_ledger_number: optional(rowNumber),
});

/** Creates the handler of `db.accept_rollback`. */
export function rollbackHandlers(deps: { readonly store: Store; readonly clock: Clock }) {
  return {
    "db.accept_rollback": operation({
      summary: "Accepts a database that lacks acknowledged changes, and resumes writing.",
      target: thePlatform,
      output: acceptedShape,
      run: async ({ origin }) => {
        const rollback = await acceptRollback(deps, origin);
        if (rollback === undefined) return { accepted: false };
        const { reason, found, acknowledged } = rollback;
        return {
          accepted: true,
          reason,
          seq: found.event,
          acknowledged_seq: acknowledged.event,
          ledger_number: found.ledger,
          acknowledged_ledger_number: acknowledged.ledger,
        };
      },
    }),
  } satisfies Partial<Record<OperationName, Definition>>;
}
