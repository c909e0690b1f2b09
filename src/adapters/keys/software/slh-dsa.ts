/**
 * SLH-DSA in worker threads: a signature takes seconds, in which the signer goes on serving others.
 */

import { startThread } from "#adapters/start-thread.ts";
import { refuse } from "#core/problems.ts";
import type { SlhDsaSet } from "#core/slh-dsa.ts";

import { SlhDsaSecret } from "./secrets.ts";
import type { SlhDsaJob } from "./slh-dsa-data.ts";

/**
 * One job at a time, each in a worker of its own, so that a secret lives in a second thread no
 * longer than needed.
 */
export class SlhDsaWork {
  readonly #workerUrl: string;
  #last: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  constructor(workerUrl: string) {
    this.#workerUrl = workerUrl;
  }

  async generate(set: SlhDsaSet): Promise<SlhDsaSecret> {
    return new SlhDsaSecret(set, await this.#queued({ slhDsa: set }));
  }

  /** `message` may be overwritten after the call. */
  sign({ set, octets }: SlhDsaSecret, message: Uint8Array): Promise<Uint8Array> {
    return this.#queued({ slhDsa: set, secret: octets, message: Uint8Array.from(message) });
  }

  /** Refuses `overloaded` when so much waits that the last would be given up on before its turn. */
  async #queued(job: SlhDsaJob): Promise<Uint8Array> {
    if (this.#waiting >= waitingMax) throw refuse("overloaded", { retry_after: 5 });
    this.#waiting += 1;
    const run = this.#last.then(() => this.#run(job));
    this.#last = run.catch(() => {}); // Its caller sees the failure; the next job starts clean.
    try {
      return await run;
    } finally {
      this.#waiting -= 1;
    }
  }

  #run(job: SlhDsaJob): Promise<Uint8Array> {
    const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>();
    const worker = startThread(this.#workerUrl, { workerData: job });
    worker.once("message", resolve);
    worker.once("error", reject);
    worker.once("exit", () => reject(new Error("an SLH-DSA worker ended without an answer")));
    return promise;
  }
}

const waitingMax = 16;
