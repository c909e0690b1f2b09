/** What the binary does when it finds itself in a thread: the job it was given. */

import { workerData } from "node:worker_threads";

import { isArchiveJob } from "#app/backup/thread-data.ts";
import { isAheadJob } from "#app/restore/ahead-thread-data.ts";
import { isAccessLogJob } from "#adapters/db/stores/access-log-thread-data.ts";
import { isCheckpointJob } from "#adapters/db/engine/checkpoint-thread-data.ts";
import { isCertificatesJob } from "#adapters/db/proofs/certificates-thread-data.ts";
import { isIntegrityJob } from "#adapters/db/engine/integrity-thread.ts";
import { isValidationJob } from "#adapters/network/acme/thread-data.ts";
import { isPathJob } from "#adapters/paths/thread-data.ts";
import { isYamlJob } from "./yaml-thread-data.ts";

/**
 * Runs the job until it ends. Each loads what its own job needs and no more: a thread has a heap of
 * its own.
 */
export async function runThread(): Promise<void> {
  if (isAccessLogJob(workerData)) {
    const { runAccessLogJob } = await import("#adapters/db/stores/access-log-job.ts");
    runAccessLogJob(workerData);
  } else if (isCheckpointJob(workerData)) {
    const { runCheckpointJob } = await import("#adapters/db/engine/checkpoint-job.ts");
    runCheckpointJob(workerData);
  } else if (isIntegrityJob(workerData)) {
    const { runIntegrityJob } = await import("#adapters/db/engine/integrity-job.ts");
    await runIntegrityJob(workerData);
  } else if (isArchiveJob(workerData)) {
    const { runArchiveJob } = await import("#app/backup/job.ts");
    await runArchiveJob(workerData);
  } else if (isAheadJob(workerData)) {
    const { runAheadJob } = await import("#app/restore/ahead-job.ts");
    await runAheadJob(workerData);
  } else if (isCertificatesJob(workerData)) {
    const { runCertificatesJob } = await import("#adapters/db/proofs/certificates-job.ts");
    await runCertificatesJob(workerData);
  } else if (isYamlJob(workerData)) {
    const { runYamlJob } = await import("./yaml-job.ts");
    runYamlJob(workerData);
  } else if (isPathJob(workerData)) {
    const { runPathJob } = await import("#adapters/paths/job.ts");
    runPathJob();
  } else if (isValidationJob(workerData)) {
    const { systemClock, systemRandom } = await import("#adapters/system.ts");
    const { runValidationJob } = await import("#adapters/network/acme/job.ts");
    runValidationJob({ random: systemRandom, clock: systemClock });
  } else {
    const { runSignerWorker } = await import("#adapters/keys/signer/worker.ts");
    await runSignerWorker();
  }
}
