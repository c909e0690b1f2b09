/**
 * Dice that fall the same way every time (mulberry32), and what fuzzing makes of them: octets,
 * near-JSON, damage to what is whole.
 */

export class Dice {
  #state: number;

  constructor(seed: number) {
    this.#state = seed * 0x9e3779b9;
  }

  below(limit: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % limit;
  }

  /** One of them; the list is not empty. */
  of<T>(list: readonly T[]): T {
    return list[this.below(list.length)] as T; // Within the list.
  }

  octets(lengthMax: number): Uint8Array<ArrayBuffer> {
    return Uint8Array.from({ length: this.below(lengthMax) }, () => this.below(256));
  }

  /** Octets, near-JSON, or JSON with members of every type, `given` among their values. */
  jsonish(given: string, names: readonly string[]): string | Uint8Array<ArrayBuffer> {
    const value = (depth: number): unknown => {
      const kinds = [null, true, -1, 1e308, "", "\u0000", "\ud800", given, [], {}, 2 ** 53];
      if (depth > 0 && this.below(3) === 0) return { [this.of(names)]: value(depth - 1) };
      if (depth > 0 && this.below(3) === 0) return [value(depth - 1), value(depth - 1)];
      return this.of(kinds);
    };
    const made = Object.fromEntries(Array.from({ length: 4 }, () => [this.of(names), value(3)]));
    const text = JSON.stringify(made);
    const choice = this.below(4);
    if (choice === 0) return this.octets(200);
    return choice === 1 ? text.slice(0, this.below(text.length)) : text;
  }

  /**
   * The octets with one to three places damaged: flipped, cut out, doubled, made long, or taken
   * from elsewhere.
   */
  damaged(octets: Uint8Array): Uint8Array<ArrayBuffer> {
    let out = Uint8Array.from(octets);
    for (let times = 1 + this.below(3); times > 0; times--) out = this.#damagedOnce(out);
    return out;
  }

  #damagedOnce(octets: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
    const at = this.below(Math.max(1, octets.length));
    const end = Math.min(octets.length, at + 1 + this.below(40));
    const joined = (...parts: readonly Uint8Array[]) => Uint8Array.from(Buffer.concat(parts));
    const [head, piece, tail] = [octets.slice(0, at), octets.slice(at, end), octets.slice(end)];
    switch (this.below(6)) {
      case 0:
        return joined(head, tail);
      case 1:
        return joined(head, piece, piece, piece, tail);
      case 2:
        return joined(head, this.octets(20), piece, tail);
      case 3:
        return octets.slice(0, at);
      case 4:
        return joined(head, Uint8Array.of(0x30, 0x84, 0x7f, 0xff, 0xff, 0xff), piece, tail);
      default:
        if (at < octets.length) octets[at] = this.below(256);
        return octets;
    }
  }
}

/** The octets as characters a person can see. */
export const printable = (octets: Uint8Array): string =>
  Array.from(octets, (octet) => String.fromCharCode(33 + (octet % 94))).join("");
