/** Remembers a bounded number of values, those used lately. */

/**
 * A map that never grows beyond its bound. What was not asked for since the hand last passed it
 * leaves first (the clock algorithm), so that a hit costs one flag and not two changes of a map.
 */
export class Recent<K, V> {
  readonly #max: number;
  readonly #slots = new Map<K, Slot<V>>();

  /** `max` is the number of values kept, at least 1. */
  constructor(max: number) {
    this.#max = max;
  }

  get size(): number {
    return this.#slots.size;
  }

  /** The value, which counts as used now. */
  get(key: K): V | undefined {
    const slot = this.#slots.get(key);
    if (slot === undefined) return undefined;
    slot.used = true;
    return slot.value;
  }

  /** Keeps a value under a key, in place of the one before. */
  set(key: K, value: V): void {
    this.#slots.delete(key);
    if (this.#slots.size >= this.#max) this.#evict();
    this.#slots.set(key, { value, used: false });
  }

  delete(key: K): void {
    this.#slots.delete(key);
  }

  /** Every value, the ones kept longest first; looking at them is no use of them. */
  values(): readonly V[] {
    return [...this.#slots.values()].map(({ value }) => value);
  }

  /**
   * The hand passes from the oldest on; who was used gets one more round, so it ends within two.
   */
  #evict(): void {
    for (const [key, slot] of this.#slots) {
      this.#slots.delete(key);
      if (!slot.used) return;
      slot.used = false;
      this.#slots.set(key, slot);
    }
  }
}

interface Slot<V> {
  readonly value: V;
  used: boolean;
}
