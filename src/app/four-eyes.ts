/**
 * Approval by other people, put together from the settings: the gate, what people decide, and what
 * is executed then.
 */

import { systemPatience } from "#adapters/system.ts";
import { fourEyesGate, itemGate } from "#api/four-eyes.ts";
import type { Config } from "#config/schema.ts";
import type { Gate } from "#domain/access/perform.ts";
import type { Refusals } from "#domain/access/refusals.ts";
import type { PrincipalNow } from "#domain/access/principal-now.ts";
import { Approvals } from "#domain/approvals/approvals.ts";
import { type ExecutionDeps, Executions } from "#domain/approvals/executions.ts";
import { FourEyes } from "#domain/approvals/four-eyes.ts";
import type { ItemGate } from "#domain/certificates/bulk.ts";
import type { Clock, Log, Random } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";
import { describe, type Parts } from "./parts.ts";
import { approvalSettings } from "./settings.ts";

export interface FourEyesParts {
  readonly approvals: Approvals;
  readonly fourEyes: FourEyes;
  readonly executions: Executions;
  readonly gate: Gate;
  readonly itemGate: ItemGate;
  readonly enabled: boolean;
  readonly random: Random;
}

export interface FourEyesDeps {
  readonly config: Config;
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
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
  return {
    approvals: new Approvals({ ...common, fourEyes, refusals }),
    fourEyes,
    executions,
    gate: fourEyesGate(gated),
    itemGate: itemGate(gated),
    enabled: settings.enabled,
    random,
  };
}
