/** Runs in a thread: checks a whole SQLite database, answers, and ends. */

import { parentPort } from "node:worker_threads";

import { violations } from "./diagnosis.ts";
import type { IntegrityAnswer, IntegrityJob } from "./integrity-thread.ts";

/** Answers once. */
export async function runIntegrityJob({ integrity }: IntegrityJob): Promise<void> {
  const say = (answer: IntegrityAnswer) => parentPort?.postMessage(answer);
  try {
    say({ violations: await violations(integrity) });
  } catch (error) {
    // Only its text crosses to the other thread.
    say({ fault: error instanceof Error ? error.message : String(error) });
  }
  parentPort?.close();
}
