/** Remembers a bounded number of values, those used lately. */

/** Bound of the bytes that the values take together. */
export interface RecentBytes<K, V> {
  readonly max: number;
  /** Returns the bytes of a value with its key, about. */
  readonly measure: (key: K, value: V) => number;
}

/**
 * A map that never grows beyond its bound. What was not asked for since the hand last passed it
 * leaves first (the clock algorithm), so that a hit costs one flag and not two changes of a map.
 */
export class Recent<K, V> {
  readonly #max: number;
  readonly #bytes: RecentBytes<K, V> | undefined;
  readonly #slots = new Map<K, Slot<V>>();
  #taken = 0;

  /** `max` is the number of values kept, at least 1; `bytes` is a further bound. */
  constructor(max: number, bytes?: RecentBytes<K, V>) {
    this.#max = max;
    this.#bytes = bytes;
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
    this.delete(key);
    const bytes = this.#bytes?.measure(key, value) ?? 0;
    const most = this.#bytes?.max ?? 0;
    while (this.#slots.size >= this.#max || (this.#slots.size > 0 && this.#taken + bytes > most)) {
      this.#evict();
    }
    this.#slots.set(key, { value, bytes, used: false });
    this.#taken += bytes;
  }

  delete(key: K): void {
    this.#taken -= this.#slots.get(key)?.bytes ?? 0;
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
      if (!slot.used) {
        this.#taken -= slot.bytes;
        return;
      }
      slot.used = false;
      this.#slots.set(key, slot);
    }
  }
}

interface Slot<V> {
  readonly value: V;
  readonly bytes: number;
  used: boolean;
}
