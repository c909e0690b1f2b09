/**
 * Standard output and standard error of a command: what is written has gone out, whole, before the
 * next line runs.
 */

import { dlopen } from "bun:ffi";
import { writeSync } from "node:fs";
import { isatty } from "node:tty";

import { Failure, ReaderGone } from "#cli/failure.ts";
import type { Output } from "#cli/io.ts";

const standardOutputDescriptor = 1;
const standardErrorDescriptor = 2;

/**
 * Results of a command. A slow reader is waited for. Throws `ReaderGone` when nobody reads any
 * more, and `Failure` with the reason when the octets cannot be written: a result that was cut off
 * must never look like a success.
 */
export const standardOutput: Output = {
  write: (content) => {
    const error = written(standardOutputDescriptor, content);
    if (error === undefined) return;
    if (error === "EPIPE") throw new ReaderGone();
    const sentence = `Standard output cannot be written: ${error}. What was asked for may have been done; look before you repeat it.`;
    throw new Failure(sentence, "output_lost", { cause: error });
  },
  isTerminal: isatty(standardOutputDescriptor),
  get columns() {
    return this.isTerminal
      ? Math.max(columnsMin, process.stdout.columns || usualColumns)
      : undefined;
  },
};

/**
 * Notes and errors of a command; when they cannot be written there is nowhere left to say so, and
 * the work goes on.
 */
export const standardError: Output = {
  write: (content) => void written(standardErrorDescriptor, content),
  isTerminal: isatty(standardErrorDescriptor),
};

/**
 * Asks poll(2) whether the other end of a pipe or socket is closed; false where it cannot be asked
 * (a C library of another name), and the next write tells.
 */
export function standardOutputIsAbandoned(): boolean {
  try {
    const { symbols, close } = dlopen("libc.so.6", {
      poll: { args: ["ptr", "u64", "i32"], returns: "i32" },
    } as const);
    // struct pollfd: int fd; short events; short revents.
    const polled = new Int16Array([standardOutputDescriptor, 0, 0, 0]);
    const found = symbols.poll(polled, 1n, 0);
    close();
    return found > 0 && ((polled[3] ?? 0) & (pollError | pollHangUp)) !== 0;
  } catch {
    return false;
  }
}

/** Undefined when everything went out, else the name of the error that kept it. */
function written(descriptor: number, content: string | Uint8Array): string | undefined {
  const octets = typeof content === "string" ? Buffer.from(content) : content;
  for (let at = 0; at < octets.byteLength; ) {
    try {
      at += writeSync(descriptor, octets, at, Math.min(pieceMax, octets.byteLength - at));
    } catch (error) {
      const code = error instanceof Error && "code" in error ? String(error.code) : "unknown";
      if (code !== "EAGAIN" && code !== "EINTR") return code;
      // A pipe that somebody we share it with has told not to block.
      Bun.sleepSync(waitMs);
    }
  }
  return undefined;
}

/** Narrower than this nothing can be told; a terminal that does not say is this wide. */
const columnsMin = 40;
const usualColumns = 80;
const pollError = 0x8;
const pollHangUp = 0x10;
const pieceMax = 1 << 20;
const waitMs = 2;
