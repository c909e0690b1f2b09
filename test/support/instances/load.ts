/** Clients that ask without a pause while servers come and go, and what became of each request. */

/** One kind of request; it resolves with the status of a whole answer. */
export type Ask = () => Promise<number>;

/**
 * Loops of requests, counted.
 * @param pauseMs milliseconds between the response to a client and its next request
 */
export class Load {
  /** Answers of 2xx, by the name of their client. */
  readonly answered = new Map<string, number>();
  /** What was refused, reset or cut off. */
  readonly failures: string[] = [];
  #longestMs = 0;
  #stopped = false;
  readonly #loops: Promise<void>[] = [];
  readonly #pauseMs: number;

  constructor(pauseMs = 0) {
    this.#pauseMs = pauseMs;
  }

  /** Starts a client that asks again as soon as it has its answer. */
  start(name: string, ask: Ask): void {
    this.answered.set(name, 0);
    this.#loops.push(this.#run(name, ask));
  }

  /** Resolves when every client has had so many more answers. */
  async more(count: number): Promise<void> {
    const before = new Map(this.answered);
    const enough = () =>
      [...this.answered].every(([name, now]) => now >= (before.get(name) ?? 0) + count);
    while (!enough() && this.failures.length === 0) await Bun.sleep(5);
  }

  /** The longest that one request has taken since this was asked before. */
  longestSince(): number {
    const longest = this.#longestMs;
    this.#longestMs = 0;
    return longest;
  }

  /** Ends every client after its answer. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#loops);
  }

  async #run(name: string, ask: Ask): Promise<void> {
    while (!this.#stopped) {
      const begun = performance.now();
      try {
        const status = await ask();
        if (status >= 200 && status < 300) {
          this.answered.set(name, (this.answered.get(name) ?? 0) + 1);
        } else this.failures.push(`${name}: ${status}`);
      } catch (error) {
        this.failures.push(`${name}: ${String(error)}`);
      }
      this.#longestMs = Math.max(this.#longestMs, performance.now() - begun);
      if (this.#pauseMs > 0) await Bun.sleep(this.#pauseMs);
    }
  }
}
