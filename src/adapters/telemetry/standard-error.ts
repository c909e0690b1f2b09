/** Writes log lines to standard error at once, and gives up on a reader that no longer reads. */

import { dlopen } from "bun:ffi";
import { writeSync } from "node:fs";

/**
 * Standard error of this process. A pipe that stays full for a moment loses lines, and is then no longer waited for
 * until it takes some again: a stuck log collector must not stop a CA from answering.
 */
export class StandardError {
  readonly #writable = writability();
  #stuck = false;
  /** The last line that went out was cut off. */
  #cut = false;

  /** Writes whole lines before it returns, or as many octets of them as the reader takes. */
  readonly write = (lines: Uint8Array): void => {
    if (this.#cut && !this.#put(lineEnd)) return;
    this.#cut = false;
    this.#put(lines);
  };

  /** True when everything went out. */
  #put(octets: Uint8Array): boolean {
    for (let at = 0; at < octets.byteLength; ) {
      if (!this.#writable(this.#stuck ? 0 : patienceMs)) {
        this.#stuck = true;
        this.#cut ||= at > 0;
        return false;
      }
      const written = attempt(octets, at);
      if (written === undefined) return false;
      at += written;
    }
    this.#stuck = false;
    return true;
  }
}

/** Octets written; undefined when the reader is gone, and with it the only place to complain. */
function attempt(octets: Uint8Array, at: number): number | undefined {
  try {
    // So many a pipe takes without blocking once it is writable at all (PIPE_BUF).
    return writeSync(standardError, octets, at, Math.min(pipeBuffer, octets.byteLength - at));
  } catch (error) {
    const full = error instanceof Error && "code" in error && error.code === "EAGAIN";
    return full ? 0 : undefined;
  }
}

/** Asks poll(2) whether standard error takes octets within a time; where there is no such library, it always does. */
function writability(): (milliseconds: number) => boolean {
  const name = process.platform === "darwin" ? "libSystem.B.dylib" : "libc.so.6";
  try {
    const { symbols } = dlopen(name, {
      poll: { args: ["ptr", "u64", "i32"], returns: "i32" },
    } as const);
    // struct pollfd: int fd; short events; short revents.
    const descriptor = new Int16Array(4);
    return (milliseconds) => {
      descriptor.set([standardError, 0, pollOut, 0]);
      return symbols.poll(descriptor, 1n, milliseconds) !== 0;
    };
  } catch {
    return () => true; // A C library by another name (musl): writes may then block.
  }
}

const lineEnd = new Uint8Array([0x0a]);
const standardError = 2;
const pollOut = 4;
const pipeBuffer = 4096;
const patienceMs = 100;
