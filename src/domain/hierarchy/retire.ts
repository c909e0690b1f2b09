/**
 * Retirement of a superseded key: its certificate is revoked, and the world is told before the
 * caller is (ROL-5).
 */

import type { Serial } from "#core/ids.ts";
import { assert, refuse } from "#core/problems.ts";
import { type Instant, timestamp } from "#core/time.ts";
import type { RevocationReason } from "#core/x509/reasons.ts";
import type { Origin } from "#domain/actor.ts";
import { aboutCa } from "#domain/authorities/events.ts";
import type { Clock } from "#domain/ports.ts";
import type { CrlPublisher } from "#domain/revocation/crl.ts";
import type { Revoker } from "#domain/revocation/revoke.ts";
import type { Store, Unit } from "#domain/store.ts";
import { oldestSuperseded } from "./rollover.ts";
import type { CaRecord } from "#domain/authorities/store.ts";

interface Deps {
  readonly store: Store;
  readonly clock: Clock;
  readonly revoker: Pick<Revoker, "revoke">;
  readonly publisher: Pick<CrlPublisher, "publish">;
}

export interface RetireRequest {
  readonly reason: RevocationReason;
  /**
   * Retires although certificates of the key are still valid; they stay unrevoked and lose their
   * path.
   */
  readonly force: boolean;
}

export interface Retired {
  readonly ca: CaRecord;
  readonly parent: CaRecord;
  /** Of its certificate, which was revoked. */
  readonly serial: Serial;
  /** Number of the parent's CRL that lists the revoked certificate. */
  readonly crlNumber: number;
  readonly outstanding: number;
}

/** Retires superseded keys. */
export class Retirement {
  readonly #deps: Deps;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /**
   * Retires the oldest superseded member of the lineage. Refuses `ca_not_superseded`,
   * `leaves_outstanding`, `bad_reason`, and what the publisher refuses: then the certificate is
   * revoked all the same, and the CRL is tried again by itself.
   */
  async retire(origin: Origin, named: CaRecord, request: RetireRequest): Promise<Retired> {
    const { store, revoker, publisher } = this.#deps;
    const { old, count } = await this.admit(named, request);
    const parent = old.parent && (await store.read.cas.byId(old.parent));
    const { serial } = old;
    assert(parent && serial !== undefined, "only intermediates of this instance are superseded");
    await revoker.revoke(
      {
        ca: parent,
        serial,
        origin,
        mayManageCa: true,
        also: (tx, at) => recordRetirement(tx, at, origin, old, request),
      },
      request.reason,
    );
    const { base } = await publisher.publish(parent, origin);
    const ca = (await store.read.cas.byId(old.id)) ?? old;
    return { ca, parent, serial, crlNumber: base.number, outstanding: count };
  }

  /**
   * Refuses what `retire` would refuse; gives what it would retire, and how many certificates of it
   * are in force.
   */
  async admit(named: CaRecord, request: RetireRequest) {
    const { store, clock } = this.#deps;
    if (request.reason === "certificateHold") throw refuse("bad_reason");
    const old = await oldestSuperseded(store.read.cas, named);
    if (old === undefined) throw refuse("ca_not_superseded", { status: named.status });
    const { count, latestNotAfter } = await store.read.certificates.outstanding(
      old.id,
      clock.now(),
    );
    if (count > 0 && !request.force) throw outstanding(count, latestNotAfter);
    return { old, count };
  }
}

async function recordRetirement(
  tx: Unit,
  at: Instant,
  origin: Origin,
  old: CaRecord,
  { reason, force }: RetireRequest,
): Promise<void> {
  const { subject, parent, serial, successor: newCa } = old;
  await tx.audit.appendEvent(
    {
      action: "ca.retire",
      result: "success",
      ...aboutCa(origin, old, serial),
      targetName: old.label,
      detail: { subject, parent, serial, new_ca: newCa, reason, force: force || undefined },
    },
    at,
  );
}

const outstanding = (count: number, latest: Instant | undefined) =>
  refuse("leaves_outstanding", {
    outstanding_leaves: count,
    retire_after: latest === undefined ? undefined : timestamp(latest),
  });
