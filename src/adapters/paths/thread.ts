/**
 * Paths of certificates judged in a thread of their own: a stranger's chain may take seconds of
 * arithmetic.
 */

import type { Worker } from "node:worker_threads";

import { startThread } from "#adapters/start-thread.ts";
import { answerPath, type PathAnswer, type PathQuestion } from "#core/policy/path-work.ts";
import { type Asker, FairQueue } from "#core/fair-queue.ts";
import { refuse } from "#core/problems.ts";
import type { PathWork } from "#domain/ports.ts";

import { type PathJob, threadReady } from "./thread-data.ts";

export interface PathThreadOptions {
  /** The main module, which runs `runPathJob` in a thread. */
  readonly workerUrl: string;
  /** What one answer may take; then the thread is ended, and its work with it. */
  readonly budgetMs?: number;
  /** How long the thread waits for another question. */
  readonly idleMs?: number;
}

/** A question that waits for its turn. */
interface Waiting {
  readonly question: PathQuestion;
  readonly resolve: (answer: PathAnswer | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * One question at a time, in a thread that is started for the first of them and ends when none
 * follows. Those who ask have their turns, so that one's pile holds up nobody else.
 */
export class PathThread implements PathWork {
  readonly #workerUrl: string;
  readonly #budgetMs: number;
  readonly #idleMs: number;
  #worker: Worker | undefined;
  #idle: Timer | undefined;
  readonly #queue = new FairQueue<Waiting>();
  #busy = false;

  constructor({ workerUrl, budgetMs = budget, idleMs = idle }: PathThreadOptions) {
    this.#workerUrl = workerUrl;
    this.#budgetMs = budgetMs;
    this.#idleMs = idleMs;
  }

  async ask<Q extends PathQuestion>(
    question: Q,
    asker: Asker = nobody,
  ): Promise<PathAnswer<Q> | undefined> {
    const { promise, resolve, reject } = Promise.withResolvers<PathAnswer | undefined>();
    this.#queue.add(asker, { question, resolve, reject });
    if (this.#queue.size + (this.#busy ? 1 : 0) > waitingMax) {
      this.#queue.giveWay()?.reject(refuse("overloaded", { retry_after: 2 }));
    }
    if (!this.#busy) void this.#work();
    return (await promise) as PathAnswer<Q> | undefined; // By the kind of the question.
  }

  /** Ends the thread; what it was asked is not answered. */
  async close(): Promise<void> {
    clearTimeout(this.#idle);
    const worker = this.#worker;
    this.#worker = undefined;
    await worker?.terminate();
  }

  /** Answers what waits, one after the other; a failure is its asker's alone. */
  async #work(): Promise<void> {
    this.#busy = true;
    for (;;) {
      const next = this.#queue.next();
      if (next === undefined) break;
      await this.#answered(next.question).then(next.resolve, next.reject);
    }
    this.#busy = false;
  }

  async #answered(question: PathQuestion): Promise<PathAnswer | undefined> {
    clearTimeout(this.#idle);
    const worker = this.#worker ?? (await this.#started());
    this.#worker = worker;
    const said = await replyWithin(worker, this.#budgetMs, () => worker.postMessage(question));
    if (said === undefined) {
      await this.close();
      return undefined;
    }
    this.#idle = setTimeout(() => void this.close(), this.#idleMs);
    this.#idle.unref();
    const { answer, fault } = said as { answer?: PathAnswer; fault?: string }; // A `ThreadAnswer`.
    if (answer === undefined) throw new Error(fault ?? "the thread of paths answered nothing");
    return answer;
  }

  async #started(): Promise<Worker> {
    const job: PathJob = { paths: true };
    const worker = startThread(this.#workerUrl, { workerData: job });
    worker.unref();
    worker.on("exit", () => {
      if (this.#worker === worker) this.#worker = undefined;
    });
    if ((await replyWithin(worker, startMs, () => {})) !== threadReady) {
      await worker.terminate();
      throw new Error("the thread of paths does not start");
    }
    return worker;
  }
}

/** The same on the calling thread, for a process that serves nobody else. */
export const pathsHere: PathWork = {
  ask: async (question) => answerPath(question),
};

/** The next message after `begin`, or undefined when there is none in time. */
function replyWithin(worker: Worker, ms: number, begin: () => void): Promise<unknown> {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  const ended = () => reject(new Error("the thread of paths ended without an answer"));
  const late = setTimeout(() => resolve(undefined), ms);
  worker.once("message", resolve);
  worker.once("error", reject);
  worker.once("exit", ended);
  begin();
  return promise.finally(() => {
    clearTimeout(late);
    worker.off("message", resolve);
    worker.off("error", reject);
    worker.off("exit", ended);
  });
}

const nobody: Asker = { home: "", name: "" };
/** An honest chain takes milliseconds; one of SLH-DSA signatures some hundred. */
const budget = 2000;
const idle = 30_000;
/** For a machine that may do much else. */
const startMs = 15_000;
const waitingMax = 32;
