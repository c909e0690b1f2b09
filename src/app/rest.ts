/** Gives memory back once nobody asks for anything any more. */

import { processorMs } from "#adapters/telemetry/resources.ts";

/** What has to be known, and done. */
export interface RestDeps {
  /** Milliseconds of processor time this process has used. */
  readonly cpuMs: () => number;
  /** Lets go of what only speed needs. */
  readonly rest: () => void;
}

/**
 * Looks every few seconds how busy the process was; `rest` is called once when it has been quiet
 * for three looks after it was busy.
 */
export class RestWatch {
  readonly #deps: RestDeps;
  #cpuMs: number;
  #busy = true;
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
      this.#busy = true;
      this.#quiet = 0;
      return;
    }
    this.#quiet += 1;
    if (!this.#busy || this.#quiet < quietLooks) return;
    this.#busy = false;
    this.#deps.rest();
  }
}

/** Watches this process; gives what ends that. Its own garbage is collected beside its work. */
export function atRest(rest: () => void): () => void {
  const restful = () => {
    rest();
    Bun.gc(false);
  };
  return new RestWatch({ cpuMs: processorMs, rest: restful }).start();
}

const everyMs = 5000;
/** Of processor time between two looks: a twentieth. */
const busyMs = 250;
const quietLooks = 3;
