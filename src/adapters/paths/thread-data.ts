/** What the thread that judges paths is started with, and what it says. */

import type { PathAnswer } from "#core/policy/path-work.ts";

/** What the thread is started with; tells it from other threads of the binary. */
export interface PathJob {
  readonly paths: true;
}

/** True for the data a thread of this kind is started with. */
export const isPathJob = (job: unknown): job is PathJob =>
  typeof job === "object" && job !== null && "paths" in job;

/** What the thread says first. */
export const threadReady = "ready";

/** What it says to a question: the answer, or the text of a fault. */
export type ThreadAnswer = { readonly answer: PathAnswer } | { readonly fault: string };
