/** How often something is asked for again because of what others do. */

/**
 * Of one question that events, or the time, have asked again. An answer that is on its way is
 * waited for: where events come faster than it does, none would ever come. Behind one that took
 * long comes a rest, so that a page that is only open costs the server a small part of its time.
 */
export class Pace {
  readonly #again: () => void;
  readonly #now: () => number;
  /** Which attempt is the last one; undefined while none is on its way. */
  #attempt: symbol | undefined;
  #restUntil = 0;
  #isHeard = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(again: () => void, now: () => number = () => performance.now()) {
    this.#again = again;
    this.#now = now;
  }

  /** An attempt begins, in the place of one before; gives what ends it, answered or not. */
  begin(): () => void {
    this.#leave();
    const attempt = Symbol("attempt");
    this.#attempt = attempt;
    const begun = this.#now();
    return () => {
      if (this.#attempt !== attempt) return;
      this.#attempt = undefined;
      const now = this.#now();
      const rest = Math.max(0, now - begun - quickMs) * restShare;
      this.#restUntil = now + Math.min(rest, restMax);
      if (this.#isHeard) this.#plan();
    };
  }

  /** Something has changed: the question is asked again as soon as it may be. */
  hear(): void {
    this.#isHeard = true;
    if (this.#attempt === undefined) this.#plan();
  }

  /** Asks no more. */
  stop(): void {
    this.#leave();
    this.#attempt = undefined;
  }

  #plan(): void {
    this.#timer ??= setTimeout(
      () => {
        this.#leave();
        this.#again();
      },
      Math.max(0, this.#restUntil - this.#now()),
    );
  }

  #leave(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#isHeard = false;
  }
}

/** As long as an answer may take on any line without anybody's resting for it. */
const quickMs = 250;
/** So many times as long as it took beyond that. */
const restShare = 20;
/** Whatever it took: a line that hung, or a night's sleep, says nothing of the server. */
const restMax = 60_000;
