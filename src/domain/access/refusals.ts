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
  readonly #folding: Folding<EventDraft>;

  constructor({ store, clock }: RefusalsDeps) {
    const events = new PostponableEvents(store);
    this.#folding = new Folding({
      clock,
      windowsMax,
      // What a path named is for whoever asks to choose, so it tells nothing apart.
      kindOf: ({ action, result, actor, detail, ip = "", tenant = "", caId = "" }) => ({
        coarse: [action, result, whyOf(detail)],
        fine: [actor, addressKey(ip), tenant, caId],
      }),
      tell: async (draft, count, now) => {
        const detail = count > 1 ? { ...draft.detail, count } : draft.detail;
        await events.append(detail === undefined ? draft : { ...draft, detail }, now);
      },
    });
  }

  /** Records the first of its kind; within a minute, counts the next ones. */
  record(draft: EventDraft): Promise<void> {
    return this.#folding.record(draft);
  }

  /**
   * Tells what was counted in minutes that are over; `all` tells also of those that are not, before
   * the end.
   */
  fold(all = false): Promise<void> {
    return this.#folding.fold(all);
  }
}

/** Codes, and names of gates: the caller chooses none of them. */
const whyOf = (detail: EventDraft["detail"]): string =>
  String(detail?.reasons ?? detail?.reason ?? detail?.operation ?? "");

const windowsMax = 10_000;
