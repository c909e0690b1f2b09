/** Decides if a configuration file that was found, not named, may be used. */

import { accessSync, constants, realpathSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";

/**
 * Checks that a file and its directory belong to the user or to root, and that no other user can
 * write them. A configuration names modules that pkid loads. The target of a link is checked too.
 *
 * @returns a message if the file must not be used
 */
export function findDistrust(file: string): string | undefined {
  try {
    const target = realpathSync(file);
    const paths = new Set([resolve(file), dirname(resolve(file)), target, dirname(target)]);
    for (const path of paths) {
      const reason = findReason(path);
      if (reason === undefined) continue;
      return `The file was found, not named, and ${path} ${reason}. Name the file with --config or PKID_CONFIG to use it.`;
    }
    return undefined;
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "unknown";
    return `The owner of the file cannot be read (${code}).`;
  }
}

function findReason(path: string): string | undefined {
  const { uid, mode } = statSync(path);
  if (uid !== 0 && uid !== process.geteuid?.()) return `belongs to user ${uid}`;
  if ((mode & writableByOthers) === 0 || isReadOnly(path)) return undefined;
  return `can be written by other users (mode ${(mode & 0o7777).toString(8)})`;
}

/** True on a file system that is mounted read-only, such as a ConfigMap volume. */
function isReadOnly(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return false;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EROFS";
  }
}

const writableByOthers = 0o022;
