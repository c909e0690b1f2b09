/** What a run of preflight can look at: parts that are open, or why they are not. */

import type { Instant } from "#core/time.ts";
import { failed, type Finding, skipped } from "#core/preflight/finding.ts";
import { assert } from "#core/problems.ts";

/**
 * An open part, or a sentence that says why it is not; `absent` where it is not there to be opened,
 * which is no fault.
 */
export type Part<T> = { readonly open: T } | NotOpen;
export interface NotOpen {
  readonly fault: string;
  readonly absent?: boolean;
}

/** What a check says that is about the very part that is not open. */
export const closed = ({ fault, absent }: NotOpen): Finding =>
  absent === true ? skipped(fault) : failed(fault);

/** The part; only for checks whose needs name it. */
export function present<T>(part: Part<T>): T {
  assert("open" in part, "a check is run only when what it needs is there");
  return part.open;
}

/** What a running server shows of itself. */
export interface ServerLook {
  /** Jobs that should have run by now, and since when none has succeeded. */
  readonly jobs: () => { readonly late: readonly string[]; readonly idleSeconds: number };
  /** Every job of this process. */
  readonly jobLooks: () => readonly JobLook[];
  /** Where the main listener is reached from here. */
  readonly listener: () => {
    readonly host: string;
    readonly port: number;
    readonly secure: boolean;
  };
}

/** One job as this process has seen it run. */
export interface JobLook {
  readonly name: string;
  readonly everySeconds: number;
  readonly succeededAt: Instant | undefined;
  readonly failedAt: Instant | undefined;
  /** What it last failed with, where it has not succeeded since. */
  readonly failure: string | undefined;
  readonly late: boolean;
}
