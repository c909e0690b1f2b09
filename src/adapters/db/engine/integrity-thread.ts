/**
 * The check of a whole SQLite database in a thread of its own: it takes as long as there are rows,
 * and holds nobody up.
 */

import { startThread } from "#adapters/start-thread.ts";
import type { SqliteOptions } from "./sqlite.ts";

/** What the thread is started with; tells it from other threads of the binary. */
export interface IntegrityJob {
  readonly integrity: SqliteOptions;
}

/** What it answers before it ends. */
export type IntegrityAnswer =
  | { readonly violations: readonly string[] }
  | { readonly fault: string };

/** True for the data a thread of this kind is started with. */
export const isIntegrityJob = (job: unknown): job is IntegrityJob =>
  typeof job === "object" && job !== null && "integrity" in job;

/**
 * As `violations`, in another thread; `workerUrl` is the main module, which runs `runIntegrityJob`
 * there.
 */
export function violationsInThread(
  workerUrl: string,
  options: SqliteOptions,
): Promise<readonly string[]> {
  return new Promise((resolve, reject) => {
    const job: IntegrityJob = { integrity: options };
    const worker = startThread(workerUrl, { workerData: job });
    worker.once("message", (answer: IntegrityAnswer) => {
      if ("violations" in answer) resolve(answer.violations);
      else reject(new Error(answer.fault));
    });
    worker.once("error", reject);
    worker.once("exit", () => reject(new Error("the check ended without an answer")));
  });
}
