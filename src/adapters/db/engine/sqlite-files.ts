/**
 * The files of an open SQLite database: made and locked before the first connection, then looked at
 * by name only.
 */

import {
  chmodSync,
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  realpathSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";

import { closeOnExec, lockByte } from "./byte-lock.ts";
import { StoreUnfit } from "./faults.ts";

/**
 * POSIX drops every lock a process has on a file as soon as the process closes any descriptor of
 * it. A database file is therefore never closed but by SQLite while SQLite has it open: the next
 * program from outside would take itself for the only one, and remove the log beneath the server.
 * The descriptor that holds the lock of this class is opened before the first connection and closed
 * after the last.
 */
export class SqliteFiles {
  readonly #path: string;
  #lock: number | undefined;
  #logLock: { readonly file: number; readonly id: string } | undefined;
  #known: readonly Known[] = [];

  private constructor(path: string, lock: number) {
    this.#path = path;
    this.#lock = lock;
  }

  /**
   * Makes the file when there is none, its owner's alone as the files beside it will be, and takes
   * it and its log for this process, whatever names others know them by. Refuses (`in_use`) what
   * another process has, and says which that is.
   */
  static taken(path: string): SqliteFiles {
    makePrivate(path);
    // SQLite names the log after the file itself, not after a link to it.
    const real = realpathSync(path);
    // When the lock is refused the descriptor stays open: this very process may be the one that has
    // the file open.
    const files = new SqliteFiles(real, locked(real, real));
    try {
      files.#takeLog();
      writeAgain(`${real}-wal`);
      note(real);
      return files;
    } catch (error) {
      files.release();
      throw error;
    }
  }

  /** From now on these are the files; called when a connection has opened them. */
  watch(): void {
    this.#takeLog();
    // Whoever makes the index anew holds none of the locks that lie on ours, and would write over
    // what we write.
    const files = [this.#path, this.#log, `${this.#path}-shm`];
    this.#known = files.map((path) => ({ path, found: look(path) }));
  }

  /** After the last connection of this process; the second time it does nothing. */
  release(): void {
    if (this.#lock !== undefined) closeSync(this.#lock);
    this.#lock = undefined;
    if (this.#logLock !== undefined) closeSync(this.#logLock.file);
    this.#logLock = undefined;
  }

  get #log(): string {
    return `${this.#path}-wal`;
  }

  /**
   * The log that is there: another than before when SQLite has made it anew. It keeps no lock on
   * the log itself.
   */
  #takeLog(): void {
    const id = fileIdentity(this.#log);
    if (id === "" || id === this.#logLock?.id) return;
    if (this.#logLock !== undefined) closeSync(this.#logLock.file);
    this.#logLock = undefined;
    this.#logLock = { file: locked(this.#log, this.#path), id };
  }

  /**
   * A file that is no longer the one that is open, removed or replaced; what is written now would
   * be lost.
   */
  displaced(): string | undefined {
    return this.#known.find(({ path, found }) => !stillThere(path, found))?.path;
  }

  /**
   * True while the log may be folded into the database: it is in its place, and nobody has made
   * another log or index.
   */
  foldable(): boolean {
    const [database, ...beside] = this.#known.map(({ path, found }) => ({
      found,
      now: look(path),
    }));
    return (
      same(database?.now, database?.found) &&
      beside.every(({ found, now }) => now === undefined || same(now, found))
    );
  }
}

/**
 * A descriptor that holds the file; where locks are impossible, what holds is the lock of the data
 * directory.
 */
function locked(path: string, database: string): number {
  const file = openSync(path, constants.O_RDWR | closeOnExec);
  if (lockByte(file) !== "held") return file;
  const whom = holderOf(database);
  throw new StoreUnfit(
    "in_use",
    `The database ${path} is in use${whom === "" ? " by another process" : `: ${whom}`}. Stop it first.`,
  );
}

/**
 * Which process has the database, as it wrote down or as the kernel shows; empty when nobody can
 * tell.
 */
function holderOf(database: string): string {
  try {
    const noted = readFileSync(holderNote(database), "utf8").trim();
    if (noted !== "") return noted;
  } catch {
    // It may have the file under another name, and its note lies there.
  }
  const { dev, ino } = statSync(database, { bigint: true });
  const pid = processes().find((found) => hasOpen(found, dev, ino));
  return pid === undefined ? "" : `process ${pid}`;
}

const processes = (): readonly string[] =>
  existsSync("/proc")
    ? readdirSync("/proc").filter((name) => /^\d+$/.test(name) && name !== String(process.pid))
    : [];

/** Of processes of other users nobody can tell. */
function hasOpen(pid: string, dev: bigint, ino: bigint): boolean {
  try {
    const folder = `/proc/${pid}/fd`;
    return readdirSync(folder).some((name) => {
      const found = statSync(join(folder, name), { bigint: true, throwIfNoEntry: false });
      return found?.ino === ino && found.dev === dev;
    });
  } catch {
    return false;
  }
}

/** Writes down who has the database; a disk without room for that keeps nobody from starting. */
function note(database: string): void {
  const holder = `process ${process.pid} on ${hostname()}, since ${new Date().toISOString()}\n`;
  try {
    writeFileSync(holderNote(database), holder, { mode: 0o600 });
  } catch {
    // Opening emptied an old note, and without one the kernel knows who has the file open.
  }
}

const holderNote = (database: string): string => `${database}-holder`;

/**
 * The file is there and its owner's alone, as SQLite will make those beside it; before this process
 * opens it.
 */
export function makePrivate(path: string): void {
  if (existsSync(path)) chmodSync(path, 0o600);
  // Another thread may have made it meanwhile, in the same way.
  else closeSync(openSync(path, "a", 0o600));
}

/**
 * A process that was killed may have failed to sync its log before: the octets are read back, and
 * are on no disk. The same ones are written once more, so that this sync has all of them to write.
 * SQLite keeps no lock on the log itself.
 */
function writeAgain(log: string): void {
  if ((statSync(log, { throwIfNoEntry: false })?.size ?? 0) === 0) return;
  const file = openSync(log, "r+");
  try {
    const piece = Buffer.alloc(pieceBytes);
    for (let at = 0; ; ) {
      const length = readSync(file, piece, 0, pieceBytes, at);
      if (length === 0) break;
      for (let wrote = 0; wrote < length; ) {
        wrote += writeSync(file, piece, wrote, length - wrote, at + wrote);
      }
      at += length;
    }
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

interface Known {
  readonly path: string;
  readonly found: Found;
}

/** Undefined when there is no such file. */
type Found = { readonly dev: bigint; readonly ino: bigint } | undefined;

/** Inodes need all 64 bits on some file systems. */
const exactly = { bigint: true, throwIfNoEntry: false } as const;
const look = (path: string): Found => statSync(path, exactly);
const same = (one: Found, other: Found): boolean =>
  one?.ino === other?.ino && one?.dev === other?.dev;

/**
 * As `same(look(path), found)`, at half the cost where both numbers of the known file are exact as
 * doubles: then no other number rounds to them.
 */
function stillThere(path: string, found: Found): boolean {
  if (found === undefined || found.ino > exactMax || found.dev > exactMax) {
    return same(look(path), found);
  }
  const now = statSync(path, { throwIfNoEntry: false });
  return now?.ino === Number(found.ino) && now.dev === Number(found.dev);
}

/** Device and inode; empty when there is no such file. */
export function fileIdentity(path: string): string {
  const found = look(path);
  return found === undefined ? "" : `${found.dev}/${found.ino}`;
}

const exactMax = BigInt(Number.MAX_SAFE_INTEGER);
const pieceBytes = 1_048_576;
