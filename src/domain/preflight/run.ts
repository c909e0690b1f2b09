/**
 * Runs the checks of preflight: all at once, each with its own limit, and no failure of one ends
 * the others.
 */

import { type CheckName, checkNames, type Need, needsOf } from "#core/preflight/checks.ts";
import { failed, type Finding, skipped } from "#core/preflight/finding.ts";
import { type CheckRun, preflightReport, type PreflightReport } from "#core/preflight/report.ts";
import { Problem } from "#core/problems.ts";
import { timestamp } from "#core/time.ts";
import type { Clock, Patience, Stopwatch } from "#domain/ports.ts";

/** What a caller wants checked. */
export interface PreflightRequest {
  /** Also what reads the whole database. */
  readonly deep: boolean;
  /** Empty: all. */
  readonly only: readonly CheckName[];
  /** For each check. */
  readonly timeoutSeconds: number;
  readonly expiryWarnDays: number;
  readonly expiryFailDays: number;
  /** Newest events and ledger entries that are verified. */
  readonly auditSample: number;
  /** False asks nothing of other hosts. */
  readonly network: boolean;
}

export type Check = () => Finding | Promise<Finding>;
/** One function per row of the table. */
export type Checks = Readonly<Record<CheckName, Check>>;

export interface PreflightDeps {
  readonly clock: Clock;
  readonly stopwatch: Stopwatch;
  readonly patience: Patience;
  /** Path of the configuration file, empty without one. */
  readonly configPath: string;
  /** Why something a check may need is not there; what is not named is. */
  readonly missing: Readonly<Partial<Record<Need, string>>>;
}

/** Runs the checks asked for, in the order of the table. Never throws for what a check does. */
export async function runPreflight(
  deps: PreflightDeps,
  checks: Checks,
  request: PreflightRequest,
): Promise<PreflightReport> {
  const wanted = checkNames.filter(
    (name) => request.only.length === 0 || request.only.includes(name),
  );
  const missing = {
    ...deps.missing,
    ...(request.deep ? {} : { deep: "It reads the whole database and runs with --deep only." }),
    ...(request.network ? {} : { network: "--no-network was given." }),
  };
  const runs = await Promise.all(
    wanted.map((name) => timed(deps, name, reasonAgainst(name, missing), checks[name], request)),
  );
  const checkedAt = timestamp(deps.clock.now());
  return preflightReport({ checkedAt, configPath: deps.configPath, runs });
}

function reasonAgainst(
  name: CheckName,
  missing: Readonly<Partial<Record<Need, string>>>,
): string | undefined {
  return needsOf(name)
    .map((need) => missing[need])
    .find((reason) => reason !== undefined);
}

async function timed(
  { stopwatch, patience }: PreflightDeps,
  name: CheckName,
  against: string | undefined,
  check: Check,
  { timeoutSeconds }: PreflightRequest,
): Promise<CheckRun> {
  if (against !== undefined) return { name, finding: skipped(against), elapsedMs: 0 };
  const began = stopwatch.elapsedMs();
  const finding = await patience.within(timeoutSeconds, guarded(check));
  const late = failed(`It did not end within ${timeoutSeconds} s.`);
  const elapsedMs = Math.round(stopwatch.elapsedMs() - began);
  return { name, finding: finding ?? late, elapsedMs };
}

/**
 * A refusal's sentence is made for people; of anything else the message helps whoever runs
 * preflight on the host.
 */
async function guarded(check: Check): Promise<Finding> {
  try {
    return await check();
  } catch (error) {
    if (error instanceof Problem) return failed(`${error.message} (${error.code})`);
    return failed(error instanceof Error ? error.message : String(error));
  }
}
