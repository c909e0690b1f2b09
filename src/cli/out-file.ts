/**
 * Where a result goes: standard output, or a file that holds nothing else yet than an earlier
 * result of its kind.
 */

import {
  chmodSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";

import { Failure } from "./failure.ts";
import { type FileKind, kindOfFile } from "./file-kinds.ts";
import { type Io, writeFile } from "./io.ts";

/** Takes the result once the command has it. */
export type Out = (result: string | Uint8Array) => void;

/**
 * Looks at the place before the command does anything, so that nothing is issued that cannot be
 * kept. Without a name, and for `-`, the result goes to standard output. Fails for a file that
 * holds something of another kind, for a directory, and where there is no directory.
 */
export function openOut(io: Io, out: string | undefined, kind: FileKind): Out {
  if (out === undefined || out === "-") return (result) => io.stdout.write(result);
  return outFile(out, kind, 0o644);
}

/**
 * As `openOut`, for a file. It is replaced as a whole: a reader sees the old result or the new one,
 * and a full disk leaves the old. `mode` is that of a new file; a file that is there keeps its own.
 */
export function outFile(file: string, kind: FileKind, mode: number): Out {
  const status = statSync(file, { throwIfNoEntry: false });
  if (status?.isDirectory()) throw new Failure(`${file} is a directory.`);
  // A device or a pipe is written to; there is nothing in it to keep.
  if (status !== undefined && !status.isFile()) {
    return (result) => writeFile(file, result, mode);
  }
  if (status === undefined) {
    const folder = dirname(file);
    if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) {
      throw new Failure(`${file} cannot be written: there is no directory ${folder}.`);
    }
    return (result) => replaced(file, result, mode);
  }
  const found = status.size === 0 ? kind : kindIn(file, status.size);
  if (found !== kind) {
    const sentence = `${file} holds ${found}, and is not replaced by ${kind}; nothing was done. Name another file, or move it away.`;
    throw new Failure(sentence, "already_exists", { file });
  }
  const target = realpathSync(file);
  return (result) => replaced(target, result, status.mode & 0o777);
}

function kindIn(file: string, size: number): FileKind {
  if (size > bytesMax) return "something else";
  try {
    return kindOfFile(readFileSync(file));
  } catch (error) {
    // What cannot be read is not replaced.
    if (error instanceof Error && "code" in error) return "something else";
    throw error;
  }
}

function replaced(target: string, result: string | Uint8Array, mode: number): void {
  const fresh = join(dirname(target), `.${basename(target)}.${crypto.randomUUID()}`);
  try {
    writeFileSync(fresh, result, { mode, flush: true });
    chmodSync(fresh, mode);
    renameSync(fresh, target);
  } catch (error) {
    rmSync(fresh, { force: true });
    const code = error instanceof Error && "code" in error ? String(error.code) : "unknown";
    throw new Failure(`${target} cannot be written: ${code}.`);
  }
}

const bytesMax = 64 * 1024 * 1024;
