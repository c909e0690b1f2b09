/** Who has just confirmed with a passkey, and what is refused to those who have not. */

import { fixedStepUps, type StepUpName } from "#core/access/step-up.ts";
import type { EventDraft } from "#core/audit/actions.ts";
import { refuse } from "#core/problems.ts";
import type { Clock } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";
import { authorOf, type Origin } from "#domain/actor.ts";
import type { PasskeyRecord } from "./store.ts";

/**
 * Refuses `step_up_required` to a session that has not confirmed of late with a passkey its account
 * still has; every other caller passes (AUTH-5). `own` are the passkeys of the account
 * where they are known already.
 */
export type RequireStepUp = (
  name: StepUpName,
  origin: Origin,
  own?: readonly PasskeyRecord[],
) => Promise<void>;

/** For an instance where nobody has a passkey. */
export const noStepUp: RequireStepUp = async () => {};

export interface StepUpDeps {
  readonly clock: Clock;
  readonly store: Pick<Store, "read">;
}

/** Guards what is configured, and passkeys themselves. */
export function stepUpGate(
  { clock, store }: StepUpDeps,
  configured: readonly StepUpName[],
): RequireStepUp {
  const guarded: ReadonlySet<StepUpName> = new Set([...configured, ...fixedStepUps]);
  return async (name, { session }, own) => {
    if (session === undefined || !guarded.has(name)) return;
    const { stepUpUntil, stepUpBy, principal } = session;
    if (stepUpUntil !== undefined && stepUpUntil > clock.now()) {
      // Another replica may have taken the passkey away, and sessions are of one process.
      const passkeys = own ?? (await store.read.access.passkeysOf(principal.person));
      if (passkeys.some(({ id }) => id === stepUpBy)) return;
    }
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
