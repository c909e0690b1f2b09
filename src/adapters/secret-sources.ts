/** Resolves a configured secret from where it is kept: in place, a variable, or a file (SEC-2 to SEC-4). */

import { closeSync, constants, fstatSync, openSync, readFileSync, realpathSync } from "node:fs";
import { dirname } from "node:path";

import { Secret, type SecretSetting, type SecretSource } from "#config/secret.ts";

/** A secret that cannot be had; the message names the source, never a value. */
export class SecretUnavailable extends Error {
  override readonly name = "SecretUnavailable";
}

/**
 * The secret of a setting. Throws `SecretUnavailable` for a variable or file that is missing or empty, a file that is not
 * regular, is readable by group or others, lies behind a link out of its directory, or is over 64 KiB.
 */
export function resolveSecret(
  setting: SecretSetting,
  env: Readonly<Record<string, string | undefined>>,
): Secret {
  if (setting.from === "value") return setting.value;
  const text = readSource(setting.source, env).replace(/\r?\n$/, "");
  if (text === "") throw new SecretUnavailable(`${describeSource(setting.source)} is empty.`);
  return new Secret(text);
}

/** Names a source for messages: its type and where it points. */
export function describeSource(source: SecretSource): string {
  switch (source.type) {
    case "env":
      return `The variable ${source.env.var}`;
    case "file":
      return `The file ${source.file.path}`;
    default:
      return source satisfies never;
  }
}

function readSource(
  source: SecretSource,
  env: Readonly<Record<string, string | undefined>>,
): string {
  switch (source.type) {
    case "env":
      return env[source.env.var] ?? "";
    case "file":
      return readSecretFile(source.file);
    default:
      return source satisfies never;
  }
}

function readSecretFile(file: { path: string; allow_insecure_perms: boolean }): string {
  const refuse = (why: string): SecretUnavailable =>
    new SecretUnavailable(`The file ${file.path} ${why}.`);
  const handle = openRegular(file.path, refuse);
  try {
    // Checked on the open file, so that what was checked is what is read.
    const { mode, size } = fstatSync(handle);
    if ((mode & 0o077) !== 0 && !file.allow_insecure_perms) {
      throw refuse("can be read by group or others; set mode 0600");
    }
    if (size > bytesMax) throw refuse("is larger than 64 KiB");
    return readFileSync(handle, "utf8");
  } finally {
    closeSync(handle);
  }
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
