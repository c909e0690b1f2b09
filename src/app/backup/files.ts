/**
 * Writes an archive that comes piece by piece: under a name of its own until it was read back, then
 * under the name it is to have (BAK-2).
 */

import {
  closeSync,
  constants,
  createReadStream,
  linkSync,
  lstatSync,
  openSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { open } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

import { createLockedFile, lockDescriptor } from "#adapters/data-directory.ts";
import { syncDirectory } from "#adapters/keys/software/files.ts";
import { nameOfArchive } from "#core/backup/archive.ts";
import { createHash } from "#core/crypto.ts";

import { Failure } from "#cli/failure.ts";

/** A file that has been written. */
export interface WrittenArchive {
  readonly file: string;
  /** Octets. */
  readonly size: number;
  /** Lower hex. */
  readonly sha256: string;
}

/**
 * Where the archive goes: `out`, or in it under `name` when it is a directory. Fails for a file
 * that is there, and where there is no directory.
 */
export function archivePlace(out: string, name: string): string {
  const file = statSync(out, { throwIfNoEntry: false })?.isDirectory() ? join(out, name) : out;
  if (statSync(file, { throwIfNoEntry: false }) !== undefined) {
    throw new Failure(`${file} exists; an archive is never written over.`, "already_exists", {
      file,
    });
  }
  if (!statSync(dirname(file), { throwIfNoEntry: false })?.isDirectory()) {
    throw new Failure(`${file} cannot be written: there is no directory ${dirname(file)}.`);
  }
  return file;
}

/**
 * Writes the pieces, durably, reads them back, and asks `mustBe` about their digest; nothing is
 * there under `file` before. Whatever fails leaves nothing behind.
 */
export async function writeArchive(
  file: string,
  pieces: AsyncIterable<Uint8Array>,
  mustBe: (sha256: string) => Promise<void>,
): Promise<WrittenArchive> {
  const fresh = join(dirname(file), `.${basename(file)}.${crypto.randomUUID()}`);
  let lock: number | undefined;
  try {
    removeAbandonedFiles(file);
    lock = createLockedFile(fresh);
    const written = await pouredInto(fresh, pieces);
    const read = await digestOf(fresh);
    if (read !== written.sha256) {
      throw new Failure(`${file} does not read back as it was written; it was not kept.`);
    }
    await mustBe(read);
    // Unlike a rename it fails where there is a file by now.
    linkSync(fresh, file);
    syncDirectory(dirname(file));
    return { file, ...written };
  } catch (error) {
    // Only what the system says is the file's fault.
    if (!(error instanceof Error && "syscall" in error && "code" in error)) throw error;
    throw new Failure(`${file} cannot be written: ${String(error.code)}.`);
  } finally {
    rmSync(fresh, { force: true });
    if (lock !== undefined) closeSync(lock);
  }
}

/** Removes unfinished files of killed processes, which have the names of archives or of `file`. */
function removeAbandonedFiles(file: string): void {
  const directory = dirname(file);
  for (const name of readdirSync(directory)) {
    const target = unfinishedForm.exec(name)?.[1];
    if (target !== basename(file) && nameOfArchive(target ?? "") === undefined) continue;
    const path = join(directory, name);
    const entry = lstatSync(path, { throwIfNoEntry: false });
    if (entry?.isFile() !== true || entry.uid !== process.getuid?.()) continue;
    // A file that was just created may not be locked yet.
    if (entry.size === 0 && Date.now() - entry.mtimeMs < emptyMs) continue;
    const descriptor = openSync(path, constants.O_RDONLY);
    if (lockDescriptor(descriptor)) rmSync(path, { force: true });
    closeSync(descriptor);
  }
}

/** The part that is no secret, beside the archive: what people and later restores go by. */
export function writeSidecar(file: string, facts: Readonly<Record<string, unknown>>): void {
  const text = `${JSON.stringify(facts, undefined, 2)}\n`;
  writeFileSync(`${file}.manifest.json`, text, { mode: 0o600, flush: true });
}

/** Not on this thread: a sync of gigabytes takes seconds. */
async function pouredInto(fresh: string, pieces: AsyncIterable<Uint8Array>) {
  const opened = await open(fresh, "r+");
  let size = 0;
  try {
    const sha256 = await poured(pieces, async (piece) => {
      for (let at = 0; at < piece.length; ) {
        at += (await opened.write(piece, at)).bytesWritten;
      }
      size += piece.length;
    });
    await opened.sync();
    return { size, sha256 };
  } finally {
    await opened.close();
  }
}

/** Hands each piece on, and gives the lower hex SHA-256 of all of them. */
export async function poured(
  pieces: AsyncIterable<Uint8Array>,
  take: (piece: Uint8Array) => void | Promise<void>,
): Promise<string> {
  const hash = createHash("sha256");
  for await (const piece of pieces) {
    hash.update(piece);
    await take(piece);
  }
  return hash.digest("hex");
}

/** Lower hex SHA-256 of a file of any length. */
export async function digestOf(file: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const piece of createReadStream(file, { highWaterMark: 1_048_576 }))
    hash.update(piece);
  return hash.digest("hex");
}

const unfinishedForm = /^\.(.+)\.[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const emptyMs = 60_000;
