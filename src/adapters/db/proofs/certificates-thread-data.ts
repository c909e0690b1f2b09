/** What the thread that looks at certificates is started with, and what it gives. */

import type { KeySetParts } from "#core/proofs/key-set.ts";
import type { ProofFindings } from "#core/proofs/proofs.ts";

/** What the thread is started with; tells it from other threads of the binary. */
export interface CertificatesJob {
  readonly certificates: {
    /** The SQLite file. */
    readonly path: string;
    /** Of the run. */
    readonly salt: Uint8Array;
    readonly verified: KeySetParts | undefined;
  };
}

/** What it says before it ends: all that `proveCertificates` leaves in a look. */
export interface CertificatesFound {
  readonly proofs: readonly ProofFindings[];
  readonly pairs: KeySetParts;
  readonly certificates: KeySetParts;
  readonly pruned: KeySetParts;
  readonly unknown: readonly string[];
  readonly rows: number;
}

/** True for the data a thread of this kind is started with. */
export const isCertificatesJob = (job: unknown): job is CertificatesJob =>
  typeof job === "object" && job !== null && "certificates" in job;
