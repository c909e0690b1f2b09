/**
 * A queue in which nobody waits for another's pile: homes have their turns, and within each those
 * who belong there.
 */

/** Who has something waiting. */
export interface Asker {
  /**
   * What many askers may share, such as a tenant: one with a hundred of them has the turns of one.
   */
  readonly home: string;
  readonly name: string;
}

/**
 * What waits, by home and asker; each map holds only what is not empty, in the order in which turns
 * come.
 */
export class FairQueue<T> {
  readonly #homes = new Map<string, Map<string, T[]>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add({ home, name }: Asker, item: T): void {
    const askers = this.#homes.get(home) ?? new Map<string, T[]>();
    const items = askers.get(name) ?? [];
    items.push(item);
    askers.set(name, items);
    this.#homes.set(home, askers);
    this.#size += 1;
  }

  /** Takes the oldest of whoever's turn it is; undefined when nothing waits. */
  next(): T | undefined {
    for (const [home, askers] of this.#homes) {
      for (const [name, items] of askers) {
        const item = items.shift();
        this.#homes.delete(home);
        askers.delete(name);
        // To the ends of their lines.
        if (items.length > 0) askers.set(name, items);
        if (askers.size > 0) this.#homes.set(home, askers);
        this.#size -= 1;
        return item;
      }
    }
    return undefined;
  }

  /**
   * Takes the newest of whoever has most waiting, in the home that has most: so none loses by what
   * others pile up.
   */
  giveWay(): T | undefined {
    let most: { home: string; askers: Map<string, T[]>; many: number } | undefined;
    for (const [home, askers] of this.#homes) {
      const many = askers.values().reduce((sum, items) => sum + items.length, 0);
      if (many >= (most?.many ?? 0)) most = { home, askers, many };
    }
    if (most === undefined) return undefined;
    let longest: { name: string; items: T[] } | undefined;
    for (const [name, items] of most.askers) {
      if (items.length >= (longest?.items.length ?? 0)) longest = { name, items };
    }
    const item = longest?.items.pop();
    if (longest?.items.length === 0) most.askers.delete(longest.name);
    if (most.askers.size === 0) this.#homes.delete(most.home);
    this.#size -= 1;
    return item;
  }
}
