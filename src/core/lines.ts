/** Cuts octets that come piece by piece into lines, and never holds more than one of them. */

/** Takes the pieces in their order. */
export class LineCutter {
  readonly #max: number;
  #held: Uint8Array[] = [];
  #octets = 0;

  /** `max` is how many octets a line may have, without its end. */
  constructor(max: number) {
    this.#max = max;
  }

  /**
   * The lines that this piece completes, without their line feeds; undefined, and nothing more, as
   * soon as one is longer than it may be.
   */
  *of(piece: Uint8Array): Generator<Uint8Array | undefined> {
    let start = 0;
    for (let end = piece.indexOf(lineFeed); end >= 0; end = piece.indexOf(lineFeed, start)) {
      this.#hold(piece.subarray(start, end));
      start = end + 1;
      if (this.#octets > this.#max) return void (yield undefined);
      yield this.rest();
    }
    this.#hold(piece.subarray(start));
    if (this.#octets > this.#max) yield undefined;
  }

  /** What stands behind the last line feed; it is handed out once. */
  rest(): Uint8Array {
    const [only = new Uint8Array()] = this.#held;
    const line = this.#held.length > 1 ? new Uint8Array(Buffer.concat(this.#held)) : only;
    this.#held = [];
    this.#octets = 0;
    return line;
  }

  #hold(octets: Uint8Array): void {
    if (octets.length === 0) return;
    this.#held.push(octets);
    this.#octets += octets.length;
  }
}

const lineFeed = 0x0a;
