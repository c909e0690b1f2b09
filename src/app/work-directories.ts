/** Working directories of drills and restores, locked while they are in use. */

import { existsSync, lstatSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";

import { takeLock } from "#adapters/data-directory.ts";

/** Directory that is in use until it is removed or its process ends. */
export interface WorkDirectory {
  readonly path: string;
  remove(): void;
}

/** Creates the directory with mode 0700. Throws if it exists. */
export function createWorkDirectory(path: string): WorkDirectory {
  mkdirSync(path, { mode: 0o700 });
  const unlock = tryLock(path);
  return {
    path,
    remove: () => {
      rmSync(path, { recursive: true, force: true });
      unlock?.();
    },
  };
}

/**
 * Removes the working directories in `parent` whose process has ended. Directories of other users
 * stay.
 *
 * @param pattern accepts the name of a working directory
 * @param recover runs before a directory is removed; if it throws, the directory stays
 */
export function cleanWorkDirectories(
  parent: string,
  pattern: Pick<RegExp, "test">,
  recover: (path: string) => void = () => {},
): void {
  if (!existsSync(parent)) return;
  for (const name of readdirSync(parent).filter((one) => pattern.test(one))) {
    const path = join(parent, name);
    const entry = lstatSync(path, { throwIfNoEntry: false });
    if (entry?.isDirectory() !== true || entry.uid !== process.getuid?.()) continue;
    const unlock = existsSync(join(path, lockName)) ? tryLock(path) : undefined;
    // Earlier releases did not lock them, and some file systems have no locks.
    const isOld = Date.now() - entry.mtimeMs > abandonedMs;
    try {
      if (unlock === undefined && !isOld) continue;
      recover(path);
      rmSync(path, { recursive: true, force: true });
    } finally {
      unlock?.();
    }
  }
}

/** Returns undefined if another process has the lock, or if there are no locks. */
function tryLock(path: string): (() => void) | undefined {
  try {
    return takeLock(join(path, lockName));
  } catch {
    return undefined; // The age of the directory decides then.
  }
}

const lockName = "lock";
const abandonedMs = 86_400_000;
