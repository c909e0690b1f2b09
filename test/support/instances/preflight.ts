/**
 * Runs `pkid preflight` of the compiled binary on a home directory and gives what each check said.
 */

import { existsSync } from "node:fs";
import { join } from "node:path";

import { Instance, newHome, runCli, writeConfig } from "./instance.ts";

/** What one check said. */
export interface Said {
  readonly status: "pass" | "warn" | "fail" | "skip";
  readonly detail: string;
  readonly remedy: string;
}

/** One run: its exit code, and the checks by name. */
export interface PreflightRun {
  readonly code: number;
  readonly checks: Readonly<Record<string, Said>>;
  readonly summary: Readonly<Record<Said["status"], number>>;
}

/**
 * Runs these checks, all when none is named; throws with the error text when there is no report.
 */
export async function preflight(
  home: string,
  only: readonly string[] = [],
  more: {
    readonly flags?: readonly string[];
    readonly env?: Readonly<Record<string, string>>;
  } = {},
): Promise<PreflightRun> {
  const named = only.length === 0 ? [] : ["--only", only.join(",")];
  const args = ["preflight", "--json", ...named, ...(more.flags ?? [])];
  const { code, stdout, stderr } = await runCli(home, args, "", more.env);
  if (stdout === "") throw new Error(`pkid preflight exited ${code}: ${stderr}`);
  const { checks, summary } = JSON.parse(stdout);
  const byName = checks.map((check: { name: string }) => [check.name, check]);
  return { code, checks: Object.fromEntries(byName), summary };
}

/** What a single check says. */
export async function said(
  home: string,
  name: string,
  more: Parameters<typeof preflight>[2] = {},
): Promise<Said> {
  const found = (await preflight(home, [name], more)).checks[name];
  if (found === undefined) throw new Error(`the report has no ${name}`);
  return found;
}

/** The home of an instance that was started once, filled by `fill`, and stopped. */
export async function stoppedHome(
  options: Parameters<typeof Instance.start>[0] = {},
  fill: (instance: Instance) => Promise<void> = async () => {},
): Promise<string> {
  const home = options.home ?? newHome();
  const instance = await Instance.start({ ...options, home });
  try {
    await fill(instance);
  } finally {
    await instance.stop();
  }
  return home;
}

/** Writes another configuration into a home that has one. */
export function reconfigure(home: string, config: Readonly<Record<string, unknown>>): void {
  if (!existsSync(join(home, "pkid.yaml"))) throw new Error("the home was never configured");
  writeConfig(home, config);
}
