/** Gives memory back once nobody asks for anything any more. */

import { processorMs } from "#adapters/telemetry/resources.ts";

/** What has to be known, and done. */
export interface RestDeps {
  /** Milliseconds of processor time this process has used. */
  readonly cpuMs: () => number;
  /** What lets go of something that only speed needs, after so many quiet looks. */
  readonly steps: ReadonlyMap<number, () => void>;
}

/**
 * Looks every few seconds how busy the process was; each step is taken once while it stays quiet,
 * and again after it was busy.
 */
export class RestWatch {
  readonly #deps: RestDeps;
  #cpuMs: number;
  #quiet = 0;

  constructor(deps: RestDeps) {
    this.#deps = deps;
    this.#cpuMs = deps.cpuMs();
  }

  /** Begins to look; gives what ends it. */
  start(): () => void {
    const timer = setInterval(() => this.look(), everyMs).unref();
    return () => clearInterval(timer);
  }

  /** One look; the timer's business. */
  look(): void {
    const now = this.#deps.cpuMs();
    const used = now - this.#cpuMs;
    this.#cpuMs = now;
    if (used > busyMs) {
      this.#quiet = 0;
      return;
    }
    this.#quiet += 1;
    this.#deps.steps.get(this.#quiet)?.();
  }
}

/** Watches this process; gives what ends that. */
export function atRest(rest: () => void): () => void {
  const restAndCollect = () => {
    rest();
    collect();
  };
  const steps = new Map([
    [3, restAndCollect],
    // What was freed goes back to the system with another one.
    [4, collect],
    // Compiled code is a third of what is left by then. It goes late, because whoever asks next
    // waits until it is made anew; that holds the thread for 35 ms, longer with garbage about.
    [8, () => Bun.shrink()],
  ]);
  return new RestWatch({ cpuMs: processorMs, steps }).start();
}

/** Beside the work of this thread. */
const collect = () => Bun.gc(false);

const everyMs = 5000;
/** Of processor time between two looks: a twentieth. */
const busyMs = 250;
