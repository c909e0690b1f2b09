/** What the thread of the access log is started with, told and tells. */

import type { SpaceLimits } from "./access-log-space.ts";

/** What the thread is started with; tells it from other threads of the binary. */
export interface AccessLogJob {
  readonly accessLog: {
    readonly path: string;
    readonly busyTimeoutMs: number;
    readonly space: SpaceLimits;
  };
}

/** What it tells beside its answers: what happened to the file, and how many rows it deleted. */
export type AccessLogNote =
  | { readonly sentence: string; readonly error: string }
  | { readonly trimCount: number };

/** True for the data a thread of this kind is started with. */
export const isAccessLogJob = (job: unknown): job is AccessLogJob =>
  typeof job === "object" && job !== null && "accessLog" in job;

/** Not a pack of rows, and so the end of them. */
export const endOfRows = "";
