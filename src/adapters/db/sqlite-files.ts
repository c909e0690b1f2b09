/** The files of an open SQLite database: made before the first connection, then looked at by name only, and watched. */

import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readSync,
  realpathSync,
  statSync,
  writeSync,
} from "node:fs";

/**
 * POSIX drops every lock a process has on a file as soon as the process closes any descriptor of it. A database file is
 * therefore never opened but by SQLite while SQLite has it open: the next program from outside would take itself for
 * the only one, and remove the log beneath the server.
 */
export class SqliteFiles {
  readonly #path: string;
  #known: readonly Known[] = [];

  private constructor(path: string) {
    this.#path = path;
  }

  /** Makes the file when there is none, its owner's alone as the files beside it will be; before the first connection. */
  static prepared(path: string): SqliteFiles {
    makePrivate(path);
    // SQLite names the log after the file itself, not after a link to it.
    const real = realpathSync(path);
    writeAgain(`${real}-wal`);
    return new SqliteFiles(real);
  }

  /** From now on these are the files; called when a connection has opened both. */
  watch(): void {
    this.#known = [this.#path, `${this.#path}-wal`].map((path) => ({
      path,
      id: fileIdentity(path),
    }));
  }

  /** A file that is no longer the one that is open, removed or replaced; what is written now would be lost. */
  displaced(): string | undefined {
    return this.#known.find(({ path, id }) => fileIdentity(path) !== id)?.path;
  }

  /** True while the log may be folded into the database: both are in their place, or nobody has made another log. */
  foldable(): boolean {
    const [database, log] = this.#known.map(({ path, id }) => ({ id, now: fileIdentity(path) }));
    return database?.now === database?.id && (log?.now === log?.id || log?.now === "");
  }
}

/** The file is there and its owner's alone, as SQLite will make those beside it; before this process opens it. */
export function makePrivate(path: string): void {
  if (existsSync(path)) chmodSync(path, 0o600);
  else closeSync(openSync(path, "wx", 0o600));
}

/**
 * A process that was killed may have failed to sync its log before: the octets are read back, and are on no disk. The
 * same ones are written once more, so that this sync has all of them to write. SQLite keeps no lock on the log itself.
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
  readonly id: string;
}

/** Device and inode; empty when there is no such file. */
export function fileIdentity(path: string): string {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found === undefined ? "" : `${found.dev}/${found.ino}`;
}

const pieceBytes = 1_048_576;
