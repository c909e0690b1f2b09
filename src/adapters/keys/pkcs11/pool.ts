/**
 * Spreads work over the signer's workers: as many operations at once as the token gives us
 * sessions.
 */

import { Worker } from "node:worker_threads";

import { LaunchFault } from "#adapters/keys/requests.ts";

import type { Outcome, WorkerSays, WorkerStart, Work } from "./jobs.ts";

interface Job {
  readonly work: Work;
  readonly done: (outcome: Outcome) => void;
}

/**
 * The workers of one signer. Idle ones take from one queue; the process ends when one of them dies.
 */
export class WorkerPool {
  readonly #idle: Worker[] = [];
  /** Tells a worker's listener which jobs the next message answers. */
  readonly #take = new Map<Worker, (jobs: Job[]) => void>();
  readonly #queue: Job[] = [];
  readonly #broken: (reason: string) => void;
  /** Smoothed duration of one signature. */
  #signMs = 1;
  #scheduled = false;

  private constructor(broken: (reason: string) => void) {
    this.#broken = broken;
  }

  /** Starts the workers; throws a `device` fault when one of them gets no token session. */
  static async start(deps: {
    readonly workerUrl: string;
    readonly count: number;
    readonly start: WorkerStart;
    readonly broken: (reason: string) => void;
  }): Promise<WorkerPool> {
    const pool = new WorkerPool(deps.broken);
    const starting = Array.from({ length: deps.count }, () =>
      pool.#add(deps.workerUrl, deps.start),
    );
    await Promise.all(starting);
    return pool;
  }

  /** Does `work` on the next free worker. */
  run(work: Work): Promise<Outcome> {
    return new Promise((done) => {
      this.#queue.push({ work, done });
      if (this.#scheduled) return;
      this.#scheduled = true;
      queueMicrotask(() => this.#dispatch());
    });
  }

  #add(workerUrl: string, start: WorkerStart): Promise<void> {
    const worker = new Worker(new URL(workerUrl), { workerData: start });
    let batch: Job[] = [];
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    worker.on("message", (message: WorkerSays) => {
      if (message.says === "ready") resolve();
      else if (message.says === "failed") reject(noTokenSession(message.reason));
      else {
        const answered = batch;
        batch = [];
        if (answered.some(signs)) this.#learn(message.elapsedMs, answered.length);
        for (const [index, job] of answered.entries()) {
          job.done(message.outcomes[index] ?? unanswered);
        }
      }
      if (message.says !== "failed") this.#free(worker);
    });
    worker.on("error", (fault) => this.#broken(String(fault)));
    worker.on("exit", () => this.#broken("a worker ended"));
    this.#take.set(worker, (jobs) => {
      batch = jobs;
    });
    return promise;
  }

  #free(worker: Worker): void {
    this.#idle.push(worker);
    this.#dispatch();
  }

  /**
   * Many to a message when the token is fast, one when it is slow: batching saves handing over, not
   * waiting.
   */
  #dispatch(): void {
    this.#scheduled = false;
    while (this.#queue.length > 0) {
      const worker = this.#idle.pop();
      if (worker === undefined) return;
      const share = Math.ceil(this.#queue.length / (this.#idle.length + 2));
      const worthwhile = Math.min(share, batchMax, Math.floor(batchMs / this.#signMs));
      const other = this.#queue.findIndex((job) => !signs(job));
      // Anything else may take seconds; no signature waits behind it in one message.
      const signatures = other === -1 ? worthwhile : Math.min(worthwhile, other);
      const jobs = this.#queue.splice(0, Math.max(1, signatures));
      this.#take.get(worker)?.(jobs);
      worker.postMessage(jobs.map((job) => job.work));
    }
  }

  #learn(elapsedMs: number, signatures: number): void {
    const each = Math.max(elapsedMs / signatures, 0.01);
    this.#signMs += (each - this.#signMs) / 8;
  }
}

const signs = ({ work }: Job) => work.operation === "sign";
const noTokenSession = (reason: string) =>
  new LaunchFault("device", "The token gives fewer sessions than configured.", reason);
const unanswered: Outcome = { status: "fault", reason: "a worker left work unanswered" };
const batchMax = 32;
const batchMs = 2;
