/**
 * Step 8 of the pipeline: describes a call that takes two to those who decide, and answers in its
 * place.
 */

import { assert, refuse } from "#core/problems.ts";
import { type Fields, type JsonObject, writeMembers } from "#core/shape.ts";
import { Outcome } from "#domain/access/outcome.ts";
import type { Gate, GuardedCall } from "#domain/access/perform.ts";
import type { FourEyes, ParkOutcome } from "#domain/approvals/four-eyes.ts";
import { issuedBefore } from "#domain/certificates/issue.ts";
import type { ItemGate } from "#domain/certificates/bulk.ts";
import type { Store } from "#domain/store.ts";
import { parkedOutcome } from "./approval-json.ts";
import { issueFields, issuedJson } from "./issuance.ts";
import { type IssueParkingDeps, parkedIssue } from "./parking.ts";

interface Deps {
  readonly store: Store;
  readonly fourEyes: FourEyes;
}

/** The gate. */
export function fourEyesGate(deps: Deps): Gate {
  return async (call) => {
    const { operation, origin, tenant, approval } = call;
    const { takesTwo: operationClass } = operation.row;
    assert(operationClass !== undefined, "the gate is for guarded rows");
    // A named request is answered or refused, and never makes what it names be done anew.
    const isGuarded = deps.fourEyes.guards(operationClass) || approval !== undefined;
    if (!isGuarded) return undefined;
    const input = inputOf(call);
    const parking = await call.describe(without(operation.path, input));
    if (parking === undefined && approval !== undefined) throw refuse("not_found");
    if (parking === undefined) return undefined;
    const parkable = { ...parking, operationClass, operation: operation.name, tenant, input };
    return await answerOf(deps, await deps.fourEyes.park(origin, parkable, approval));
  };
}

/** The same for the items of a bulk issue, each of which is an issue of its own. */
export function itemGate(deps: Deps & IssueParkingDeps): ItemGate {
  const { fourEyes } = deps;
  return async (origin, ca, { csr, profile, validityDays }, settle) => {
    const operation = "cert.issue";
    if (!fourEyes.guards(operation)) return undefined;
    const { tenant } = ca;
    const asked = { csr, profile, validity_days: validityDays, must_staple: undefined };
    const said = writeMembers(issueFields, asked);
    const parking = await parkedIssue(deps, { origin, ca, input: asked }, said);
    if (parking === undefined) return undefined;
    const input = { id: ca.id, ...said };
    const outcome = await fourEyes.park(origin, {
      ...parking,
      operationClass: operation,
      operation,
      tenant,
      input,
      also: async (tx, { caId, serial }) => {
        assert(caId !== undefined && serial !== undefined, "an issue made a certificate");
        await settle(tx, { caId, serial });
      },
    });
    const { caId, serial } = outcome.approval.effect ?? {};
    if (outcome.kind === "parked" || caId === undefined || serial === undefined) {
      return { approvalId: outcome.approval.id };
    }
    return { made: { caId, serial } };
  };
}

/** What is stored is what was read, complete, and with the tenant it was authorized for. */
function inputOf({ operation, input, tenant }: GuardedCall): JsonObject {
  const written = writeMembers(operation.members, input);
  if (operation.row.on !== "tenant") return written;
  const { tenant: _alias, tenant_id: _named, ...others } = written;
  return tenant === undefined ? others : { ...others, tenant_id: tenant };
}

/** What the route names is shown as what it is, and not by its id. */
const without = (path: Fields, input: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(input).filter(([name]) => !Object.hasOwn(path, name)));

async function answerOf({ store }: Deps, outcome: ParkOutcome): Promise<Outcome> {
  if (outcome.kind === "parked") return parkedOutcome(outcome.approval);
  const { effect, operationClass, id } = outcome.approval;
  // The inventory has it, also when a crash came between the certificate and its answer.
  if (operationClass === "cert.issue" && effect?.caId !== undefined && effect.serial) {
    const issued = await issuedBefore(store.read, effect.caId, effect.serial);
    const location = `/api/ca/${effect.caId}/certificates/${effect.serial}`;
    return new Outcome("made", issuedJson(issued), { location, approval: id });
  }
  const { answer, secret } = outcome;
  return new Outcome(
    answer.made ? "made" : "done",
    secret === undefined ? answer.output : { ...answer.output, secret },
    { approval: id, ...(answer.location !== undefined && { location: answer.location }) },
  );
}
