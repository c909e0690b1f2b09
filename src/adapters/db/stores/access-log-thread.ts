/**
 * The access log of a busy SQLite instance is written by a thread of its own, so that no request
 * pays for its rows.
 */

import type { Worker } from "node:worker_threads";

import { startThread } from "#adapters/start-thread.ts";
import type { AccessLogRow } from "#domain/audit/store.ts";
import { packOf } from "./access-log-packs.ts";
import { type AccessLogJob, type AccessLogNote, endOfRows } from "./access-log-thread-data.ts";

/** Writes rows in another thread, started at the first of them. One call at a time. */
export class AccessLogThread {
  readonly #workerUrl: string;
  readonly #job: AccessLogJob;
  readonly #onFault: (sentence: string, error: unknown) => void;
  readonly #onTrim: (rows: number) => void;
  #worker: Worker | undefined;
  #waiting: { readonly done: () => void; readonly failed: (error: Error) => void } | undefined;

  /**
   * `workerUrl` is the main module, which runs `runAccessLogJob` when it finds itself in such a
   * thread.
   */
  constructor(
    workerUrl: string,
    job: AccessLogJob,
    onFault: (sentence: string, error: unknown) => void,
    onTrim: (rows: number) => void,
  ) {
    this.#workerUrl = workerUrl;
    this.#job = job;
    this.#onFault = onFault;
    this.#onTrim = onTrim;
  }

  /** Resolves when the rows are committed; rejects with the reason why they are not. */
  write(rows: readonly AccessLogRow[]): Promise<void> {
    const worker = this.#started();
    return new Promise((done, failed) => {
      this.#waiting = { done, failed };
      worker.postMessage(packOf(rows));
    });
  }

  /**
   * Ends the thread, by force when it does not by itself; the rows written before are in the file.
   */
  async close(): Promise<void> {
    const worker = this.#worker;
    this.#worker = undefined;
    if (worker === undefined) return;
    const ended = new Promise((resolve) => worker.once("exit", resolve));
    worker.postMessage(endOfRows);
    const late = setTimeout(() => void worker.terminate(), patienceMs);
    await ended;
    clearTimeout(late);
  }

  #started(): Worker {
    if (this.#worker !== undefined) return this.#worker;
    const worker = startThread(this.#workerUrl, { workerData: this.#job });
    worker.on("message", (said: string | AccessLogNote) => {
      if (typeof said === "string") this.#answered(said === "" ? undefined : said);
      else if ("trimCount" in said) this.#onTrim(said.trimCount);
      else this.#onFault(said.sentence, new Error(said.error));
    });
    worker.on("error", (error) => this.#answered(String(error)));
    worker.on("exit", () => {
      // One that was told to end may end when another has begun.
      if (this.#worker !== worker) return;
      this.#worker = undefined;
      this.#answered("the thread of the access log ended");
    });
    this.#worker = worker;
    return worker;
  }

  #answered(fault: string | undefined): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (fault === undefined) waiting?.done();
    else waiting?.failed(new Error(fault));
  }
}

const patienceMs = 5000;
