/** Removes what ACME needs no more: used nonces, orders, proofs and plans that are over. */

import { addSeconds, secondsPerDay } from "#core/time.ts";
import { nextTurn } from "#core/turns.ts";
import type { Clock } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";

/** A bounded part of the work at a time, for there may be millions. */
export class CleanUp {
  readonly #deps: { readonly store: Store; readonly clock: Clock };
  #halted = false;

  constructor(deps: { readonly store: Store; readonly clock: Clock }) {
    this.#deps = deps;
  }

  /** Removes what there is; of several replicas one does. */
  async run(): Promise<void> {
    const { store, clock } = this.#deps;
    await store.exclusively("acme-clean-up", async () => {
      const now = clock.now();
      await this.#repeat(() => store.atomically((tx) => tx.acme.pruneNonces(now, nonces)));
      // Clients look at an order for a while after its end.
      const before = addSeconds(now, -keptDays * secondsPerDay);
      await this.#repeat(() => store.atomically((tx) => tx.acme.prune(before, orders)));
      const over = addSeconds(clock.now(), -plansKeptDays * secondsPerDay);
      await this.#repeat(() => store.atomically((tx) => tx.replacements.pruneItems(over, items)));
    });
  }

  async #repeat(part: () => Promise<number>): Promise<void> {
    for (let parts = 0; parts < partsMax && !this.#halted; parts++) {
      if ((await part()) === 0) return;
      await nextTurn();
    }
  }

  /** Begins no further part. */
  halt(): void {
    this.#halted = true;
  }
}

const nonces = 2000;
const orders = 100;
const items = 500;
const keptDays = 7;
/** As long as anybody asks which clients have not come. */
const plansKeptDays = 90;
const partsMax = 10_000;
