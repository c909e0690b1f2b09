/**
 * Attempts made in a thread of their own: what strangers' servers answer, however much and however
 * slowly, is read beside the thread that serves.
 */

import type { Worker } from "node:worker_threads";

import { startThread } from "#adapters/start-thread.ts";
import type { ValidationOutcome, ValidationTask, Validators } from "#domain/acme/validators.ts";
import type { Log } from "#domain/ports.ts";

import type { AskedAttempt, ThreadWord, ValidationJob } from "./thread-data.ts";
import type { ValidatorsDeps } from "./validators.ts";

export interface ThreadOptions extends Pick<ValidatorsDeps, "log" | "settings" | "ownListeners"> {
  /** The main module, which runs `runValidationJob` in a thread. */
  readonly workerUrl: string;
  /** How long the thread waits for another attempt. */
  readonly idleMs?: number;
  /** How much longer than its time an attempt may take before the thread counts as stuck. */
  readonly graceMs?: number;
}

/** An attempt that is under way in the thread. */
interface Waiting {
  readonly type: ValidationTask["type"];
  readonly late: Timer;
  readonly resolve: (outcome: ValidationOutcome) => void;
}

/**
 * A thread that is started for the first attempt and ends when none follows. How many attempts are
 * made at a time is for whoever asks to bound. One that the thread does not answer in time ends the
 * thread and every attempt in it; the next one starts another.
 */
export class ThreadValidators implements Validators {
  readonly #options: ThreadOptions;
  readonly #log: Log;
  readonly #waiting = new Map<number, Waiting>();
  #worker: Worker | undefined;
  #idle: Timer | undefined;
  #asked = 0;

  constructor(options: ThreadOptions) {
    this.#options = options;
    this.#log = options.log;
  }

  /** As the port says. */
  async attempt(task: ValidationTask): Promise<ValidationOutcome> {
    const { settings, ownListeners, graceMs = grace } = this.#options;
    const id = ++this.#asked;
    const now = settings();
    const asked: AskedAttempt = { id, task, settings: only(now), ownListeners: ownListeners() };
    const worker = this.#worker ?? this.#started();
    this.#worker = worker;
    clearTimeout(this.#idle);
    return await new Promise((resolve) => {
      const most = now.validation_timeout_seconds * 1000 + graceMs;
      const late = setTimeout(() => this.#failed(worker, "an attempt is not answered"), most);
      this.#waiting.set(id, { type: task.type, late, resolve });
      worker.postMessage(asked);
    });
  }

  /** Ends the thread; attempts that are under way prove nothing. */
  async close(): Promise<void> {
    clearTimeout(this.#idle);
    const worker = this.#worker;
    this.#worker = undefined;
    for (const id of this.#waiting.keys()) this.#settle(id, unfinished);
    await worker?.terminate();
  }

  #started(): Worker {
    const job: ValidationJob = { validations: true };
    const worker = startThread(this.#options.workerUrl, { workerData: job });
    worker.unref();
    worker.on("message", (word: ThreadWord) => this.#hear(word));
    worker.on("error", (error) => this.#failed(worker, String(error)));
    worker.on("exit", () => this.#failed(worker, "the thread has ended"));
    return worker;
  }

  #hear(word: ThreadWord): void {
    if (!("id" in word)) {
      this.#log.write(word.level, word.message, word.facts);
      return;
    }
    this.#settle(word.id, word.outcome);
    if (this.#waiting.size > 0) return;
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => void this.close(), this.#options.idleMs ?? idle);
    this.#idle.unref();
  }

  #settle(id: number, outcome: ValidationOutcome): void {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) return;
    this.#waiting.delete(id);
    clearTimeout(waiting.late);
    waiting.resolve(outcome);
  }

  #failed(worker: Worker, message: string): void {
    if (this.#worker !== worker) return;
    const types = [...this.#waiting.values()].map(({ type }) => type);
    this.#log.write("error", "validation_failed_inside", { types: [...new Set(types)], message });
    void this.close();
  }
}

/** What crosses to the thread is what attempts read, and not all of the section. */
const only = (settings: AskedAttempt["settings"]): AskedAttempt["settings"] => ({
  http01_port: settings.http01_port,
  tls_alpn01_port: settings.tls_alpn01_port,
  dns_resolver: settings.dns_resolver,
  vantage_resolvers: settings.vantage_resolvers,
  validation_timeout_seconds: settings.validation_timeout_seconds,
  validation_deny_networks: settings.validation_deny_networks,
  validation_allow_networks: settings.validation_allow_networks,
});

const unfinished: ValidationOutcome = {
  proved: false,
  problem: { type: "connection", detail: "The attempt ended by a fault of this server." },
};
const idle = 30_000;
/** For a machine that may do much else. */
const grace = 15_000;
