/** Checkpoints of a SQLite database made in a thread of their own, while commits go on. */

import type { Worker } from "node:worker_threads";

import { startThread } from "#adapters/start-thread.ts";

import {
  type CheckpointAnswer,
  type CheckpointJob,
  checkpointNow,
  noMoreCheckpoints,
} from "./checkpoint-thread-data.ts";

/** Makes one checkpoint at a time, in a thread that is started for the first of them. */
export class CheckpointThread {
  readonly #workerUrl: string;
  readonly #job: CheckpointJob;
  readonly #failed: (error: Error) => void;
  #worker: Worker | undefined;
  #underWay: PromiseWithResolvers<void> | undefined;
  /** Those that have the database open, also when they were told to end: when each has ended. */
  readonly #living = new Map<Worker, Promise<void>>();

  /**
   * `workerUrl` is the main module, which runs `runCheckpointJob` when it finds itself in such a
   * thread; `failed` is told what kept a checkpoint from being made, with SQLite's code if it has
   * one.
   */
  constructor(workerUrl: string, job: CheckpointJob, failed: (error: Error) => void) {
    this.#workerUrl = workerUrl;
    this.#job = job;
    this.#failed = failed;
  }

  /** Begins a checkpoint, unless one is under way; resolves when it is over, however it ended. */
  begin(): Promise<void> {
    if (this.#underWay !== undefined) return this.#underWay.promise;
    try {
      this.#worker ??= this.#started();
    } catch (error) {
      // No thread is to be had: that is no fault of the database.
      this.#failed(new Error("the thread of checkpoints does not start", { cause: error }));
      return Promise.resolve();
    }
    this.#underWay = Promise.withResolvers<void>();
    this.#worker.postMessage(checkpointNow);
    return this.#underWay.promise;
  }

  /**
   * Ends the thread when its checkpoint has ended, by force when that takes long; the next one has
   * another thread. Resolves when none is left, whoever told it to end.
   */
  async close(): Promise<void> {
    this.#worker?.postMessage(noMoreCheckpoints);
    this.#worker = undefined;
    this.#over();
    const ending = [...this.#living];
    const late = setTimeout(() => {
      for (const [worker] of ending) void worker.terminate();
    }, patienceMs);
    await Promise.all(ending.map(([, ended]) => ended));
    clearTimeout(late);
  }

  #started(): Worker {
    const worker = startThread(this.#workerUrl, { workerData: this.#job });
    worker.unref();
    const ended = Promise.withResolvers<void>();
    this.#living.set(worker, ended.promise);
    const over = (fault: Error | undefined) => {
      // One that was told to end may end when another has begun.
      if (this.#worker !== worker) return;
      this.#over();
      if (fault === undefined) return;
      this.#worker = undefined;
      this.#failed(fault);
    };
    worker.on("message", (said: CheckpointAnswer) => over(said === "" ? undefined : faultOf(said)));
    worker.on("error", (error) => over(new Error(String(error))));
    worker.on("exit", () => {
      this.#living.delete(worker);
      ended.resolve();
      over(new Error("the thread of checkpoints ended"));
    });
    return worker;
  }

  #over(): void {
    this.#underWay?.resolve();
    this.#underWay = undefined;
  }
}

const faultOf = ({ message, code }: Exclude<CheckpointAnswer, "">): Error =>
  Object.assign(new Error(message), { code });

/** A checkpoint that takes longer than this may be broken off: nothing depends on it. */
const patienceMs = 5000;
