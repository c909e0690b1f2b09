/**
 * A disk that fails when it is told to, and forgets at a power cut what was never synced
 * (`faulty-disk.c`).
 */

import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";

/** Which operation fails, how, and for how many after it. */
export interface DiskFault {
  /** Writes, syncs and truncations are numbered from 1; 0 for no fault. */
  readonly from: number;
  readonly times: number;
  readonly errno: "EIO" | "ENOSPC";
  /** Decides which writes reach the disk before they are synced. */
  readonly seed: number;
}

/** Compiles the disk; gives the file for `LD_PRELOAD`. */
export function newFaultyDisk(): string {
  const path = join(mkdtempSync(join(tmpdir(), "pkid-faulty-")), "faulty-disk.so");
  const source = join(import.meta.dir, "faulty-disk.c");
  const options = ["-shared", "-fPIC", "-O1", source, "-o", path, "-ldl", "-lpthread"];
  const built = Bun.spawnSync(["gcc", ...options]);
  if (built.exitCode !== 0) throw new Error(built.stderr.toString());
  return path;
}

/** The disk under one database: a process given `env` writes to it. */
export class DiskUnder {
  readonly #database: string;
  readonly #shadow: string;

  /** What the files of the database hold now is on the disk. */
  constructor(database: string) {
    this.#database = database;
    this.#shadow = join(dirname(database), "shadow");
    rmSync(this.#shadow, { recursive: true, force: true });
    mkdirSync(this.#shadow);
    for (const name of this.#files(dirname(database))) {
      copyFileSync(join(dirname(database), name), join(this.#shadow, name));
    }
  }

  env(library: string, { from, times, errno, seed }: DiskFault): Record<string, string> {
    return {
      LD_PRELOAD: library,
      FAULTY_FILES: this.#database,
      FAULTY_SHADOW: this.#shadow,
      FAULTY_FROM: String(from),
      FAULTY_TIMES: String(times),
      FAULTY_ERRNO: String({ EIO: 5, ENOSPC: 28 }[errno]),
      FAULTY_SEED: String(seed),
    };
  }

  /** Writes, syncs and truncations so far. */
  get operations(): number {
    const count = join(this.#shadow, "count");
    return existsSync(count) ? Number(readFileSync(count).readBigUInt64LE()) : 0;
  }

  /** The files are what the disk has; nobody may have them open. */
  cutPower(): void {
    for (const name of this.#files(dirname(this.#database))) {
      rmSync(join(dirname(this.#database), name));
    }
    for (const name of this.#files(this.#shadow)) {
      copyFileSync(join(this.#shadow, name), join(dirname(this.#database), name));
    }
  }

  /** The database and its log; the index of the log is in memory only. */
  #files(folder: string): string[] {
    const name = basename(this.#database);
    const all = [name, `${name}-wal`, `${name}-shm`];
    return readdirSync(folder).filter((found) => all.includes(found));
  }
}
