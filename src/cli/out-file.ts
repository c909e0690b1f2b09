/**
 * Where a result goes: standard output, or a file that holds nothing else yet than an earlier
 * result of its kind.
 */

import {
  chmodSync,
  chownSync,
  closeSync,
  openSync,
  readFileSync,
  readSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";

import { Failure } from "./failure.ts";
import { type FileKind, isAuditExport, kindOfFile, leadingSubject } from "./file-kinds.ts";
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
 * and a full disk leaves the old. `mode` is that of a new file; a file that is there keeps its own,
 * without what others may when `mode` gives them nothing, and its owner and group as far as this
 * user may give it away. The place is looked at again when the result comes.
 */
export function outFile(file: string, kind: FileKind, mode: number): Out {
  const stage = stagedFile(file, kind, mode);
  return (result) => stage(result).commit();
}

/** A result that is on the disk beside its place. */
export interface Staged {
  /** Has it take the place. */
  commit(): void;
  /** Takes it away again; nothing was replaced. */
  discard(): void;
}

/**
 * As `outFile`, in two steps for results that belong together: what can fail for want of room has
 * been done before any of them takes its place.
 */
export function stagedFile(
  file: string,
  kind: FileKind,
  mode: number,
): (result: string | Uint8Array) => Staged {
  const place = placeOf(file, { kind, mode }, "nothing was done");
  if (place !== undefined) probe(place);
  return (result) => {
    const now = placeOf(file, { kind, mode }, "the result was not written");
    if (now === undefined) {
      return { commit: () => writeFile(file, result, mode), discard: () => undefined };
    }
    if (kind === "a CA certificate") mustBeOfSameCa(file, result);
    return staged(now, result);
  };
}

/** The chain of one CA does not take the place of another's, nor of what cannot be told. */
function mustBeOfSameCa(file: string, result: string | Uint8Array): void {
  if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) === 0) return;
  const [held, made] = [readFileSync(file), Buffer.from(result)].map(leadingSubject);
  if (held !== undefined && made !== undefined && Buffer.compare(held, made) === 0) return;
  const sentence = `${file} holds the certificate of another CA; the result was not written. Name another file, or move it away.`;
  throw new Failure(sentence, "already_exists", { file });
}

/** Where a result goes, with what rights, and whose the file is there. */
export interface Place {
  readonly target: string;
  readonly mode: number;
  readonly owner: { readonly uid: number; readonly gid: number } | undefined;
}

/**
 * Undefined for a device or a pipe, which is written to: there is nothing in it to keep. Fails for
 * a directory, where there is none, and for a file of another kind; then it says the consequence.
 */
export function placeOf(
  file: string,
  { kind, mode }: { readonly kind: FileKind; readonly mode: number },
  consequence: string,
): Place | undefined {
  const status = statSync(file, { throwIfNoEntry: false });
  if (status?.isDirectory()) throw new Failure(`${file} is a directory.`);
  if (status !== undefined && !status.isFile()) return undefined;
  if (status === undefined) {
    const folder = dirname(file);
    if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) {
      throw new Failure(`${file} cannot be written: there is no directory ${folder}.`);
    }
    return { target: file, mode, owner: undefined };
  }
  const found = status.size === 0 ? kind : kindIn(file, status.size);
  if (found !== kind) {
    const sentence = `${file} holds ${found}, and is not replaced by ${kind}; ${consequence}. Name another file, or move it away.`;
    throw new Failure(sentence, "already_exists", { file });
  }
  const kept = (mode & others) === 0 ? status.mode & ~others : status.mode;
  return { target: realpathSync(file), mode: kept & 0o777, owner: status };
}

function kindIn(file: string, size: number): FileKind {
  try {
    if (isAuditExport(headOf(file))) return "an audit export";
    if (size > bytesMax) return "something else";
    return kindOfFile(readFileSync(file));
  } catch (error) {
    // What cannot be read is not replaced.
    if (error instanceof Error && "code" in error) return "something else";
    throw error;
  }
}

function headOf(file: string): Uint8Array {
  const opened = openSync(file, "r");
  try {
    const head = new Uint8Array(headBytes);
    return head.subarray(0, readSync(opened, head));
  } finally {
    closeSync(opened);
  }
}

/** A name in the same folder that nobody has. */
export const freshBeside = (target: string): string =>
  join(dirname(target), `.${basename(target)}.${crypto.randomUUID()}`);

/** Fails where no file can be made, which the bits of a directory do not say for sure. */
export function probe({ target }: Place): void {
  const fresh = freshBeside(target);
  const forget = removedBySignals(fresh);
  try {
    writeFileSync(fresh, "", { mode: 0o600, flag: "wx" });
  } catch (error) {
    throw new Failure(`${target} cannot be written: ${codeOf(error)}; nothing was done.`);
  } finally {
    rmSync(fresh, { force: true });
    // What came meanwhile is heard in the turn between, and still ends the process.
    setImmediate(forget);
  }
}

/**
 * Removes the file when a signal would end the process, which then ends by it; a signal that
 * somebody else listens to is left to them. Undone by the result.
 */
export function removedBySignals(file: string): () => void {
  const end = (signal: NodeJS.Signals) => {
    rmSync(file, { force: true });
    forget();
    if (process.listenerCount(signal) === 0) process.kill(process.pid, signal);
  };
  const forget = () => {
    for (const signal of signals) process.off(signal, end);
  };
  for (const signal of signals) process.on(signal, end);
  return forget;
}

function staged(place: Place, result: string | Uint8Array): Staged {
  const { target } = place;
  const fresh = freshBeside(target);
  const discard = () => rmSync(fresh, { force: true });
  const attempt = (step: () => void) => {
    try {
      step();
    } catch (error) {
      discard();
      throw new Failure(`${target} cannot be written: ${codeOf(error)}.`);
    }
  };
  attempt(() => {
    writeFileSync(fresh, result, { mode: place.mode & 0o700, flag: "wx", flush: true });
    endow(fresh, place);
  });
  return { commit: () => attempt(() => renameSync(fresh, target)), discard };
}

/** Gives what was written under a fresh name the owner and the rights of its place. */
export function endow(fresh: string, { mode, owner }: Place): void {
  if (owner !== undefined) giveTo(fresh, owner);
  chmodSync(fresh, mode);
}

/**
 * Whoever read the old file must be able to read the new one; only root may give files to others.
 */
function giveTo(fresh: string, { uid, gid }: { readonly uid: number; readonly gid: number }): void {
  for (const user of [uid, unchanged]) {
    try {
      chownSync(fresh, user, gid);
      return;
    } catch (error) {
      if (codeOf(error) !== "EPERM") throw error;
    }
  }
}

const codeOf = (error: unknown): string =>
  error instanceof Error && "code" in error ? String(error.code) : "unknown";

const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
/** POSIX chown: (uid_t)-1 leaves the owner as it is. */
const unchanged = -1;
const others = 0o007;
/** The longest event in a line is shorter. */
const headBytes = 65_536;
const bytesMax = 64 * 1024 * 1024;
