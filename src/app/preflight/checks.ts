/**
 * Every check of preflight as a function over what is open: a row of the table without one does not
 * compile.
 */

import { systemClock, systemPatience, systemRandom, systemStopwatch } from "#adapters/system.ts";
import type { Finding } from "#core/preflight/finding.ts";
import { judgeJobs } from "#core/preflight/host.ts";
import type { PreflightReport } from "#core/preflight/report.ts";
import {
  caKeysSign,
  halvesOpen,
  keksOpen,
  keysStay,
  providerAnswers,
  respondersFit,
} from "#domain/preflight/keys.ts";
import { type Checks, type PreflightRequest, runPreflight } from "#domain/preflight/run.ts";
import { configurationChecks } from "./configuration.ts";
import { hostChecks } from "./host.ts";
import { loginChecks } from "./logins.ts";
import { networkChecks } from "./network.ts";
import { socketChecks } from "./sockets.ts";
import { recordChecks } from "./records.ts";
import { closed, configOf, missingNeeds, type Premises, present } from "./premises.ts";

/** Runs the checks asked for over the premises. */
export function preflightOver(
  premises: Premises,
  request: PreflightRequest,
): Promise<PreflightReport> {
  const deps = {
    clock: systemClock,
    stopwatch: systemStopwatch,
    patience: systemPatience,
    configPath: premises.read.fileName ?? "",
    missing: missingNeeds(premises),
  };
  return runPreflight(deps, checksOver(premises, request), request);
}

function checksOver(premises: Premises, request: PreflightRequest): Checks {
  return {
    ...configurationChecks(premises),
    ...hostChecks(premises),
    ...keyChecks(premises),
    ...recordChecks(premises, request),
    ...socketChecks(premises),
    ...loginChecks(premises, request),
    ...networkChecks(premises, request),
    "leader.presence": () => judgeJobs(premises.server?.lateJobs() ?? []),
  };
}

function keyChecks(premises: Premises) {
  const deps = () => ({
    store: present(premises.store),
    keys: present(premises.keys),
    clock: systemClock,
    random: systemRandom,
  });
  const roles = () => configOf(premises).key_provider.roles;
  const answers = async (role: "ca" | "responder"): Promise<Finding> => {
    const { keys } = premises;
    return "fault" in keys ? closed(keys) : await providerAnswers(keys.open, roles()[role]);
  };
  return {
    "keyprovider.ca": () => answers("ca"),
    "keyprovider.responder": () => answers("responder"),
    "keys.ca": () => {
      // A server does not start over what keeps them closed, and then no CA key is used.
      const { store, keys } = premises;
      if ("fault" in store) return closed(store);
      return "fault" in keys ? closed(keys) : caKeysSign(deps());
    },
    "keys.extractable": () => keysStay(deps(), Object.values(roles())),
    "keys.ocsp_delegate": () => respondersFit(deps(), configOf(premises).ocsp.delegated),
    "keys.kek": () => keksOpen(deps()),
    "pqc.hybrid": () => halvesOpen(deps(), configOf(premises).secret.pqc_hybrid),
  };
}
