/** Writes archives beside a running server, in a thread of their own where there can be one. */

import type { Worker } from "node:worker_threads";

import { startThread } from "#adapters/start-thread.ts";
import { ArchiveUnfit, type Protection } from "#core/backup/archive.ts";
import type { ArchiveHost } from "#domain/backup/archiving.ts";
import { encrypted } from "#adapters/age/age.ts";
import { gathered } from "./gathered.ts";
import type { ArchiveJob, FromArchive, ToArchive } from "./thread-data.ts";
import { type ArchiveOrder, archiveOf } from "./write.ts";

/**
 * The encrypted archive, piece by piece; `workerUrl` is the main module. Throws what keeps it from
 * being complete; who stops reading ends it.
 */
export function archived(
  { archive, protection }: { readonly archive: ArchiveOrder; readonly protection: Protection },
  host: ArchiveHost,
  workerUrl: string | undefined,
): AsyncGenerator<Uint8Array> {
  if (workerUrl !== undefined) return fromThread({ archive, protection, workerUrl }, host);
  return gathered(encrypted(protection, archiveOf(archive, host)));
}

/** What a thread of its own makes of the job. */
export async function* fromThread(job: ArchiveJob, host: ArchiveHost): AsyncGenerator<Uint8Array> {
  const worker = startThread(job.workerUrl, { workerData: job });
  const tell = (message: ToArchive) => worker.postMessage(message);
  const inbox = new Inbox(worker);
  let taken = 0;
  try {
    for (;;) {
      const message = await inbox.next();
      if ("ended" in message) return;
      if ("fault" in message) {
        throw message.unfit ? new ArchiveUnfit(message.fault) : new Error(message.fault);
      }
      if ("piece" in message) {
        yield message.piece;
        tell({ taken: true });
        // The collector counts objects, not bytes: hundreds of megabytes would pile up.
        if (++taken % chunksPerCollection === 0) Bun.gc(false);
      } else if ("begun" in message) host.begun(message.begun);
      else await answered(message, host, tell);
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
      question.ask === "sign"
        ? await host.sign(question.octets)
        : await host.dataKeys(question.asked);
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
    worker.on("error", (error) => this.#put({ fault: String(error), unfit: false }));
    const silent = { fault: "the thread ended without its archive", unfit: false };
    worker.on("exit", () => this.#put(silent));
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

const chunksPerCollection = 16;
