/** The certificates of a file that nobody changes, looked at by a thread of its own. */

import { startThread } from "#adapters/start-thread.ts";
import { proveCertificates } from "./certificates.ts";
import type { CertificatesFound, CertificatesJob } from "./certificates-thread-data.ts";
import type { Look } from "./look.ts";

/** One thread; it ends by itself. */
export class CertificatesAside {
  /** Undefined when the thread has not come to its end. */
  readonly found: Promise<CertificatesFound | undefined>;

  /** `workerUrl` is the main module. */
  constructor(job: CertificatesJob, workerUrl: string) {
    const { verified } = job.certificates;
    const transferList = verified === undefined ? [] : [verified.keys.buffer];
    const worker = startThread(workerUrl, { workerData: job, transferList });
    this.found = new Promise((resolve) => {
      worker.on("message", (found: CertificatesFound) => resolve(found));
      worker.on("error", () => resolve(undefined));
      worker.on("exit", () => resolve(undefined));
    });
  }
}

/** Waits for it, and has in `look` what was found; what kept it from its end is met here then. */
export async function provenAside(look: Look, aside: CertificatesAside): Promise<void> {
  const found = await aside.found;
  if (found === undefined) {
    await proveCertificates(look);
    return;
  }
  for (const findings of found.proofs) look.proofs[findings.name].take(findings);
  look.pairs.take(found.pairs);
  look.certificates.take(found.certificates);
  look.pruned.take(found.pruned);
  for (const ca of found.unknown) look.authorities.unknown.add(ca);
  look.advanced(found.rows);
}
