/**
 * Runs the schedule: each job by itself, never twice at once, with jitter, until it is stopped at a
 * safe point.
 */

import { findShortage } from "#core/shortage.ts";

/** One line of the schedule. */
export interface Job {
  readonly name: string;
  /** Seconds from the end of one run to the start of the next. */
  readonly everySeconds: number;
  /** Longest time from the start of the process to the first run, when that is not the interval. */
  readonly firstWithinSeconds?: number;
  run(): Promise<void>;
}

/** Timers as the runtime has them; a test turns the hands itself. */
export interface Timers {
  /** Calls once after `seconds`; gives the cancellation. */
  after(seconds: number, run: () => void): () => void;
}

interface Deps {
  readonly jobs: readonly Job[];
  readonly timers: Timers;
  /** A number from 0 (inclusive) to 1 (exclusive). */
  readonly jitter: () => number;
  /** Told the outcome of every run; a failed run is tried again at its next time. */
  readonly onRun: (job: string, error: unknown) => void;
}

/** The schedule of a running server. */
export class Scheduler {
  readonly #deps: Deps;
  readonly #pending = new Map<string, () => void>();
  readonly #active = new Map<string, Promise<void>>();
  readonly #again = new Set<string>();
  /** Consecutive runs of each job that failed because the system lacked a resource. */
  readonly #shortages = new Map<string, number>();
  #stopped = false;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /**
   * Starts every job after a share of its interval, so that replicas started together do not work
   * together.
   */
  start(): void {
    for (const job of this.#deps.jobs) {
      this.#wait(job, (job.firstWithinSeconds ?? job.everySeconds) * this.#deps.jitter());
    }
  }

  /**
   * Runs a job now; when it runs already, once more after that. If its last run lacked a resource
   * of the system, it stays at the time of its next attempt. Refuses an unknown name as a bug.
   */
  trigger(name: string): void {
    const job = this.#deps.jobs.find((candidate) => candidate.name === name);
    if (job === undefined) throw new Error(`no such job: ${name}`);
    if (this.#stopped) return;
    if (this.#active.has(name)) this.#again.add(name);
    else if (!this.#shortages.has(name)) this.#begin(job);
  }

  /** Starts nothing more, and resolves when every job under way has come to its end. */
  async stop(): Promise<void> {
    this.#stopped = true;
    for (const cancel of this.#pending.values()) cancel();
    this.#pending.clear();
    await Promise.all(this.#active.values());
  }

  #wait(job: Job, seconds: number): void {
    if (this.#stopped) return;
    this.#pending.set(
      job.name,
      this.#deps.timers.after(seconds, () => this.#begin(job)),
    );
  }

  #begin(job: Job): void {
    this.#pending.get(job.name)?.();
    this.#pending.delete(job.name);
    this.#active.set(job.name, this.#run(job));
  }

  async #run(job: Job): Promise<void> {
    let failure: unknown;
    try {
      await job.run();
    } catch (error) {
      // A job that fails must not end the schedule; it is reported and comes again.
      failure = error;
    }
    this.#active.delete(job.name);
    this.#deps.onRun(job.name, failure);
    const backoff = this.#backoffSeconds(job.name, failure);
    const again = this.#again.delete(job.name) && !this.#stopped;
    if (again && backoff === 0) this.#begin(job);
    else {
      const seconds = again ? backoff : Math.max(backoff, job.everySeconds);
      this.#wait(job, seconds * (1 + jitterShare * this.#deps.jitter()));
    }
  }

  /**
   * Returns the least time to the next run. It is 0, except for a job that lacks a descriptor,
   * thread, inode or memory: one second, doubled with each failure up to a minute.
   */
  #backoffSeconds(name: string, failure: unknown): number {
    if (findShortage(failure) === undefined) {
      this.#shortages.delete(name);
      return 0;
    }
    const before = this.#shortages.get(name) ?? 0;
    this.#shortages.set(name, before + 1);
    return Math.min(backoffSecondsMax, 2 ** before);
  }
}

const backoffSecondsMax = 60;
/** Up to a tenth more than the interval. */
const jitterShare = 0.1;
