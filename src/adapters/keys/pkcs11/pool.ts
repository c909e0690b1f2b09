/** Spreads work over the signer's workers: as many operations at once as the token has sessions for us. */

import { Worker } from "node:worker_threads";

import { LaunchFault } from "#adapters/keys/requests.ts";

import type { Outcome, WorkerSays, WorkerStart, Work } from "./jobs.ts";

interface Job {
  readonly work: Work;
  readonly done: (outcome: Outcome) => void;
}

interface PoolDeps {
  readonly workerUrl: string;
  readonly count: number;
  readonly start: WorkerStart;
  readonly broken: (reason: string) => void;
  /** Milliseconds after which the head of the queue takes whichever worker is idle, as long as one signs. */
  readonly lateMs?: number;
}

/** The workers of one signer. Idle ones take from one queue; the process ends when one of them dies. */
export class WorkerPool {
  readonly #idle: Worker[] = [];
  /** What each worker has been handed and not answered: a message a batch, in their order. */
  readonly #handed = new Map<Worker, Job[][]>();
  /** The worker that was handed signatures last. */
  #last: Worker | undefined;
  readonly #queue: Job[] = [];
  readonly #broken: (reason: string) => void;
  /** How long a signature takes while no other worker signs: quick to believe the better, slow to believe the worse. */
  #signMs = Number.POSITIVE_INFINITY;
  /** Signatures of which that is known. */
  #measured = 0;
  /** Signatures since. */
  #unmeasured = 0;
  /** Workers that are signing. */
  #signing = 0;
  /** The signatures under way have been the only ones since they began. */
  #alone = false;
  #scheduled = false;
  #late: Timer | undefined;
  readonly #lateMs: number;

  private constructor({ broken, lateMs = lateDefaultMs }: PoolDeps) {
    this.#broken = broken;
    this.#lateMs = lateMs;
  }

  /** Starts the workers; throws a `device` fault when one of them gets no session. */
  static async start(deps: PoolDeps): Promise<WorkerPool> {
    const pool = new WorkerPool(deps);
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
    const handed: Job[][] = [];
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    worker.on("message", (message: WorkerSays) => {
      if (message.says === "ready") resolve();
      else if (message.says === "failed") reject(noSession(message.reason));
      else {
        const answered = handed.shift() ?? [];
        if (answered[0] !== undefined && signs(answered[0])) {
          if (handed.length === 0) this.#signing--;
          this.#unmeasured += answered.length;
          if (this.#alone) this.#learn(message);
        }
        for (const [index, job] of answered.entries()) {
          job.done(message.outcomes[index] ?? unanswered);
        }
      }
      if (message.says === "failed") return;
      if (handed.length === 0) this.#idle.push(worker);
      this.#dispatch();
    });
    worker.on("error", (fault) => this.#broken(String(fault)));
    worker.on("exit", () => this.#broken("a worker ended"));
    this.#handed.set(worker, handed);
    return promise;
  }

  #dispatch(): void {
    this.#scheduled = false;
    while (this.#queue.length > 0) {
      const worker = this.#worthAnother() ? this.#idle.pop() : this.#inTime();
      if (worker === undefined) return;
      this.#hand(worker);
    }
  }

  /** Many to a message when the token is fast, one when it is slow: batching saves handing over, not waiting. */
  #hand(worker: Worker): void {
    const share = this.#fast()
      ? fastBatch
      : Math.ceil(this.#queue.length / (this.#idle.length + 2));
    const worthwhile = Math.max(1, Math.min(batchMax, share, Math.floor(batchMs / this.#signMs)));
    const other = this.#queue.findIndex((job) => !signs(job));
    // Anything else may take seconds; no signature waits behind it in one message.
    const signatures = other === -1 ? worthwhile : Math.min(worthwhile, other);
    const jobs = this.#queue.splice(0, Math.max(1, signatures));
    const handed = this.#handed.get(worker);
    if (signatures > 0 && handed?.length === 0) {
      this.#alone = this.#signing === 0;
      this.#signing++;
      this.#last = worker;
    }
    handed?.push(jobs);
    worker.postMessage(jobs.map((job) => job.work));
  }

  /**
   * A token that answers faster than any device is a library on our own processors: its threads wait for each other's
   * locks, and two sessions give less than one. The first signatures go one by one, so that it is known.
   */
  #worthAnother(): boolean {
    const [head] = this.#queue;
    if (this.#signing === 0 || (head !== undefined && !signs(head))) return true;
    if (this.#measured < measuredMin || this.#unmeasured > unmeasuredMax) return false;
    return !this.#fast() || this.#queue.length * this.#signMs > patienceMs;
  }

  #fast(): boolean {
    return this.#signMs < deviceMs;
  }

  /** The worker that signs, to be handed the next signatures before it has done the last, so that it need not wait for us. */
  #inTime(): Worker | undefined {
    const [now, next] = (this.#last && this.#handed.get(this.#last)) ?? [];
    const signing = now?.[0] !== undefined && signs(now[0]) && next === undefined;
    const enough = this.#queue.length * this.#signMs > aheadMs;
    const known = this.#measured >= measuredMin && this.#fast();
    if (known && enough && signing) return this.#last;
    this.#noticeLater();
    return undefined;
  }

  /** A session that hangs must not keep the others from what waits. */
  #noticeLater(): void {
    const [head] = this.#queue;
    this.#late ??= setTimeout(() => {
      this.#late = undefined;
      if (this.#queue.length === 0) return;
      const worker = this.#queue[0] === head ? this.#idle.pop() : undefined;
      if (worker === undefined) this.#dispatch();
      else this.#hand(worker);
    }, this.#lateMs);
  }

  #learn({ elapsedMs, outcomes }: Extract<WorkerSays, { says: "done" }>): void {
    // What failed says nothing of how long it takes.
    if (outcomes.some(({ status }) => status !== "signed")) return;
    const each = Math.max(elapsedMs / outcomes.length, 0.01);
    this.#measured += outcomes.length;
    this.#unmeasured = 0;
    if (each < this.#signMs) this.#signMs = each;
    else this.#signMs += (each - this.#signMs) / 32;
  }
}

const signs = ({ work }: Job) => work.operation === "sign";
const noSession = (reason: string) =>
  new LaunchFault("device", "The token gives fewer sessions than configured.", reason);
const unanswered: Outcome = { status: "fault", reason: "a worker left work unanswered" };
const batchMax = 32;
const batchMs = 2;
/** Of a fast token: few, so that those who wait for the first of many go on while the rest is signed. */
const fastBatch = 8;
/** Signatures after which the token's speed is known: the first find cold code. */
const measuredMin = 64;
/** Signatures after which it is looked at again. */
const unmeasuredMax = 4096;
/** No device at the end of a cable or slot answers within this time. */
const deviceMs = 0.2;
/** What is less than this is handed over when the last is done: together with what comes until then. */
const aheadMs = 0.25;
/** What waits longer is worth another session also of a fast token. */
const patienceMs = 2;
const lateDefaultMs = 10;
