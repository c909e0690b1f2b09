/** Who has just confirmed with a passkey, and what is refused to those who have not. */

import { fixedStepUps, type StepUpName } from "#core/access/step-up.ts";
import type { EventDraft } from "#core/audit/actions.ts";
import { refuse } from "#core/problems.ts";
import type { Clock } from "#domain/ports.ts";
import { authorOf, type Origin } from "./call.ts";

/**
 * Refuses `step_up_required` to a session that has not confirmed of late; every other caller passes
 * (AUTH-5).
 */
export type RequireStepUp = (name: StepUpName, origin: Origin) => void;

/** Guards what is configured, and passkeys themselves. */
export function stepUpGate(clock: Clock, configured: readonly StepUpName[]): RequireStepUp {
  const guarded: ReadonlySet<StepUpName> = new Set([...configured, ...fixedStepUps]);
  return (name, { session }) => {
    if (session === undefined || !guarded.has(name)) return;
    const { stepUpUntil } = session;
    if (stepUpUntil !== undefined && stepUpUntil > clock.now()) return;
    throw refuse("step_up_required", { operation: name });
  };
}

/** The event of what was refused for want of a passkey, or of a passkey that was not accepted. */
export function stepUpDenial(
  origin: Origin,
  detail:
    | { readonly operation: string }
    | { readonly reason: string; readonly credential: string | undefined },
): EventDraft {
  const { principal, session } = origin;
  return {
    action: "auth.step_up_denied",
    result: "denied",
    ...authorOf(origin, undefined),
    target: session?.digest,
    targetName: principal.subject,
    detail,
  };
}
