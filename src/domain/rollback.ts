/** Continues on a database that lacks acknowledged changes, after an operator has accepted that. */

import { effectiveRoles } from "#core/access/principal.ts";
import { formatRollback, type Rollback } from "#core/history/mark.ts";
import type { EventDraft } from "#core/audit/actions.ts";
import { type Problem, refuse } from "#core/problems.ts";
import type { Instant } from "#core/time.ts";
import type { Origin } from "./actor.ts";
import type { Keys } from "./keys.ts";
import type { Clock } from "./ports.ts";
import type { Store } from "./store.ts";

/** Creates the refusal of every write and signature while the database is older. */
export const rollbackRefusal = (rollback: Rollback): Problem =>
  refuse("storage_unavailable", { retry_after: retrySeconds }, formatRollback(rollback));

/**
 * Accepts the rollback with an event, and resumes writing and signing (RES-6).
 *
 * @returns the accepted rollback; undefined if there was none
 */
export async function acceptRollback(
  { store, clock }: { readonly store: Pick<Store, "acceptRollback">; readonly clock: Clock },
  { principal, ip, requestId }: Origin,
): Promise<Rollback | undefined> {
  const now = clock.now();
  return await store.acceptRollback(now, async (tx, { rollback, epoch, revocationSequence }) => {
    const { reason, found, acknowledged } = rollback;
    await tx.audit.appendEvent(
      {
        action: "system.accept_rollback",
        result: "success",
        actor: principal.subject,
        actorName: principal.name,
        actorRoles: effectiveRoles(principal, undefined),
        detail: {
          reason,
          seq: found.event,
          acknowledged_seq: acknowledged.event,
          ledger_number: found.ledger,
          acknowledged_ledger_number: acknowledged.ledger,
          sequence: revocationSequence,
          epoch,
        },
        ip,
        requestId,
      },
      now,
    );
  });
}

/** Wraps the keys so that they sign nothing, and none is generated, while the database is older. */
export function refuseWhileRolledBack(keys: Keys, { rollback }: Pick<Store, "rollback">): Keys {
  const createRefusal = () => {
    const found = rollback();
    return found === undefined ? undefined : Promise.reject(rollbackRefusal(found));
  };
  return {
    ...keys,
    sign: (ticket, message) => createRefusal() ?? keys.sign(ticket, message),
    generate: (request) => createRefusal() ?? keys.generate(request),
  };
}

/**
 * Appends events of operations that continue while the database is older, such as a login. Then the
 * event is postponed until writing has resumed; at most 1,000 events are kept.
 */
export class PostponableEvents {
  readonly #store: Pick<Store, "atomically" | "rollback" | "onRollbackEnd">;
  #postponed: (readonly [EventDraft, Instant])[] = [];

  constructor(store: Pick<Store, "atomically" | "rollback" | "onRollbackEnd">) {
    this.#store = store;
  }

  /** Resolves when the event is committed or postponed. */
  async append(draft: EventDraft, at: Instant): Promise<void> {
    if (this.#store.rollback() === undefined) {
      await this.#store.atomically(async (tx) => void (await tx.audit.appendEvent(draft, at)));
      return;
    }
    if (this.#postponed.length === 0) this.#store.onRollbackEnd(() => void this.#appendAll());
    if (this.#postponed.length < postponedMax) this.#postponed.push([draft, at]);
  }

  async #appendAll(): Promise<void> {
    const postponed = this.#postponed;
    this.#postponed = [];
    for (const [draft, at] of postponed) {
      await this.append(draft, at).catch(() => {}); // The store reports its own error.
    }
  }
}

const postponedMax = 1000;
const retrySeconds = 60;
