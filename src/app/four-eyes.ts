/** Approval by other people with the gates that ask for it, which speak the language of the API. */

import { systemPatience } from "#adapters/system.ts";
import { fourEyesGate, itemGate } from "#api/four-eyes.ts";
import type { Config } from "#config/schema.ts";
import type { Gate } from "#domain/access/perform.ts";
import { type Approving, type ApprovingDeps, openApproving } from "#domain/approvals/open.ts";
import type { ItemGate } from "#domain/certificates/bulk.ts";
import type { Log, Random } from "#domain/ports.ts";
import { describe, type Parts } from "./parts.ts";

export interface FourEyesParts extends Approving {
  readonly gate: Gate;
  readonly itemGate: ItemGate;
  readonly random: Random;
}

export interface FourEyesDeps extends Omit<ApprovingDeps, "envelopes" | "patience" | "onFault"> {
  readonly config: Pick<Config, "approvals">;
  readonly log: Log;
<<<<<<< HEAD
  readonly parts: Pick<Parts, "issuance" | "profiles" | "sealing" | "revocation">;
}

/** Builds it; nothing is written. */
export function openFourEyes({ config, log, parts, ...deps }: FourEyesDeps): FourEyesParts {
  const approving = openApproving(config.approvals, {
    ...deps,
    envelopes: parts.sealing.envelopes,
    patience: systemPatience,
    onFault: (error, id) =>
      log.write("error", "approved_operation_failed", { approval: id, error: describe(error) }),
  });
  const { issuance, profiles, revocation } = parts;
  const { fourEyes } = approving;
  const gated = { store: deps.store, issuance, profiles, bulk: revocation.bulk, fourEyes };
=======
  readonly parts: Pick<Parts, "issuance" | "profiles" | "sealing">;
  readonly now: PrincipalNow;
  readonly refusals: Refusals;
  /** The pipeline. */
  readonly perform: ExecutionDeps["perform"];
  readonly operation: ExecutionDeps["operation"];
}

/** Builds it; nothing is written. */
export function openFourEyes(deps: FourEyesDeps): FourEyesParts {
  const { config, store, clock, random, log, parts, now, refusals, perform, operation } = deps;
  const settings = approvalSettings(config);
  const { envelopes } = parts.sealing;
  const executions = new Executions({
    store,
    clock,
    envelopes,
    perform,
    operation,
    now,
    onFault: (error, id) =>
      log.write("error", "approved_operation_failed", { approval: id, error: describe(error) }),
  });
  const common = { store, clock, random, patience: systemPatience, settings, executions };
  const fourEyes = new FourEyes({ ...common, envelopes });
  const { issuance, profiles } = parts;
  const gated = { store, issuance, profiles, fourEyes };
>>>>>>> main
  return {
    ...approving,
    gate: fourEyesGate(gated),
    itemGate: itemGate(gated),
    random: deps.random,
  };
}
