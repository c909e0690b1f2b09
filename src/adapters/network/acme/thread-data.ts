/** What the thread of validations is started with, what it is told, and what it says. */

import type { ValidationOutcome, ValidationTask } from "#domain/acme/validators.ts";
import type { LogLevel } from "#domain/ports.ts";

import type { Place } from "./addresses.ts";
import type { ValidationSettings } from "./validators.ts";

/** What the thread is started with; tells it from other threads of the binary. */
export interface ValidationJob {
  readonly validations: true;
}

/** True for the data a thread of this kind is started with. */
export const isValidationJob = (job: unknown): job is ValidationJob =>
  typeof job === "object" && job !== null && "validations" in job;

/** One attempt, with all that is in force as it begins. */
export interface AskedAttempt {
  readonly id: number;
  readonly task: ValidationTask;
  readonly settings: ValidationSettings;
  readonly ownListeners: readonly Place[];
}

/** What came of an attempt, or a line for the log of the process. */
export type ThreadWord =
  | { readonly id: number; readonly outcome: ValidationOutcome }
  | {
      readonly level: LogLevel;
      readonly message: string;
      readonly facts: Readonly<Record<string, unknown>> | undefined;
    };
