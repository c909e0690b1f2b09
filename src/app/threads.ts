/** What the binary does when it finds itself in a thread: the job it was given. */

import { workerData } from "node:worker_threads";

import { runAccessLogJob } from "#adapters/db/stores/access-log-job.ts";
import { isAccessLogJob } from "#adapters/db/stores/access-log-thread.ts";
import { runIntegrityJob } from "#adapters/db/engine/integrity-job.ts";
import { isIntegrityJob } from "#adapters/db/engine/integrity-thread.ts";
import { runPathJob } from "#adapters/paths/job.ts";
import { isPathJob } from "#adapters/paths/thread.ts";
import { runSignerWorker } from "#adapters/keys/signer/main.ts";

/** Runs the job until it ends. */
export async function runThread(): Promise<void> {
  if (isAccessLogJob(workerData)) runAccessLogJob(workerData);
  else if (isIntegrityJob(workerData)) await runIntegrityJob(workerData);
  else if (isPathJob(workerData)) runPathJob();
  else await runSignerWorker();
}
