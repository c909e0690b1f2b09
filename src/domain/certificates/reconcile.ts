/** Start-up: settles what a crash left between intent and commit (ISS-3, KEY-7). */

import { closeUnknown } from "#domain/signing/entries.ts";
import type { Clock } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";
import type { IntentRecord } from "./store.ts";

/**
 * Every open intent becomes an orphan: a signature may exist, its serial is never used again, OCSP
 * says `unknown` of it. Open ledger entries are closed as `unknown`. Gives the new orphans; runs
 * again without finding any.
 */
export async function reconcileIntents(
  store: Store,
  clock: Clock,
): Promise<readonly IntentRecord[]> {
  const orphans = await store.atomically((tx) => tx.certificates.orphanOpenIntents());
  for (;;) {
    const open = await store.read.audit.openLedgerIntents(pageSize);
    const at = clock.now();
    await store.atomically(async (tx) => {
      for (const entry of open) await closeUnknown(tx, entry, at);
    });
    if (open.length < pageSize) return orphans;
  }
}

const pageSize = 1000;
