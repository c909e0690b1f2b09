/**
 * Writes down what was refused, and by which gates; who asks again and again leaves one event a
 * minute, with their number.
 */

import { addressKey } from "#core/address-key.ts";
import type { EventDraft } from "#core/audit/actions.ts";
import { Folding } from "#domain/audit/folding.ts";
import type { Clock } from "#domain/ports.ts";
import { PostponableEvents } from "#domain/rollback.ts";
import type { Store } from "#domain/store.ts";

export interface RefusalsDeps {
  readonly store: Store;
  readonly clock: Clock;
}

/**
 * Events of refusals, told apart by who asked from where for what on whose behalf, and why it was
 * refused.
 */
export class Refusals {
  readonly #users: Folding<EventDraft>;
  readonly #accounts: Folding<EventDraft>;

  constructor(deps: RefusalsDeps) {
    this.#users = createFolding(deps, windowsMax, ({ actor }) => actor);
    // A client creates accounts without limit, so that only its address tells them apart.
    this.#accounts = createFolding(deps, accountWindowsMax, () => "");
  }

  /** Records the first of its kind; within a minute, counts the next ones. */
  record(draft: EventDraft): Promise<void> {
    return (isAcmeAccount(draft) ? this.#accounts : this.#users).record(draft);
  }

  /**
   * Tells what was counted in minutes that are over; `all` tells also of those that are not, before
   * the end.
   */
  async fold(all = false): Promise<void> {
    const both = [this.#users.fold(all), this.#accounts.fold(all)];
    for (const result of await Promise.allSettled(both)) {
      if (result.status === "rejected") throw result.reason;
    }
  }
}

function createFolding(
  { store, clock }: RefusalsDeps,
  windows: number,
  nameOf: (draft: EventDraft) => string,
): Folding<EventDraft> {
  const events = new PostponableEvents(store);
  return new Folding({
    clock,
    windowsMax: windows,
    // The client chooses the strings of a path.
    kindOf: (draft) => {
      const { action, result, detail, ip = "", tenant = "", caId = "" } = draft;
      return {
        coarse: [action, result, whyOf(detail)],
        fine: [nameOf(draft), addressKey(ip), tenant, caId],
      };
    },
    tell: async (draft, count, now) => {
      const detail = count > 1 ? { ...draft.detail, count } : draft.detail;
      await events.append(detail === undefined ? draft : { ...draft, detail }, now);
    },
  });
}

/** True for refusals of ACME accounts, which cost nothing. */
const isAcmeAccount = ({ actor }: EventDraft): boolean => actor.startsWith("acme:");

/** Codes, and names of gates: the caller chooses none of them. */
const whyOf = (detail: EventDraft["detail"]): string =>
  String(detail?.reasons ?? detail?.reason ?? detail?.operation ?? "");

/** Kinds of refusals within a minute. */
const windowsMax = 10_000;
/** Kinds of refusals of ACME accounts: events are permanent, and addresses are cheap too. */
const accountWindowsMax = 100;
