/** Remembers what became of leases in the last hour: what two did at a time, and what was lost. */

import type { LeaseTroubles } from "#domain/store.ts";

/** Told by the engine that gives leases; times are of the process. */
export class LeaseWatch {
  #seen: readonly { readonly what: keyof LeaseTroubles; readonly at: number }[] = [];

  /** Takes note of one now. */
  note(what: keyof LeaseTroubles): void {
    this.#seen = [...this.#recent(), { what, at: performance.now() }].slice(-seenMax);
  }

  get troubles(): LeaseTroubles {
    const recent = this.#recent();
    const count = (what: keyof LeaseTroubles) => recent.filter((one) => one.what === what).length;
    return { shared: count("shared"), lost: count("lost") };
  }

  #recent() {
    const from = performance.now() - hourMs;
    return this.#seen.filter(({ at }) => at > from);
  }
}

const hourMs = 3_600_000;
const seenMax = 1000;
