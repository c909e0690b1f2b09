/** The line of the shell that an operator has run after a renewal. */

import type { RenewedFiles } from "./renewed-files.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Runs the line with the names of the files in its environment and nothing to read, five minutes at
 * most: one that hangs must not keep the certificate from its next renewal. Gives its exit code.
 */
export async function runHook(line: string, files: RenewedFiles, env: Environment) {
  const key = files.key === undefined ? {} : { PKID_KEY_FILE: files.key };
  const child = Bun.spawn(["/bin/sh", "-c", line], {
    env: { ...env, PKID_CERT_FILE: files.certificate, ...key },
    stdin: "ignore",
    stdout: "ignore",
    stderr: "inherit",
    timeout: hookMs,
  });
  return await child.exited;
}

/**
 * The environment without the settings of an instance: a hook may ask one, and be told which; what
 * they hold (PINs, passwords, tokens) is not its business.
 */
export function withoutSettings(env: Environment): Environment {
  const kept = Object.entries(env).filter(
    ([name]) => !name.startsWith("PKID_") || hookVariables.includes(name),
  );
  return Object.fromEntries(kept);
}

const hookVariables = ["PKID_URL", "PKID_CA_FILE", "PKID_CONFIG", "PKID_DATA_DIR"];
const hookMs = 300_000;
