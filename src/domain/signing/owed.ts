/** What could not be written down because the database was away: kept, and written before more. */

import { Problem } from "#core/problems.ts";
import { nothingWritten, type Store } from "#domain/store.ts";

/** Units that are owed to the store; a crash forgets them, and the next start settles them. */
export class Owed {
  readonly #units: (() => Promise<void>)[] = [];
  readonly #store: Pick<Store, "onRollbackEnd">;
  #isSubscribed = false;

  constructor(store: Pick<Store, "onRollbackEnd">) {
    this.#store = store;
  }

  /**
   * Writes now, or keeps the unit for later when the database is away. Never throws: its caller
   * has failed with something else already, and that is what should be learned.
   */
  async write(unit: () => Promise<void>): Promise<void> {
    try {
      await unit();
    } catch (error) {
      // Only a database that is away is worth another attempt; what may have been committed is not.
      const away = error instanceof Problem && error.code === "storage_unavailable";
      if (away && nothingWritten(error) && this.#units.length < owedMax) this.#keep(unit);
    }
  }

  /**
   * Writes what is owed, many units with one commit, because a list that makes a revocation known
   * may be who waits; what still cannot be written stays owed.
   */
  async pay(): Promise<void> {
    const owed = this.#units.splice(0);
    for (let at = 0; at < owed.length; at += atOnce) {
      await Promise.all(owed.slice(at, at + atOnce).map((unit) => this.write(unit)));
    }
  }

  #keep(write: () => Promise<void>): void {
    this.#units.push(write);
    if (this.#isSubscribed) return;
    this.#isSubscribed = true;
    this.#store.onRollbackEnd((end) => {
      this.#isSubscribed = false;
      // The older database may lack the intents, and an outcome without its intent is a violation.
      if (end === "accepted") this.#units.length = 0;
    });
  }
}

const owedMax = 1000;
const atOnce = 50;
