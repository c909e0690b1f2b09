/** Approval by other people with the gates that ask for it, which speak the language of the API. */

import { systemPatience } from "#adapters/system.ts";
import { fourEyesGate, itemGate } from "#api/four-eyes.ts";
import type { Config } from "#config/schema.ts";
import type { Gate } from "#domain/access/perform.ts";
import { type Approving, type ApprovingDeps, openApproving } from "#domain/approvals/open.ts";
import type { ItemGate } from "#domain/certificates/bulk.ts";
import type { Log, Random } from "#domain/ports.ts";
import { describe } from "./describe.ts";
import type { Parts } from "./parts.ts";

export interface FourEyesParts extends Approving {
  readonly gate: Gate;
  readonly itemGate: ItemGate;
  readonly random: Random;
}

export interface FourEyesDeps extends Omit<ApprovingDeps, "envelopes" | "patience" | "onFault"> {
  readonly config: Pick<Config, "approvals">;
  readonly log: Log;
  readonly parts: Pick<Parts, "issuance" | "profiles" | "sealing">;
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
  const { issuance, profiles } = parts;
  const { fourEyes } = approving;
  const gated = { store: deps.store, issuance, profiles, fourEyes };
  return {
    ...approving,
    gate: fourEyesGate(gated),
    itemGate: itemGate(gated),
    random: deps.random,
  };
}
