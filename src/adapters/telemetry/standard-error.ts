/** Writes log lines to standard error at once, and gives up on a reader that no longer reads. */

import { writeSync } from "node:fs";

/**
 * Writes the octets before it returns. A pipe that stays full for `patienceMs` loses the rest of them: a stuck log
 * collector must not stop a CA from answering.
 */
export function writeStandardError(octets: Uint8Array): void {
  let at = 0;
  let waitedMs = 0;
  while (at < octets.byteLength && waitedMs < patienceMs) {
    try {
      at += writeSync(standardError, octets, at);
    } catch (error) {
      if (!isFull(error)) return; // The reader is gone, and with it the only place to complain.
      Bun.sleepSync(1);
      waitedMs++;
    }
  }
}

const isFull = (error: unknown): boolean =>
  error instanceof Error && "code" in error && error.code === "EAGAIN";

const standardError = 2;
const patienceMs = 100;
