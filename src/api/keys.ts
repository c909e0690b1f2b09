/** The key store in JSON. */

import { type Handler, handler, ok } from "#domain/access/call.ts";
import type { Keys, ProviderName } from "#domain/keys.ts";
import type { Store } from "#domain/store.ts";
import type { OperationName } from "#operations";

export interface KeyHandlerDeps {
  readonly store: Store;
  readonly keys: Keys;
  /** Which provider holds the keys of each role. */
  readonly roles: { readonly ca: ProviderName; readonly responder: ProviderName };
  readonly poolSize: number;
}

/** Handlers for `hsm.*`. */
export function keyHandlers(deps: KeyHandlerDeps) {
  return {
    "hsm.info": handler({
      summary: "What the key provider says about itself, also while it is unavailable.",
      run: async () => {
        const facts = await deps.keys.facts();
        const main = facts.find((one) => one.provider === deps.roles.ca);
        const head = await deps.store.read.audit.ledgerHead();
        const ledgerId = await deps.store.read.instance.value("ledger_id");
        return ok({
          available: main?.available ?? false,
          provider: deps.roles.ca,
          roles: deps.roles,
          ...(main?.manufacturer === undefined ? {} : { manufacturer: main.manufacturer }),
          ...(main?.model === undefined ? {} : { part_number: main.model }),
          ...(main === undefined ? {} : { serial: main.deviceSerial }),
          key_types: main?.keyTypes ?? [],
          pool: { size: deps.poolSize },
          ledger: { ledger_id: ledgerId ?? "", last_number: head.seq },
          ...(main?.error === undefined ? {} : { error: main.error }),
        });
      },
    }),
  } satisfies Partial<Record<OperationName, Handler>>;
}
