/** Writes archives beside a running server, in a thread of their own where there can be one. */

import { Worker } from "node:worker_threads";

import type { ArchiveHost } from "#domain/backup/archiving.ts";
import { encrypted } from "#adapters/age/age.ts";
import { gathered } from "./gathered.ts";
import type { ArchiveJob, FromArchive, ToArchive } from "./thread-data.ts";
import { archiveOf } from "./write.ts";

/**
 * The encrypted archive, piece by piece; `workerUrl` is the main module. Throws what keeps it from
 * being complete; who stops reading ends it.
 */
export async function* archived(
  job: ArchiveJob,
  host: ArchiveHost,
  workerUrl: string | undefined,
): AsyncGenerator<Uint8Array> {
  if (workerUrl === undefined) {
    yield* gathered(encrypted(job.protection, archiveOf(job.archive, host)));
    return;
  }
  const worker = new Worker(new URL(workerUrl), { workerData: job });
  const tell = (message: ToArchive) => worker.postMessage(message);
  const inbox = new Inbox(worker);
  try {
    for (;;) {
      const message = await inbox.next();
      if ("ended" in message) return;
      if ("fault" in message) throw new Error(message.fault);
      if ("begun" in message) host.begun(message.begun);
      else if ("ask" in message) await answered(message, host, tell);
      else {
        yield message.piece;
        tell({ taken: true });
      }
    }
  } finally {
    tell({ stop: true });
  }
}

async function answered(
  question: Extract<FromArchive, { readonly ask: string }>,
  host: ArchiveHost,
  tell: (message: ToArchive) => void,
): Promise<void> {
  try {
    const answer =
      question.ask === "sign" ? await host.sign(question.octets) : await host.dataKeys();
    tell({ answer });
  } catch (error) {
    tell({ failure: error instanceof Error ? error.message : String(error) });
  }
}

/** What the thread has said, in its order. */
class Inbox {
  readonly #messages: FromArchive[] = [];
  #waiting: (() => void) | undefined;

  constructor(worker: Worker) {
    worker.on("message", (message: FromArchive) => this.#put(message));
    worker.on("error", (error) => this.#put({ fault: String(error) }));
    worker.on("exit", () => this.#put({ fault: "the thread ended without its archive" }));
  }

  async next(): Promise<FromArchive> {
    for (;;) {
      const message = this.#messages.shift();
      if (message !== undefined) return message;
      await new Promise<void>((resolve) => {
        this.#waiting = resolve;
      });
    }
  }

  #put(message: FromArchive): void {
    this.#messages.push(message);
    this.#waiting?.();
  }
}
