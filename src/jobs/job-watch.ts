/** Knows when each job has done its work, and which have not for longer than they may. */

import type { Instant } from "#core/time.ts";
import type { Clock, Stopwatch } from "#domain/ports.ts";
import type { JobLook } from "#domain/preflight/part.ts";
import type { Job } from "./scheduler.ts";

interface JobWatchDeps {
  readonly jobs: readonly Pick<Job, "name" | "everySeconds">[];
  readonly stopwatch: Stopwatch;
  readonly clock: Pick<Clock, "now">;
}

interface Success {
  /** Milliseconds of the stopwatch. */
  readonly elapsed: number;
  readonly at: Instant;
}

interface Fault {
  readonly at: Instant;
  readonly said: string;
}

/** Told of every run; asked by preflight and by whoever looks at the jobs. */
export class JobWatch {
  readonly #deps: JobWatchDeps;
  readonly #began: number;
  /** The end of the last run that succeeded. */
  readonly #succeeded = new Map<string, Success>();
  /** The end of the last run, where it failed. */
  readonly #failed = new Map<string, Fault>();

  constructor(deps: JobWatchDeps) {
    this.#deps = deps;
    this.#began = deps.stopwatch.elapsedMs();
  }

  /** Takes note of a run and what it failed with, if it did. */
  ran(name: string, failure: string | undefined): void {
    const at = this.#deps.clock.now();
    if (failure !== undefined) {
      this.#failed.set(name, { at, said: failure });
      return;
    }
    this.#succeeded.set(name, { elapsed: this.#deps.stopwatch.elapsedMs(), at });
    this.#failed.delete(name);
  }

  /** Seconds since any job succeeded, or since the start. */
  idleSeconds(): number {
    const successes = [...this.#succeeded.values()].map(({ elapsed }) => elapsed);
    const last = Math.max(this.#began, ...successes);
    return (this.#deps.stopwatch.elapsedMs() - last) / 1000;
  }

  /** The jobs whose last success, or the start, is longer ago than two intervals and a minute. */
  late(): readonly string[] {
    return this.looks()
      .filter(({ late }) => late)
      .map(({ name }) => name);
  }

  /** Every job, in the order of the schedule. */
  looks(): readonly JobLook[] {
    const now = this.#deps.stopwatch.elapsedMs();
    return this.#deps.jobs.map(({ name, everySeconds }) => {
      const success = this.#succeeded.get(name);
      const fault = this.#failed.get(name);
      const since = now - (success?.elapsed ?? this.#began);
      return {
        name,
        everySeconds,
        succeededAt: success?.at,
        failedAt: fault?.at,
        failure: fault?.said,
        late: since > (2 * everySeconds + graceSeconds) * 1000,
      };
    });
  }
}

const graceSeconds = 60;
