/** The requests of one process, and how it goes out of service while they still come. */

/** Counts them, and says how far on its way out the process is. */
export class Traffic {
  #active = 0;
  #arrivals = 0;
  #leaving = false;
  #draining = false;
  #idle: (() => void) | undefined;
  #endLasting: () => void = () => {};

  /** True once this process is on its way out: readiness says so (PRC-2). */
  get leaving(): boolean {
    return this.#leaving;
  }

  /** Requests being answered now. */
  get active(): number {
    return this.#active;
  }

  /** True while new requests are refused. */
  get draining(): boolean {
    return this.#draining;
  }

  /** A request has come. */
  came(): void {
    this.#active++;
    this.#arrivals++;
  }

  /** One has been answered. */
  answered(): void {
    this.#active--;
    if (this.#active === 0) this.#idle?.();
  }

  /** `end` is called when new requests are refused: to end answers that go on by themselves. */
  whenDraining(end: () => void): void {
    this.#endLasting = end;
  }

  /** From now on this is not ready, and each connection is told to close with its next answer. */
  leave(): void {
    this.#leaving = true;
  }

  /**
   * Resolves when no request has come or was under way for `quietMs`, or after `timeoutMs`: who
   * was accepted before may be in the middle of a handshake, or of writing the next request.
   */
  async quiet(quietMs: number, timeoutMs: number): Promise<void> {
    const end = performance.now() + timeoutMs;
    let since = performance.now();
    let seen = this.#arrivals;
    for (let now = since; now < end && now - since < quietMs; now = performance.now()) {
      await Bun.sleep(Math.min(stepMs, end - now));
      if (this.#active === 0 && this.#arrivals === seen) continue;
      seen = this.#arrivals;
      since = performance.now();
    }
  }

  /**
   * From now on new requests are refused; resolves when those under way have been answered, or
   * after the time.
   */
  async drain(timeoutMs: number): Promise<void> {
    this.#leaving = true;
    this.#draining = true;
    this.#endLasting();
    if (this.#active === 0) return;
    const idle = new Promise<void>((resolve) => {
      this.#idle = resolve;
    });
    let timer: Timer | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, timeoutMs);
    });
    await Promise.race([idle, late]);
    clearTimeout(timer);
  }
}

const stepMs = 20;
