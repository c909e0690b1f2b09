/** What a worker thread of a signer loads: what its own work needs, and no more. */

import { workerData } from "node:worker_threads";

import { isSlhDsaJob } from "#adapters/keys/software/slh-dsa-data.ts";

/** Runs in a worker thread of a signer, until the process ends. */
export async function runSignerWorker(): Promise<void> {
  if (isSlhDsaJob(workerData)) {
    const slow = await import("#adapters/keys/software/slh-dsa-worker.ts");
    slow.runSlhDsaJob(workerData);
    return;
  }
  const worker = await import("#adapters/keys/pkcs11/worker.ts");
  worker.runSignerWorker();
}
