/**
 * Signatures of an archive, verified by a thread of its own while the archive is loaded. What it
 * finds is true of octets and keys, wherever they stand; what stands in the database is proven
 * there, and only the arithmetic is spared.
 */

import type { Worker } from "node:worker_threads";

import { startThread } from "#adapters/start-thread.ts";
import { systemRandom } from "#adapters/system.ts";
import type { Opener } from "#core/backup/archive.ts";
import type { AheadJob, FromAhead, ToAhead } from "./ahead-thread-data.ts";

/** One thread, from when the archive begins to be read. */
export class SignaturesAhead {
  readonly #worker: Worker;
  readonly #found: Promise<FromAhead | undefined>;

  /** `workerUrl` is the main module. */
  constructor(of: { readonly archive: string; readonly opener: Opener }, workerUrl: string) {
    const job: AheadJob = { ahead: { ...of, salt: systemRandom.bytes(16) } };
    this.#worker = startThread(workerUrl, { workerData: job });
    this.#found = new Promise((resolve) => {
      this.#worker.on("message", (found: FromAhead) => resolve(found));
      // Nothing is known then, and everything is verified where it is proven.
      this.#worker.on("error", () => resolve(undefined));
      this.#worker.on("exit", () => resolve(undefined));
    });
  }

  /** Ends it; gives `verifiedText` of what it has verified so far. */
  async end(): Promise<FromAhead | undefined> {
    const end: ToAhead = "end";
    this.#worker.postMessage(end);
    return await this.#found;
  }
}
