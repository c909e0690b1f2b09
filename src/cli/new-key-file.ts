/** Writes a private key made here to a file of its own, which never takes the place of another. */

import type { KeyObject } from "node:crypto";
import { closeSync, existsSync, fsyncSync, openSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

import { Failure } from "./failure.ts";
import { keyPem } from "./new-request.ts";

/** A key that is in its file. */
export interface KeyFile {
  readonly file: string;
  /** Takes the file away again: for a key that was certified by nobody, for certain. */
  discard(): void;
}

/** Fails for a file that is there, whatever it holds. */
export function mustBeNew(file: string): void {
  if (!existsSync(file)) return;
  const sentence = `${file} exists; a new key never takes the place of anything. Name another file, or ask with --csr for the key that is there.`;
  throw new Failure(sentence, "already_exists", { file });
}

/**
 * Writes the key in PKCS#8 (0600) and on the disk before anything is asked for it. Fails for a file
 * that is there.
 */
export function writeKeyFile(file: string, key: KeyObject): KeyFile {
  mustBeNew(file);
  const opened = attempted(file, () => openSync(file, "wx", 0o600));
  try {
    attempted(file, () => {
      writeFileSync(opened, keyPem(key), { flush: true });
      // The name of a file is on the disk when its directory is.
      syncDirectory(dirname(file));
    });
  } catch (error) {
    // What a full disk leaves holds no key, and would stand in the way of the next attempt.
    rmSync(file, { force: true });
    throw error;
  } finally {
    closeSync(opened);
  }
  return { file, discard: () => rmSync(file, { force: true }) };
}

function syncDirectory(directory: string): void {
  const opened = openSync(directory, "r");
  try {
    fsyncSync(opened);
  } finally {
    closeSync(opened);
  }
}

function attempted<T>(file: string, write: () => T): T {
  try {
    return write();
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "unknown";
    throw new Failure(`${file} cannot be written: ${code}.`);
  }
}
