/**
 * Reads secrets kept on this machine: a variable, or a file that is nobody else's business (SEC-4).
 */

import { closeSync, constants, fstatSync, openSync, readFileSync, realpathSync } from "node:fs";
import { dirname } from "node:path";

import type { LocalSource } from "#config/secret.ts";

import { SecretUnavailable } from "#config/secret.ts";

/** Where variables are looked up. */
export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The text of a variable or file, without one final line end. Throws `SecretUnavailable` for what
 * is missing or empty, a file that is not regular, is readable by group or others, lies behind a
 * link out of its directory, or is over 64 KiB.
 */
export function readLocal(source: LocalSource, env: Environment): string {
  const raw = source.type === "env" ? (env[source.env.var] ?? "") : readSecretFile(source.file);
  const text = raw.replace(/\r?\n$/, "");
  if (text === "") throw new SecretUnavailable(`${describeLocal(source)} is empty.`);
  if (Buffer.byteLength(text) > bytesMax) {
    throw new SecretUnavailable(`${describeLocal(source)} is larger than 64 KiB.`);
  }
  return text;
}

/**
 * Whether `readLocal` would give something, without looking at what: a file is opened and its facts
 * are judged, its content is not read. Throws as that does.
 */
export function probeLocal(source: LocalSource, env: Environment): void {
  if (source.type === "env") {
    readLocal(source, env);
    return;
  }
  const { handle, size } = openSecretFile(source.file);
  closeSync(handle);
  if (size === 0) throw new SecretUnavailable(`${describeLocal(source)} is empty.`);
}

/** Names a source for messages: its type and where it points. */
export const describeLocal = (source: LocalSource): string =>
  source.type === "env" ? `The variable ${source.env.var}` : `The file ${source.file.path}`;

/**
 * The text of a small file that a platform mounts for a workload; undefined when it cannot be read.
 */
export function readMounted(path: string, most = bytesMax): string | undefined {
  try {
    const handle = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const facts = fstatSync(handle);
      if (!facts.isFile() || facts.size > most) return undefined;
      return readFileSync(handle, "utf8");
    } finally {
      closeSync(handle);
    }
  } catch {
    return undefined; // Absent or not ours to read: the caller names the file.
  }
}

type SecretFile = Extract<LocalSource, { type: "file" }>["file"];

function readSecretFile(file: SecretFile): string {
  const { handle } = openSecretFile(file);
  try {
    return readFileSync(handle, "utf8");
  } finally {
    closeSync(handle);
  }
}

/** An open file that may be read; the caller closes it. */
function openSecretFile(file: SecretFile): { readonly handle: number; readonly size: number } {
  const refuse = (why: string): SecretUnavailable =>
    new SecretUnavailable(`The file ${file.path} ${why}.`);
  const handle = openRegular(file.path, refuse);
  // Checked on the open file, so that what was checked is what is read.
  const { mode, size } = fstatSync(handle);
  const open = (mode & 0o077) !== 0 && !file.allow_insecure_perms;
  if (!open && size <= bytesMax) return { handle, size };
  closeSync(handle);
  throw refuse(open ? "can be read by group or others; set mode 0600" : "is larger than 64 KiB");
}

function openRegular(path: string, refuse: (why: string) => SecretUnavailable): number {
  let handle: number;
  try {
    // A link may point elsewhere in the directory, as mounted secrets do, but not out of it.
    const real = realpathSync(path);
    const home = realpathSync(dirname(path));
    if (real !== home && !real.startsWith(`${home}/`))
      throw refuse("is a link out of its directory");
    // Not blocking, so that a pipe in place of the file cannot hang the start.
    handle = openSync(real, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
  } catch (error) {
    if (error instanceof SecretUnavailable) throw error;
    const missing = error instanceof Error && "code" in error && error.code === "ENOENT";
    throw refuse(missing ? "does not exist" : "cannot be read");
  }
  if (fstatSync(handle).isFile()) return handle;
  closeSync(handle);
  throw refuse("is not a regular file");
}

const bytesMax = 65_536;
