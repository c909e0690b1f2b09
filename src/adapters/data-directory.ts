/** The data directory: private to its owner, and held by one process at a time (V-7). */

import { dlopen } from "bun:ffi";
import {
  closeSync,
  constants,
  ftruncateSync,
  mkdirSync,
  openSync,
  readFileSync,
  statSync,
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";

/** Why the directory cannot be used; a start-up failure. */
export class DirectoryUnfit extends Error {
  override readonly name = "DirectoryUnfit";
  readonly reason: "not_a_directory" | "readable_by_others" | "locked";

  constructor(reason: DirectoryUnfit["reason"], sentence: string) {
    super(sentence);
    this.reason = reason;
  }
}

/** A directory this process holds until it releases it or ends, however it ends. */
export interface HeldDirectory {
  readonly path: string;
  release(): void;
}

/**
 * Makes the directory (0700) when it is missing, makes every file of this process private from now
 * on (umask 077), and takes its lock. Refuses a directory others can enter or read, and one another
 * process holds, naming its pid.
 */
export function holdDirectory(path: string): HeldDirectory {
  process.umask(0o077);
  mkdirSync(path, { recursive: true, mode: 0o700 });
  const status = statSync(path);
  if (!status.isDirectory()) {
    throw new DirectoryUnfit("not_a_directory", "The data directory is not a directory.");
  }
  if ((status.mode & 0o077) !== 0) {
    const mode = (status.mode & 0o777).toString(8);
    throw new DirectoryUnfit(
      "readable_by_others",
      `The data directory has mode ${mode}; only its owner may have access (700).`,
    );
  }
  return { path, release: takeLock(join(path, "lock")) };
}

/**
 * The pid of the process that holds the directory, as it wrote it; undefined when nobody ever did.
 */
export function holderOf(path: string): number | undefined {
  try {
    const pid = Number.parseInt(readFileSync(join(path, "lock"), "utf8"), 10);
    return Number.isSafeInteger(pid) && pid > 0 ? pid : undefined;
  } catch {
    return undefined; // No lock file, no holder.
  }
}

/**
 * Takes the lock of a file, creates the file if it is missing, and writes the process id to it. The
 * returned function releases the lock.
 *
 * @throws {DirectoryUnfit} if another process has the lock
 */
export function takeLock(path: string): () => void {
  const flags = constants.O_RDWR | constants.O_CREAT | closeOnExec;
  const file = openSync(path, flags, 0o600);
  // The kernel drops this lock with the last descriptor, so a killed process never leaves it
  // behind.
  if (!lockDescriptor(file)) {
    closeSync(file);
    const holder = holderOf(join(path, ".."));
    const whom = holder === undefined ? "" : ` (process ${holder})`;
    const sentence = `The data directory ${dirname(path)} is in use${whom}, or cannot be locked.`;
    throw new DirectoryUnfit("locked", sentence);
  }
  ftruncateSync(file);
  writeSync(file, `${process.pid}\n`, 0);
  return () => closeSync(file);
}

/** Creates a file with mode 0600, and locks it until the returned descriptor is closed. */
export function createLockedFile(path: string): number {
  const flags = constants.O_RDWR | constants.O_CREAT | constants.O_EXCL | closeOnExec;
  const file = openSync(path, flags, 0o600);
  lockDescriptor(file);
  return file;
}

/**
 * Locks an open file until its last descriptor is closed.
 *
 * @returns false if another process has the lock, or if there are no locks
 */
export const lockDescriptor = (file: number): boolean =>
  flock(file, lockExclusive | lockNonBlocking) === 0;

function flock(file: number, operation: number): number {
  const library = dlopenFirst(libraries[process.platform === "darwin" ? "darwin" : "linux"]);
  try {
    return library.symbols.flock(file, operation);
  } finally {
    library.close();
  }
}

function dlopenFirst(names: readonly string[]) {
  let failure: unknown;
  for (const name of names) {
    try {
      return dlopen(name, { flock: { args: ["i32", "i32"], returns: "i32" } });
    } catch (error) {
      failure = error; // Another C library has another name; the last failure is told.
    }
  }
  throw failure;
}

// O_CLOEXEC is not among Node's constants; without it a child process would keep the lock alive.
const closeOnExec = process.platform === "darwin" ? 0x1000000 : 0o2000000;
const lockExclusive = 2;
const lockNonBlocking = 4;
const libraries = {
  linux: ["libc.so.6", `libc.musl-${process.arch === "arm64" ? "aarch64" : "x86_64"}.so.1`],
  darwin: ["libSystem.B.dylib"],
} as const;
