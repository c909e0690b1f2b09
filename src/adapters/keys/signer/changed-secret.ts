/**
 * Waits for another PIN when the token refused one: each is tried once, so that no waiting ever
 * locks a token.
 */

/** Where a PIN is read from, again and again. */
export interface ChangedSecretDeps {
  /** The secret as its source gives it now; throws when it cannot be had. */
  readonly read: () => Promise<string>;
  /** Seconds to wait before each further look; the last one goes on. */
  readonly pauses: readonly number[];
}

/** Looks at the source of a secret from time to time, and at once when it is nudged. */
export class ChangedSecret {
  readonly #deps: ChangedSecretDeps;
  #wake: () => void = () => {};
  /** Looks since the last change. */
  #looks = 0;

  constructor(deps: ChangedSecretDeps) {
    this.#deps = deps;
  }

  /**
   * Resolves with the secret once it is another than `tried`; undefined `tried` is no secret, so
   * the first look ends it.
   */
  async after(tried: string | undefined): Promise<string> {
    for (;;) {
      const { pauses } = this.#deps;
      await this.#pause(pauses[Math.min(this.#looks, pauses.length - 1)] ?? 0);
      this.#looks += 1;
      const found = await this.#read();
      if (found === undefined || found === tried) continue;
      if (tried !== undefined) this.#looks = 0;
      return found;
    }
  }

  /** Has the next look now. */
  nudge(): void {
    this.#wake();
  }

  async #read(): Promise<string | undefined> {
    try {
      return await this.#deps.read();
    } catch {
      return undefined; // Absent, being written, or its server is away: nothing to try.
    }
  }

  async #pause(seconds: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    const timer = setTimeout(resolve, seconds * 1000);
    await promise;
    clearTimeout(timer);
  }
}
