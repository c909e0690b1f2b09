/** The files of an open SQLite database: made before the first connection, then looked at by name only, and watched. */

import { chmodSync, closeSync, existsSync, openSync, realpathSync, statSync } from "node:fs";

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
    return new SqliteFiles(realpathSync(path));
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

interface Known {
  readonly path: string;
  readonly id: string;
}

/** Device and inode; empty when there is no such file. */
export function fileIdentity(path: string): string {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found === undefined ? "" : `${found.dev}/${found.ino}`;
}
