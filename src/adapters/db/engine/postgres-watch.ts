/**
 * Knows whether the database is there: asks it again and again, and while it is silent nobody need
 * wait for it.
 */

export interface WatchOptions {
  /** Asks once; ends in bounded time, and throws when there was no answer. */
  readonly beat: () => Promise<void>;
  /** Milliseconds between two questions while there are answers. */
  readonly everyMs: number;
  /** Told once when the answers stop. */
  readonly lost: (error: unknown) => void;
  /** Told once when they come again. */
  readonly found: () => void;
}

/** The watch over one database; it asks nothing before `start` and after `stop`. */
export class Watch {
  readonly #options: WatchOptions;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #away = false;
  #stopped = false;
  #isStarted = false;
  #isBeating = false;
  #failures = 0;

  constructor(options: WatchOptions) {
    this.#options = options;
  }

  /** True from a question without an answer to the next one with. */
  get away(): boolean {
    return this.#away;
  }

  /** Reports an error that another connection has met, as if a beat had met it. */
  fail(error: unknown): void {
    if (this.#stopped) return;
    this.#failures += 1;
    if (this.#away) return;
    this.#away = true;
    this.#options.lost(error);
    // A beat in progress starts the next one when it ends.
    if (!this.#isStarted || this.#isBeating) return;
    clearTimeout(this.#timer);
    this.#next(Math.min(this.#options.everyMs, awayMs));
  }

  start(): void {
    this.#isStarted = true;
    this.#next(this.#options.everyMs);
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  #next(milliseconds: number): void {
    if (this.#stopped) return;
    // Whoever has nothing else to do may end.
    this.#timer = setTimeout(() => void this.#ask(), milliseconds).unref();
  }

  async #ask(): Promise<void> {
    const { beat, everyMs, lost, found } = this.#options;
    const failures = this.#failures;
    this.#isBeating = true;
    try {
      await beat();
      this.#isBeating = false;
      if (this.#stopped) return;
      if (this.#failures !== failures) {
        this.#next(Math.min(everyMs, awayMs));
        return;
      }
      const back = this.#away;
      this.#away = false;
      if (back) found();
      this.#next(everyMs);
    } catch (error) {
      this.#isBeating = false;
      if (this.#stopped) return;
      const before = this.#away;
      this.#away = true;
      if (!before) lost(error);
      this.#next(Math.min(everyMs, awayMs));
    }
  }
}

/** A database that went is asked often, so that its return is noticed at once. */
const awayMs = 500;
