/**
 * Spreads work over the signer's workers: as many operations at once as the token gives us
 * sessions.
 */

import type { Worker } from "node:worker_threads";

import { startThread } from "#adapters/start-thread.ts";
import { LaunchFault } from "#adapters/keys/requests.ts";

import { noMoreWork, type Outcome, type WorkerSays, type WorkerStart, type Work } from "./jobs.ts";

interface Job {
  readonly work: Work;
  readonly done: (outcome: Outcome) => void;
}

/** What the workers of a pool are started with. */
export interface PoolDeps {
  readonly workerUrl: string;
  /** How many there may be. */
  readonly count: number;
  readonly start: WorkerStart;
  readonly broken: (reason: string) => void;
}

/**
 * The workers of one signer. Idle ones take from one queue; the process ends when one of them dies.
 * There are as many as work has waited for of late, and at least one: each is twenty megabytes.
 */
export class WorkerPool {
  /** The last one is the next to work, so what is not needed gathers at the front. */
  readonly #idle: Worker[] = [];
  /** Told to end, or without a token session from the start, and still there. */
  readonly #leaving = new Set<Worker>();
  /** How many have been idle all the time since the last look. */
  #spare = 0;
  /** Tells a worker's listener which jobs the next message answers. */
  readonly #take = new Map<Worker, (jobs: Job[]) => void>();
  readonly #queue: Job[] = [];
  readonly #deps: PoolDeps;
  #workers = 0;
  #starting = false;
  /** When another worker may be tried after one that the token gave no session. */
  #triesAt = 0;
  /** Smoothed duration of one signature. */
  #signMs = 1;
  #scheduled = false;

  private constructor(deps: PoolDeps) {
    this.#deps = deps;
  }

  /**
   * Starts the first worker; throws a `device` fault when it gets no token session. That the token
   * gives all of them one is for the caller to see.
   */
  static async start(deps: PoolDeps): Promise<WorkerPool> {
    const pool = new WorkerPool(deps);
    await pool.#add();
    setInterval(() => pool.look(), everyMs).unref();
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

  /** Ends what nobody has needed since the last look; the timer's business. */
  look(): void {
    const spare = Math.min(this.#spare, this.#workers - this.#leaving.size - 1);
    for (const worker of this.#idle.splice(0, spare)) {
      this.#leaving.add(worker);
      worker.postMessage(noMoreWork);
    }
    this.#spare = this.#idle.length;
  }

  async #add(): Promise<void> {
    const { workerUrl, start, broken } = this.#deps;
    const worker = startThread(workerUrl, { workerData: start });
    this.#workers += 1;
    let batch: Job[] = [];
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    worker.on("message", (message: WorkerSays) => {
      if (message.says === "ready") resolve();
      else if (message.says === "failed") {
        // It ends by itself.
        this.#leaving.add(worker);
        reject(noTokenSession(message.reason));
      } else {
        const answered = batch;
        batch = [];
        if (answered.some(signs)) this.#learn(message.elapsedMs, answered.length);
        for (const [index, job] of answered.entries()) {
          job.done(message.outcomes[index] ?? unanswered);
        }
      }
      if (message.says !== "failed") this.#free(worker);
    });
    worker.on("error", (fault) => broken(String(fault)));
    worker.on("exit", () => {
      if (!this.#leaving.delete(worker)) return broken("a worker ended");
      this.#take.delete(worker);
      this.#workers -= 1;
      this.#dispatch();
    });
    this.#take.set(worker, (jobs) => {
      batch = jobs;
    });
    return await promise;
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
      if (worker === undefined) {
        this.#grow();
        return;
      }
      const share = Math.ceil(this.#queue.length / (this.#idle.length + 2));
      const worthwhile = Math.min(share, batchMax, Math.floor(batchMs / this.#signMs));
      const other = this.#queue.findIndex((job) => !signs(job));
      // Anything else may take seconds; no signature waits behind it in one message.
      const signatures = other === -1 ? worthwhile : Math.min(worthwhile, other);
      const jobs = this.#queue.splice(0, Math.max(1, signatures));
      this.#spare = Math.min(this.#spare, this.#idle.length);
      this.#take.get(worker)?.(jobs);
      worker.postMessage(jobs.map((job) => job.work));
    }
  }

  /**
   * One more worker for what waits, one after the other. Where somebody else has taken the token's
   * sessions meanwhile, those that are there go on: a signer that began anew would get none at all.
   */
  #grow(): void {
    if (this.#starting || this.#workers >= this.#deps.count) return;
    if (performance.now() < this.#triesAt) return;
    this.#starting = true;
    this.#add()
      .catch(() => {
        this.#triesAt = performance.now() + betweenTriesMs;
      })
      .finally(() => {
        this.#starting = false;
        this.#dispatch();
      });
  }

  #learn(elapsedMs: number, signatures: number): void {
    const each = Math.max(elapsedMs / signatures, 0.01);
    this.#signMs += (each - this.#signMs) / 8;
  }
}

const signs = ({ work }: Job) => work.operation === "sign";
/** The refusal to start with a token that is shared by too many. */
export const noTokenSession = (reason: string) =>
  new LaunchFault("device", "The token gives fewer sessions than configured.", reason);
const unanswered: Outcome = { status: "fault", reason: "a worker left work unanswered" };
const betweenTriesMs = 5000;
const batchMax = 32;
const batchMs = 2;
/** Between two looks at who was needed: starting one takes some tens of milliseconds. */
const everyMs = 15_000;
