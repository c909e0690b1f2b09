/** What a thread that verifies ahead is started with, and what it gives. */

import type { Opener } from "#core/backup/archive.ts";
import type { KeySetParts } from "#core/proofs/key-set.ts";

/** Tells it from other threads of the binary. */
export interface AheadJob {
  readonly ahead: {
    /** File of the archive. */
    readonly archive: string;
    readonly opener: Opener;
    /** Of the set it gives. */
    readonly salt: Uint8Array;
  };
}

/** What it is told, once: to leave off and say what it has. */
export type ToAhead = "end";

/** What it says, once: `verifiedText` of whatever verified. */
export type FromAhead = KeySetParts;

/** True for the data a thread of this kind is started with. */
export const isAheadJob = (job: unknown): job is AheadJob =>
  typeof job === "object" && job !== null && "ahead" in job;
