/** What could not be written down because the database was away: kept, and written before more. */

import { Problem } from "#core/problems.ts";
import { nothingWritten } from "#domain/store.ts";

/** Units that are owed to the store; a crash forgets them, and the next start settles them. */
export class Owed {
  readonly #units: (() => Promise<void>)[] = [];

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
      if (away && nothingWritten(error) && this.#units.length < owedMax) this.#units.push(unit);
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
}

const owedMax = 1000;
const atOnce = 50;
