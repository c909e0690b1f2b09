/** Writes log lines to standard error at once, and gives up on a reader that no longer reads. */

import { dlopen } from "bun:ffi";
import { constants, fstatSync, openSync, writeSync } from "node:fs";

/**
 * Standard error of this process. A pipe that stays full for a moment loses lines, and is then no
 * longer waited for until it takes some again: a stuck log collector must not stop a CA from
 * answering.
 */
export class StandardError {
  readonly #outlet = outlet();
  readonly #writable = writability(this.#outlet.descriptor);
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
      const written = attempt(this.#outlet, octets, at);
      if (written === undefined) return false;
      at += written;
    }
    this.#stuck = false;
    return true;
  }
}

/** Where octets are written, and how many of them at once never block once it is writable. */
interface Outlet {
  readonly descriptor: number;
  readonly octetsMax: number;
}

/**
 * A file takes everything at once. A pipe is opened again for ourselves, so that it can be told not
 * to block without telling so to the programs it is shared with; it then takes what it has room
 * for.
 */
function outlet(): Outlet {
  try {
    const kind = fstatSync(standardError);
    if (kind.isFile()) return { descriptor: standardError, octetsMax: wholeBuffer };
    if (kind.isFIFO()) {
      const own = openSync("/proc/self/fd/2", constants.O_WRONLY | constants.O_NONBLOCK);
      return { descriptor: own, octetsMax: wholeBuffer };
    }
  } catch {
    // Another user's pipe, or no /proc: the shared descriptor does, a little at a time.
  }
  // So many a pipe or socket takes without blocking once it is writable at all (PIPE_BUF).
  return { descriptor: standardError, octetsMax: pipeBuffer };
}

/** Octets written; undefined when the reader is gone, and with it the only place to complain. */
function attempt(
  { descriptor, octetsMax }: Outlet,
  octets: Uint8Array,
  at: number,
): number | undefined {
  try {
    return writeSync(descriptor, octets, at, Math.min(octetsMax, octets.byteLength - at));
  } catch (error) {
    const full = error instanceof Error && "code" in error && error.code === "EAGAIN";
    return full ? 0 : undefined;
  }
}

/**
 * Asks poll(2) whether the descriptor takes octets within a time; where there is no such library,
 * it always does.
 */
function writability(of: number): (milliseconds: number) => boolean {
  const name = process.platform === "darwin" ? "libSystem.B.dylib" : "libc.so.6";
  try {
    const { symbols } = dlopen(name, {
      poll: { args: ["ptr", "u64", "i32"], returns: "i32" },
    } as const);
    // struct pollfd: int fd; short events; short revents.
    const polled = new Int16Array(4);
    return (milliseconds) => {
      polled.set([of, 0, pollOut, 0]);
      return symbols.poll(polled, 1n, milliseconds) !== 0;
    };
  } catch {
    return () => true; // A C library by another name (musl): writes may then block.
  }
}

const lineEnd = new Uint8Array([0x0a]);
const standardError = 2;
const pollOut = 4;
const pipeBuffer = 4096;
const wholeBuffer = 1 << 20;
const patienceMs = 100;
