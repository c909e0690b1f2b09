/** Whether the transparency logs that profiles need answer, and are enough. */

import { failed, type Finding, gathered, skipped, warned } from "#core/preflight/finding.ts";
import type { Profile } from "#core/policy/profile.ts";
import { ctMet, ctNeeds } from "#core/policy/transparency.ts";
import { headVerified } from "#core/transparency/heads.ts";
import type { CtLog, LogClient } from "#domain/transparency/logs.ts";
import { LogFault } from "#domain/transparency/logs.ts";

export interface LogDeps {
  readonly profiles: readonly Profile[];
  /** Of the configuration, usable or not. */
  readonly logs: readonly CtLog[];
  readonly client: Pick<LogClient, "head">;
  /** For one exchange. */
  readonly timeoutSeconds: number;
}

/** Asks each log for its head; a policy that those which answer cannot meet is a failure. */
export async function logsAnswer(deps: LogDeps): Promise<Finding> {
  const asking = deps.profiles.filter(({ ct }) => ct?.enabled === true);
  if (asking.length === 0) return skipped("No profile uses transparency logs.");
  const states = await Promise.all(deps.logs.map((log) => stateOf(deps, log)));
  const answering = deps.logs.filter((_, index) => states[index] === undefined);
  const findings = [
    ...asking.flatMap((profile) => policyFindings(profile, answering)),
    ...states.flatMap((state) => (state === undefined ? [] : [warned(state)])),
  ];
  return gathered(findings, `${answering.length} logs answer, enough for every profile.`);
}

function policyFindings({ name, ct, ...profile }: Profile, answering: readonly CtLog[]) {
  if (ct === undefined) return [];
  const chosen = answering.filter((log) => ct.logs.length === 0 || ct.logs.includes(log.name));
  const needs = ctNeeds(ct, profile.maxValiditySeconds);
  const operators = chosen.map(({ operator }) => operator);
  if (ctMet(needs, operators)) return [];
  return [failed(`${name} needs ${needs.scts} promises, and ${chosen.length} logs can give them.`)];
}

/** What is wrong with a log; undefined for one that can be used. */
async function stateOf(
  { client, timeoutSeconds }: LogDeps,
  log: CtLog,
): Promise<string | undefined> {
  if (!log.usable) return `${log.name} takes nothing more.`;
  const signal = new AbortController().signal;
  try {
    const head = await client.head(log, { timeoutSeconds, signal });
    return headVerified(head, log.key) ? undefined : `${log.name} signs with another key.`;
  } catch (error) {
    if (error instanceof LogFault) return `${log.name} does not answer (${error.reason}).`;
    throw error;
  }
}
