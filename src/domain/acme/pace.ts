/**
 * Keeps to the bound of a plan: however clients come, no second sees more of its replacements made
 * than it says.
 */

import { refuse } from "#core/problems.ts";
import type { Later } from "#domain/ports.ts";

/** A plan, as far as its pace is concerned. */
export interface Paced {
  readonly id: string;
  /** Above 0; asked whenever somebody comes or goes, because it may change. */
  readonly perSecond: () => number;
}

/** The paces of all plans, in this process. */
export class Pace {
  readonly #later: Later;
  readonly #plans = new Map<string, Places>();
  #halted = false;

  constructor(later: Later) {
    this.#later = later;
  }

  /**
   * Does the work when the plan has a place for it, first come first served. A place is taken from
   * before the work until a second after it, so that no second, wherever it begins, has more in it
   * than there are places. Refuses `rate_limited` where too many wait already, and `shutting_down`.
   */
  async within<T>({ id, perSecond }: Paced, work: () => Promise<T>): Promise<T> {
    const places = this.#plans.get(id) ?? { taken: 0, waiting: [] };
    this.#plans.set(id, places);
    const most = placesOf(perSecond());
    if (this.#halted) throw refuse("shutting_down", { retry_after: 5 });
    if (places.taken < most && places.waiting.length === 0) places.taken++;
    else if (places.waiting.length < most * waitSeconds) await turnIn(places);
    else throw refuse("rate_limited", { tier: "replacement", retry_after: waitSeconds });
    try {
      return await work();
    } finally {
      const milliseconds = Math.max(1000, 1000 / perSecond()) + timerMs;
      this.#later(milliseconds, () => this.#free({ id, perSecond }, places));
    }
  }

  /** Lets nobody in any more; who waits is refused `shutting_down`. */
  halt(): void {
    this.#halted = true;
    for (const { waiting } of this.#plans.values()) {
      for (const { give } of waiting.splice(0)) give(refuse("shutting_down", { retry_after: 5 }));
    }
  }

  /** Whoever waited longest takes the place over, where it is one still. */
  #free({ id, perSecond }: Paced, places: Places): void {
    places.taken--;
    const most = placesOf(perSecond());
    while (places.taken < most && places.waiting.length > 0) {
      places.taken++;
      places.waiting.shift()?.give();
    }
    if (places.taken === 0) this.#plans.delete(id);
  }
}

interface Places {
  taken: number;
  readonly waiting: { readonly give: (refusal?: Error) => void }[];
}

const placesOf = (perSecond: number): number => Math.max(1, Math.floor(perSecond));

const turnIn = ({ waiting }: Places): Promise<void> =>
  new Promise((resolve, reject) => {
    waiting.push({ give: (refusal) => (refusal === undefined ? resolve() : reject(refusal)) });
  });

/** As long as a client is kept, before it is told to come again. */
const waitSeconds = 10;
/** Timers may be early by one. */
const timerMs = 5;
