/** Keeps what readers of the feed are sent from taking more than a small part of this process. */

import { nextTurn } from "#core/turns.ts";
import type { Later, Stopwatch } from "#domain/ports.ts";

export interface PaceDeps {
  readonly stopwatch: Stopwatch;
  readonly later: Later;
}

/** Somebody who waits, and how many events it would be sent now. */
interface Waiting {
  readonly go: () => void;
  readonly events: () => number;
}

/**
 * All readers share what is sent in a second, first come, first served, and little of it is sent in
 * one turn of the event loop. Who waits for long falls behind, which its ring bounds: whatever
 * readers are told of, it shall not take longer because they are told.
 */
export class Pace {
  readonly #deps: PaceDeps;
  readonly #waiting: Waiting[] = [];
  #left = savedMax;
  #filledAt: number;
  #serving = false;

  constructor(deps: PaceDeps) {
    this.#deps = deps;
    this.#filledAt = deps.stopwatch.elapsedMs();
  }

  /** Resolves when it is the caller's turn to be sent what it then has. */
  mine(events: () => number): Promise<void> {
    return new Promise((go) => {
      this.#waiting.push({ go, events });
      if (!this.#serving) void this.#serve();
    });
  }

  async #serve(): Promise<void> {
    this.#serving = true;
    while (this.#waiting.length > 0) {
      await this.#filled();
      for (let sent = 0; sent < perTurn; ) {
        const next = this.#waiting.shift();
        if (next === undefined) break;
        sent += sending + next.events();
        this.#left -= sending + next.events();
        next.go();
      }
      await nextTurn();
    }
    this.#serving = false;
  }

  /** Resolves when there is something left, at once where there is. */
  async #filled(): Promise<void> {
    for (;;) {
      const now = this.#deps.stopwatch.elapsedMs();
      const grown = ((now - this.#filledAt) / 1000) * perSecond;
      this.#left = Math.min(savedMax, this.#left + grown);
      this.#filledAt = now;
      if (this.#left > 0) return;
      const wait = Math.max(1, (-this.#left / perSecond) * 1000);
      await new Promise<void>((resolve) => this.#deps.later(wait, resolve));
    }
  }
}

/**
 * In events, each of which takes some 3 µs to encrypt and to hand to the kernel: what a second has,
 * what may be saved up, and what a turn has.
 */
const perSecond = 25_000;
const savedMax = 50_000;
const perTurn = 1000;
/** What it takes to send anything at all. */
const sending = 20;
