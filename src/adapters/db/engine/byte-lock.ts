/**
 * A lock on one byte of an open SQLite file, which the kernel drops with the process, however it
 * ends.
 */

import { dlopen, ptr } from "bun:ffi";

export type ByteLock = "taken" | "held" | "impossible";

/**
 * Takes one byte of a SQLite file for this descriptor: a lock of the open file (fcntl_locking(2),
 * `F_OFD_SETLK`), which reaches every process that has the same file under whatever name, in any
 * container, and on a file server that knows locks. The byte lies behind those SQLite locks itself.
 * Only on Linux; `impossible` elsewhere.
 */
export function lockByte(file: number): ByteLock {
  if (process.platform !== "linux") return "impossible";
  const library = openFirst(libraries);
  const { fcntl } = library.symbols;
  try {
    const request = writeLock();
    if (fcntl(file, takeLock, ptr(request)) === 0) return "taken";
    // The error number does not come through: whether somebody has the byte is asked for.
    const asked = writeLock();
    if (fcntl(file, askForLock, ptr(asked)) !== 0) return "impossible";
    return new DataView(asked.buffer).getInt16(0, true) === unlocked ? "impossible" : "held";
  } finally {
    library.close();
  }
}

/**
 * `struct flock` of the 64-bit ABIs: type, whence, start at 8, length at 16, process at 24, which
 * must be 0.
 */
function writeLock(): Uint8Array {
  const bytes = new Uint8Array(32);
  const view = new DataView(bytes.buffer);
  view.setInt16(0, exclusive, true);
  view.setBigInt64(8, lockedByte, true);
  view.setBigInt64(16, 1n, true);
  return bytes;
}

function openFirst(names: readonly string[]) {
  let failure: unknown;
  for (const name of names) {
    try {
      return open(name);
    } catch (error) {
      failure = error; // Another C library has another name; the last failure is told.
    }
  }
  throw failure;
}

const open = (name: string) =>
  dlopen(name, {
    fcntl: { args: ["i32", "i32", "ptr"], returns: "i32" },
  });

/**
 * O_CLOEXEC, which is not among Node's constants; without it a child process would keep the lock
 * alive.
 */
export const closeOnExec = process.platform === "darwin" ? 0x1000000 : 0o2000000;
const exclusive = 1;
const unlocked = 2;
const askForLock = 36;
const takeLock = 37;
/** SQLite locks 512 bytes from 2^30 on. */
const lockedByte = 0x4000_1000n;
const libraries = [
  "libc.so.6",
  `libc.musl-${process.arch === "arm64" ? "aarch64" : "x86_64"}.so.1`,
];
