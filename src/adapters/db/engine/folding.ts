/** When new rows are taken into indexes, counters and text index: while many wait, and at rest. */

import { Problem } from "#core/problems.ts";

import { foldedTables, foldSome, rowsWaiting } from "./folds.ts";
import type { Connection } from "./connection.ts";

export interface FoldingDeps {
  readonly reader: Connection;
  readonly writer: Connection;
  /** Runs a unit of work with those that wait. */
  readonly run: <T>(unit: () => Promise<T>) => Promise<T>;
  /** True while what can wait must not be written. */
  readonly scarce: () => boolean;
  readonly onFault: (sentence: string, error: unknown) => void;
}

/**
 * Nothing is lost with it: what is to do follows from marks and rows alone, and answers hold the
 * rows that wait as well. So it acknowledges nothing, gives way to a full disk, and tries again
 * later when a unit of it fails.
 */
export class Folding {
  readonly #deps: FoldingDeps;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #working: Promise<void> | undefined;
  /** Rows committed since the last round, about. */
  #written = 0;
  #closed = false;

  constructor(deps: FoldingDeps) {
    this.#deps = deps;
  }

  /** Takes in what an earlier process has left. */
  start(): void {
    this.#due(restMs);
  }

  /** A batch has committed, with so many events: about as many rows wait as it has events. */
  committed(events: number): void {
    this.#written += events;
    if (this.#working !== undefined) return; // Another look follows the round.
    if (this.#written < waitingMax) this.#due(restMs);
    else this.#begin();
  }

  /** Takes in what is left, as long as that is soon done; resolves when no unit is under way. */
  async close(): Promise<void> {
    const until = performance.now() + closingMs;
    await this.#working;
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#round(() => performance.now() < until);
  }

  #due(afterMs: number): void {
    if (this.#closed || this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#begin();
    }, afterMs);
    this.#timer.unref();
  }

  #begin(): void {
    if (this.#closed || this.#working !== undefined) return;
    this.#working = this.#round(() => !this.#closed).finally(() => {
      this.#working = undefined;
      // Committed when the round had looked already.
      if (this.#written > 0) this.#due(restMs);
    });
  }

  async #anyWaiting(): Promise<boolean> {
    for (const table of foldedTables) {
      if ((await rowsWaiting(this.#deps.reader, table)) > 0) return true;
    }
    return false;
  }

  /** Unit by unit until nothing is left, it may not go on, or one fails. */
  async #round(mayGoOn: () => boolean): Promise<void> {
    this.#written = 0;
    try {
      // Only a look where nothing waits: a database at rest begins no transaction.
      for (let more = await this.#anyWaiting(); more && mayGoOn(); ) {
        if (this.#deps.scarce()) return this.#due(laterMs);
        more = await this.#deps.run(() => foldSome(this.#deps.writer, rowsAtOnce));
        // Whoever shared a batch with the last unit may have come after it.
        this.#due(restMs);
      }
    } catch (error) {
      // A database that refuses has told so already, and so has one that is being closed.
      if (!(error instanceof Problem)) this.#deps.onFault("new rows were not indexed", error);
      this.#due(laterMs);
    }
  }
}

/** Rows that may wait while others are written: answers walk through them. */
const waitingMax = 1024;
/**
 * Rows of one unit, which takes 4 ms for them with its commit; a row of fewer at once costs up to
 * twice as much.
 */
const rowsAtOnce = 128;
/** From a write to the round that takes it in, when nothing hurries. */
const restMs = 2000;
const laterMs = 5000;
const closingMs = 2000;
