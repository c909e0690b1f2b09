/** What a run needs that is no part of the project, installed or named before anything starts. */

import { existsSync } from "node:fs";
import { join } from "node:path";

import type { ScenarioName } from "./arguments.ts";

interface Need {
  readonly command: string;
  readonly package: string;
  /** Scenarios that cannot do without; all of them where it says nothing. */
  readonly of?: readonly ScenarioName[];
}

/** Debian packages. */
const needs: readonly Need[] = [
  { command: "wrk", package: "wrk" },
  { command: "openssl", package: "openssl" },
  { command: "softhsm2-util", package: "softhsm2", of: ["softhsm", "memory", "ocsp"] },
  { command: "chromium", package: "chromium", of: ["console"] },
  { command: "psql", package: "postgresql", of: ["postgres", "inventory-postgres"] },
];

/**
 * Undefined when all is there, root having had it installed where it was not; else one sentence
 * with the command that does it.
 */
export function missing(scenarios: readonly ScenarioName[], binary: string): string | undefined {
  if (!existsSync(binary)) return `There is no ${binary}: build it with scripts/build.`;
  const wanted = needsOf(scenarios).filter(({ command }) => !installed(command));
  if (wanted.length === 0) return undefined;
  return `The bench needs ${wanted.map(({ command }) => command).join(", ")}: ${advice(wanted)}`;
}

/** What these scenarios need. */
export const needsOf = (scenarios: readonly ScenarioName[]): readonly Need[] =>
  needs.filter(({ of }) => of === undefined || of.some((name) => scenarios.includes(name)));

/** The command that installs them. */
export const advice = (wanted: readonly Need[]): string =>
  `apt-get install ${wanted.map((one) => one.package).join(" ")}`;

function installed(command: string): boolean {
  if (Bun.which(command) !== null) return true;
  const { package: name = command } = needs.find((one) => one.command === command) ?? {};
  // It says on stderr what it installs, which is not part of what a run prints.
  const install = `. "${join(import.meta.dir, "../lib/debian.sh")}"; install_packages "${name}"`;
  Bun.spawnSync(["bash", "-c", install], { stdout: "ignore", stderr: "inherit" });
  return Bun.which(command) !== null;
}
