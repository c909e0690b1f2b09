/** Knows which jobs have not done their work for longer than they may. */

import type { Stopwatch } from "#domain/ports.ts";
import type { Job } from "./scheduler.ts";

/** Told of every run; asked by preflight. */
export class JobWatch {
  readonly #stopwatch: Stopwatch;
  readonly #jobs: readonly Pick<Job, "name" | "everySeconds">[];
  readonly #began: number;
  /** Milliseconds of the stopwatch at the end of the last run that succeeded. */
  readonly #succeeded = new Map<string, number>();

  constructor(jobs: readonly Pick<Job, "name" | "everySeconds">[], stopwatch: Stopwatch) {
    this.#jobs = jobs;
    this.#stopwatch = stopwatch;
    this.#began = stopwatch.elapsedMs();
  }

  /** Takes note of a run and what it failed with, if it did. */
  ran(name: string, error: unknown): void {
    if (error === undefined) this.#succeeded.set(name, this.#stopwatch.elapsedMs());
  }

  /** Seconds since any job succeeded, or since the start. */
  idleSeconds(): number {
    const last = Math.max(this.#began, ...this.#succeeded.values());
    return (this.#stopwatch.elapsedMs() - last) / 1000;
  }

  /** The jobs whose last success, or the start, is longer ago than two intervals and a minute. */
  late(): readonly string[] {
    const now = this.#stopwatch.elapsedMs();
    return this.#jobs
      .filter(({ name, everySeconds }) => {
        const last = this.#succeeded.get(name) ?? this.#began;
        return now - last > (2 * everySeconds + graceSeconds) * 1000;
      })
      .map(({ name }) => name);
  }
}

const graceSeconds = 60;
