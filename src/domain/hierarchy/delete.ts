/** Deletion of CAs that nothing depends on (CA-1). */

import { refuse } from "#core/problems.ts";
import type { Instant } from "#core/time.ts";
import type { Origin } from "#domain/actor.ts";
import { aboutCa } from "#domain/authorities/events.ts";
import { announceKey } from "#domain/signing/entries.ts";
import type { Keys } from "#domain/keys.ts";
import type { Clock } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";
import type { CaRecord } from "#domain/authorities/store.ts";

interface Deps {
  readonly store: Store;
  readonly keys: Keys;
  readonly clock: Clock;
}

/**
 * Removes the CA; its certificates, CRLs, ledger entries and events stay. With `destroyKey` its
 * keys are destroyed after that, for good. Refuses `ca_in_use` for one that has signed more than
 * its own certificate and that of its responder, unless it is past notAfter without unexpired
 * certificate and without child; and for members of a rollover.
 */
export async function deleteCa(
  deps: Deps,
  origin: Origin,
  ca: CaRecord,
  destroyKey: boolean,
): Promise<void> {
  const { store, keys, clock } = deps;
  const now = clock.now();
  const expired = ca.notAfter !== undefined && ca.notAfter < now;
  if (!(await unused(store, ca, expired, now))) throw refuse("ca_in_use");
  await store.atomically(async (tx) => {
    // An import or rotation committed in between has made it a CA that is in use.
    if ((await tx.cas.status(ca.id)) !== ca.status) throw refuse("ca_in_use");
    // An expired CA signs nothing, so what was counted still holds.
    const own = expired ? undefined : { serial: ca.serial };
    if (!(await tx.cas.remove(ca.id, own))) throw refuse("ca_in_use");
    await tx.audit.appendEvent(
      {
        action: "ca.delete",
        result: "success",
        ...aboutCa(origin, ca, ca.serial),
        targetName: ca.label,
        detail: { subject: ca.subject, serial: ca.serial },
      },
      now,
    );
  });
  if (!destroyKey) return;
  for (const { key } of ca.alternative === undefined ? [ca] : [ca, ca.alternative]) {
    const handle = await keys.find(key);
    await keys.destroy(key);
    const at = clock.now();
    await store.atomically((tx) => announceKey(tx, handle, "ca", "destroy", at));
  }
}

async function unused(
  { read }: Store,
  ca: CaRecord,
  expired: boolean,
  now: Instant,
): Promise<boolean> {
  if (ca.status === "pending") return true;
  if (ca.predecessor !== undefined || ca.successor !== undefined) return false;
  if (await read.cas.hasChildren(ca.id)) return false;
  if (!(await read.certificates.signedBeyond(ca.id, ca.serial))) return true;
  return expired && (await read.certificates.outstanding(ca.id, now)).count === 0;
}
