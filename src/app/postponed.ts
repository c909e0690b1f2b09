/** Postpones start-up work that writes, while the database lacks acknowledged changes. */

import type { Log } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";
import { describe } from "./describe.ts";

/** Runs the work now, or once the rollback of the database has ended. */
export async function runUnlessRolledBack(
  { store, log }: { readonly store: Pick<Store, "rollback" | "onRollbackEnd">; readonly log: Log },
  work: () => Promise<void>,
): Promise<void> {
  if (store.rollback() === undefined) {
    await work();
    return;
  }
  store.onRollbackEnd(() => {
    work().catch((error) => log.write("error", "postponed_failed", { error: describe(error) }));
  });
}
