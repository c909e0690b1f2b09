/** What packages of the binary have in common: version, time, and running the tools. */

import { join } from "node:path";

export const root = join(import.meta.dir, "../..");
export const binary = join(root, "dist/pkid");

/** What a binary says it is. */
export interface Build {
  readonly version: string;
  /** Twelve digits; empty outside a checkout. */
  readonly commit: string;
}

/**
 * Takes a binary and gives what it answers to `--version`: a package is called what it holds, also
 * when the sources have gone on since it was built. Throws when the binary does not run.
 */
export function buildOf(file: string): Build {
  const { version, commit } = JSON.parse(ran([file, "--version", "--json"]));
  return { version: String(version), commit: String(commit ?? "") };
}

/**
 * Gives seconds: `SOURCE_DATE_EPOCH`, else the time of the commit, so that the same gives the same.
 */
export function sourceTime(): string {
  const given = process.env.SOURCE_DATE_EPOCH;
  if (given !== undefined && given !== "") return given;
  const asked = Bun.spawnSync(["git", "log", "-1", "--format=%ct"], { cwd: root });
  return asked.success ? asked.stdout.toString().trim() : "0";
}

/** Runs a program and gives what it printed; ends the build when it fails. */
export function ran(line: readonly string[], env: Readonly<Record<string, string>> = {}): string {
  const done = Bun.spawnSync([...line], {
    cwd: root,
    env: { ...process.env, ...env },
    stdout: "pipe",
    stderr: "inherit",
  });
  if (done.success) return done.stdout.toString();
  throw new Error(`${line.join(" ")} failed`);
}
