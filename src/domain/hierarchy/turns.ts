/** One piece of work per name at a time, the others in the order they came. */

/** Turns by name; nothing is kept for names nobody waits under. */
export class Turns {
  readonly #last = new Map<string, Promise<unknown>>();

  /** Does the work when everything begun under this name before has ended, well or not. */
  async take<T>(name: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(name) ?? Promise.resolve();
    // What became of the one before is its own caller's to learn.
    const mine = before.then(work, work);
    this.#last.set(name, mine);
    try {
      return await mine;
    } finally {
      if (this.#last.get(name) === mine) this.#last.delete(name);
    }
  }
}
