/** Opens approval by other people: what waits, what people decide, and what is executed then. */

import {
  type ApprovalClass,
  approvalClasses,
  type ApprovalsSection,
  thresholdOf,
} from "#core/approvals/classes.ts";
import type { Envelopes } from "#domain/envelopes/envelopes.ts";
import { Approvals, type ApprovalDeps } from "./approvals.ts";
import { type ExecutionDeps, Executions } from "./executions.ts";
import { FourEyes } from "./four-eyes.ts";

export interface ApprovingDeps
  extends ExecutionDeps,
    Pick<ApprovalDeps, "random" | "patience" | "refusals"> {
  readonly envelopes: Pick<Envelopes, "seal" | "open">;
}

/** Everything approval does. */
export interface Approving {
  readonly approvals: Approvals;
  readonly fourEyes: FourEyes;
  readonly executions: Executions;
  /** False while no operation waits for anybody. */
  readonly enabled: boolean;
  /** The classes whose operations wait for somebody. */
  readonly guarded: readonly ApprovalClass[];
}

/** Opens it from its section of the configuration; nothing is written. */
export function openApproving(settings: ApprovalsSection, deps: ApprovingDeps): Approving {
  const executions = new Executions(deps);
  const fourEyes = new FourEyes({ ...deps, settings, executions });
  const approvals = new Approvals({ ...deps, settings, executions, fourEyes });
  const guarded = approvalClasses.filter((one) => thresholdOf(settings, one) > 0);
  return { approvals, fourEyes, executions, enabled: settings.enabled, guarded };
}
