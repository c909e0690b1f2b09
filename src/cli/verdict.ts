/** Keeps exit 1 to what it means where it is an answer: not due, or warnings. */

import { Failure, ReaderGone, UsageError } from "./failure.ts";

/** Prints a verdict; one that cannot be written is exit 2, as one that cannot be reached. */
export function printVerdict(print: () => void): void {
  try {
    print();
  } catch (error) {
    if (error instanceof Failure) throw new UsageError(error.message);
    if (error instanceof ReaderGone) throw new UsageError("Nobody reads standard output.");
    throw error;
  }
}
