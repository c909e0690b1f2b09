/**
 * Every check of preflight over what is open: a row of the table without one does not compile.
 */

import { systemClock, systemPatience, systemStopwatch } from "#adapters/system.ts";
import { judgeLeadership } from "#core/preflight/host.ts";
import type { PreflightReport } from "#core/preflight/report.ts";
import { assert } from "#core/problems.ts";
import { present } from "#domain/preflight/part.ts";
import { type Checks, type PreflightRequest, runPreflight } from "#domain/preflight/run.ts";
import { hostChecks } from "./host-checks.ts";
import { instanceChecks } from "./instance-checks.ts";
import { outsideChecks } from "./outside-checks.ts";
import { missingNeeds, type Premises } from "./premises.ts";

/** Runs the checks asked for over the premises. */
export function preflightOver(
  premises: Premises,
  request: PreflightRequest,
): Promise<PreflightReport> {
  const checks: Checks = {
    ...hostChecks(premises),
    ...instanceChecks(premises, request),
    ...outsideChecks(premises, request),
    "leader.presence": () => {
      assert(premises.server !== undefined, "the check is run only inside of a server");
      const leases = present(premises.store).leaseTroubles();
      return judgeLeadership({ ...premises.server.jobs(), ...leases });
    },
  };
  const deps = {
    clock: systemClock,
    stopwatch: systemStopwatch,
    patience: systemPatience,
    configPath: premises.read.fileName ?? "",
    missing: missingNeeds(premises),
  };
  return runPreflight(deps, checks, request);
}
