/** Remembers rows that every request asks for, until a commit may have changed them. */

/**
 * Right only where one process writes (SQLite): it is told of every commit before the writer's
 * caller is, so no answer after an acknowledged change comes from before it.
 */
export class Memo {
  readonly #rows = new Map<string, unknown>();
  #generation = 0;
  #touched = false;

  /** The method, asked once per argument between two changes; what is absent is not remembered. */
  remembering<A extends string, R>(
    name: string,
    method: (argument: A) => Promise<R | undefined>,
  ): (argument: A) => Promise<R | undefined> {
    return async (argument) => {
      const key = `${name}/${argument}`;
      // Only this method writes under its own name.
      const known = this.#rows.get(key) as R | undefined;
      if (known !== undefined) return known;
      const generation = this.#generation;
      const row = await method(argument);
      // A commit while the row was being read may have made it old.
      if (row !== undefined && generation === this.#generation) this.#keep(key, row);
      return row;
    };
  }

  /** The method of a unit, which changes rows that may be remembered. */
  touching<A extends unknown[], R>(method: (...given: A) => R): (...given: A) => R {
    return (...given) => {
      this.#touched = true;
      return method(...given);
    };
  }

  /** A batch has committed: what it may have changed is forgotten. */
  committed(): void {
    if (!this.#touched) return;
    this.#touched = false;
    this.#generation += 1;
    this.#rows.clear();
  }

  #keep(key: string, row: unknown): void {
    if (this.#rows.size >= rowsMax) this.#rows.clear();
    this.#rows.set(key, row);
  }
}

const rowsMax = 10_000;
