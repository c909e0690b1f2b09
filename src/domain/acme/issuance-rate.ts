/** How fast this process makes certificates of orders, as far as it has seen. */

/**
 * Two cheap looks at the same thing: what one order after the other would come to, by the usual
 * time that the certificate of one takes, and the most that came in any second. Either is less than
 * what it could do.
 */
export class IssuanceRate {
  /** Milliseconds that the last ones took. */
  readonly #took: number[] = [];
  #next = 0;
  #second = 0;
  #inSecond = 0;
  #most = 0;

  /** Tells of one that was made; both are milliseconds of one clock. */
  made(begunMs: number, endedMs: number): void {
    const took = endedMs - begunMs;
    // Somebody has set the clock.
    if (took < 0 || took > tookMaxMs) return;
    this.#took[this.#next] = Math.max(took, tookMinMs);
    this.#next = (this.#next + 1) % remembered;
    const second = Math.floor(endedMs / 1000);
    this.#inSecond = second === this.#second ? this.#inSecond + 1 : 1;
    this.#second = second;
    this.#most = Math.max(this.#most, this.#inSecond);
  }

  /** Certificates per second; undefined before enough were made to tell. */
  get perSecond(): number | undefined {
    if (this.#took.length < enough) return undefined;
    const sorted = this.#took.toSorted((a, b) => a - b);
    const usual = sorted[Math.floor(sorted.length / 2)] ?? tookMaxMs;
    return Math.max(this.#most, 1000 / (usual * shareOfOrder));
  }
}

/** A whole order, with its proofs and requests, costs as much as so many certificates. */
const shareOfOrder = 4;
const remembered = 64;
const enough = 8;
const tookMinMs = 1;
const tookMaxMs = 60_000;
