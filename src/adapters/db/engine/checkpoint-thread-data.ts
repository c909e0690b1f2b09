/** What the thread that checkpoints the database is started with, told and tells. */

/** What the thread is started with; tells it from other threads of the binary. */
export interface CheckpointJob {
  readonly checkpoints: {
    /** The database file. */
    readonly path: string;
    /** Device and inode it must have, as `fileIdentity` gives them. */
    readonly identity: string;
  };
}

/** What it says after each checkpoint: nothing but the empty text, or what SQLite refused. */
export type CheckpointAnswer = "" | { readonly message: string; readonly code: string };

/** True for the data a thread of this kind is started with. */
export const isCheckpointJob = (job: unknown): job is CheckpointJob =>
  typeof job === "object" && job !== null && "checkpoints" in job;

/** Asks for one checkpoint. */
export const checkpointNow = "checkpoint";
/** Asks the thread to end. */
export const noMoreCheckpoints = "end";
