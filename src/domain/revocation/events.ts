/**
 * The audit events of one serial's revocation, suspension or release, whichever path it came by
 * (REV-6).
 */

import type { EventDraft } from "#core/audit/actions.ts";
import type { CaId, Serial, TenantId } from "#core/ids.ts";
import { type Instant, timestamp } from "#core/time.ts";
import type { RevocationReason } from "#core/x509/reasons.ts";
import type { Author } from "#domain/actor.ts";
import type { StoredStatus } from "#domain/certificates/store.ts";

/** What happened, and what is told of it. */
export interface ToldChange {
  readonly caId: CaId;
  readonly tenant: TenantId;
  readonly serial: Serial;
  readonly to: StoredStatus;
  readonly reason: RevocationReason | undefined;
  /** False for a serial the inventory does not know. */
  readonly known: boolean;
  /** Its number in the revocation sequence. */
  readonly sequence: number;
  /** Where an older list says when it was revoked; absent where that is the time of the event. */
  readonly revokedAt?: Instant | undefined;
  /** Since when it was held, when it was. */
  readonly heldSince: Instant | undefined;
  /** `acme` or `cmp` when a device asked. */
  readonly protocol?: string | undefined;
  /** The operation id of a bulk run. */
  readonly bulkOp?: string | undefined;
}

/** The event of one change of revocation state (TRN-1). */
export function revocationEvent(author: Author, change: ToldChange): EventDraft {
  const { caId, tenant, serial, reason, known, heldSince, sequence } = change;
  const revoked_at = change.revokedAt && timestamp(change.revokedAt);
  const bound = { revoked_at, sequence };
  const subject = {
    ...author,
    result: "success" as const,
    tenant,
    caId,
    serial,
    target: caId,
    targetName: serial,
  };
  switch (change.to) {
    case "revoked": {
      const previous = heldSince === undefined ? undefined : "held";
      const { protocol, bulkOp: bulk_op } = change;
      const facts = { reason, known: known ? undefined : false, previous, protocol, bulk_op };
      return { ...subject, action: "cert.revoke", detail: { ...facts, ...bound } };
    }
    case "held": {
      const detail = { reason, bulk_op: change.bulkOp, ...bound };
      return { ...subject, action: "cert.suspend", detail };
    }
    case "good": {
      const held_since = heldSince === undefined ? undefined : timestamp(heldSince);
      return { ...subject, action: "cert.release", detail: { held_since, sequence } };
    }
  }
}
