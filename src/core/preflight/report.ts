/** The report of preflight: every check with what it found, and the counts (PRF-1). */

import { type CheckName, preflightChecks } from "./checks.ts";
import type { Finding, FindingStatus } from "./finding.ts";

/** One check that was run or passed over. */
export interface CheckRun {
  readonly name: CheckName;
  readonly finding: Finding;
  /** Whole milliseconds. */
  readonly elapsedMs: number;
}

/** The report as every caller gives it; a remedy stands where something is to be remedied. */
export function preflightReport(about: {
  /** RFC 3339. */
  readonly checkedAt: string;
  /** Empty when there was no configuration file. */
  readonly configPath: string;
  readonly runs: readonly CheckRun[];
}) {
  const count = (status: FindingStatus) =>
    about.runs.filter(({ finding }) => finding.status === status).length;
  const summary = {
    pass: count("pass"),
    warn: count("warn"),
    fail: count("fail"),
    skip: count("skip"),
  };
  return {
    checked_at: about.checkedAt,
    config_path: about.configPath,
    checks: about.runs.map(({ name, finding: { status, detail }, elapsedMs }) => ({
      name,
      status,
      detail,
      elapsed_ms: elapsedMs,
      remedy: status === "warn" || status === "fail" ? preflightChecks[name].remedy : "",
    })),
    summary,
    ok: summary.fail === 0,
  };
}

export type PreflightReport = ReturnType<typeof preflightReport>;
