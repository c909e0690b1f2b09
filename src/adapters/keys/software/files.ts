/**
 * Small files that must survive a crash whole or not at all, and must be readable by nobody else.
 */

import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  unlinkSync,
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";

import { LaunchFault } from "#adapters/keys/requests.ts";

/** Makes the directory 0700 when it is absent; refuses one that group or others may enter. */
export function privateDirectory(path: string): void {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  if ((lstatSync(path).mode & 0o077) === 0) return;
  throw new LaunchFault("configuration", "The key store directory is open to others.");
}

/**
 * Removes what a crash left between a temporary file and its rename. Young ones stay: another
 * process that shares the directory may be about to rename them.
 */
export function removeLeftovers(directory: string): void {
  for (const name of readdirSync(directory)) {
    if (!name.startsWith(temporaryPrefix)) continue;
    const path = join(directory, name);
    const age = Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
    if (age > leftoverAfterMs) removeDurably(path);
  }
}

/**
 * Writes a new file of mode 0600 durably: temporary file, fsync, rename, fsync of the directory.
 */
export function writeDurably(path: string, content: Uint8Array): void {
  const temporary = writeTemporary(path, content);
  try {
    renameSync(temporary, path);
  } catch (fault) {
    unlinkSync(temporary);
    throw fault;
  }
  syncDirectory(dirname(path));
}

/** As `writeDurably`, but an existing file wins: gives false and leaves it alone. */
export function createDurably(path: string, content: Uint8Array): boolean {
  if (existsSync(path)) return false;
  const temporary = writeTemporary(path, content);
  try {
    // A hard link, unlike a rename, fails when another process was faster.
    linkSync(temporary, path);
    syncDirectory(dirname(path));
    return true;
  } catch (fault) {
    if (isErrno(fault, "EEXIST")) return false;
    throw fault;
  } finally {
    unlinkSync(temporary);
  }
}

/** The content of a file of at most `bytesMax` octets; undefined when there is none. */
export function readSmall(path: string, bytesMax: number): Buffer | undefined {
  try {
    if (lstatSync(path).size > bytesMax) return undefined;
    return readFileSync(path);
  } catch (fault) {
    if (isErrno(fault, "ENOENT")) return undefined;
    throw fault;
  }
}

/** Removes a file for good; an absent one is fine. */
export function removeDurably(path: string): void {
  try {
    unlinkSync(path);
    syncDirectory(dirname(path));
  } catch (fault) {
    if (!isErrno(fault, "ENOENT")) throw fault;
  }
}

/** True for an operating-system error with this name. */
export const isErrno = (fault: unknown, name: string): boolean =>
  fault instanceof Error && "code" in fault && fault.code === name;

function writeTemporary(path: string, content: Uint8Array): string {
  const unique = crypto.randomUUID();
  const temporary = join(dirname(path), `${temporaryPrefix}${unique}`);
  const file = openSync(temporary, "wx", 0o600);
  try {
    let written = 0;
    while (written < content.length) written += writeSync(file, content, written);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  return temporary;
}

/** Has the names in a directory on disk. */
export function syncDirectory(path: string): void {
  const directory = openSync(path, "r");
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}

const temporaryPrefix = ".new-";
const leftoverAfterMs = 600_000;
