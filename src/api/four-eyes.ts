/**
 * Step 8 of the pipeline for callers in JSON, RPC and a shell: describes the call to those who
 * decide, and answers in its place.
 */

import { completeBody, type JsonObject, type StoredInput } from "#core/approvals/input.ts";
import { assert, refuse } from "#core/problems.ts";
import type { Answer, Authorized, Call, Handler } from "#domain/access/call.ts";
import type { Gate } from "#domain/access/perform.ts";
import type { FourEyes, ParkOutcome, ParkableCall } from "#domain/approvals/four-eyes.ts";
import { issuedBefore } from "#domain/certificates/issue.ts";
import type { ItemGate } from "#domain/certificates/bulk.ts";
import { operationOf } from "#operations";
import { approvalHeader, parkedAnswer } from "./approval-json.ts";
import { issuedJson } from "./issuance.ts";
import { isGuarded, type ParkingDeps, parkings } from "./parking.ts";

interface Deps extends ParkingDeps {
  readonly fourEyes: FourEyes;
}

/** The gate. */
export function fourEyesGate(deps: Deps): Gate {
  return async (call, handler, allowed) => {
    const { operation } = call;
    const { takesTwo: operationClass } = operationOf(operation);
    assert(operationClass !== undefined && isGuarded(operation), "the gate is for guarded rows");
    // A named request is answered or refused, and never makes what it names be done anew.
    const guarded = deps.fourEyes.guards(operationClass) || call.approval !== undefined;
    if (!guarded) return undefined;
    const input = await inputOf(call, handler, allowed);
    const { origin, ca, tenant } = allowed;
    const parking = await parkings[operation](deps, { origin, ca, tenant, ...input });
    if (parking === undefined && call.approval !== undefined) throw refuse("not_found");
    if (parking === undefined) return undefined;
    const check = async () => {
      await handler.admit?.(allowed);
      await parking.check();
    };
    const parkable: ParkableCall = { ...parking, check, operationClass, operation, tenant, input };
    return await answerOf(deps, await deps.fourEyes.park(origin, parkable, call.approval));
  };
}

/** The same for the items of a bulk issue, each of which is an issue of its own. */
export function itemGate(deps: Deps): ItemGate {
  const { fourEyes } = deps;
  return async (origin, ca, { csr, profile, validityDays }, settle) => {
    const operation = "cert.issue";
    if (!fourEyes.guards(operation)) return undefined;
    const { tenant } = ca;
    const days = validityDays === undefined ? {} : { validity_days: validityDays };
    const input = { path: { id: ca.id }, body: { csr, profile, ...days } };
    const parking = await parkings[operation](deps, { origin, ca, tenant, ...input });
    if (parking === undefined) return undefined;
    const call = { ...parking, operationClass: operation, operation, tenant, input } as const;
    const outcome = await fourEyes.park(origin, {
      ...call,
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

/** What is stored is what was given, complete, and with the tenant it was authorized for. */
async function inputOf(
  call: Call,
  handler: Handler,
  { tenant }: Pick<Authorized<never, never, never>, "tenant">,
): Promise<StoredInput> {
  // JSON that the handler's shapes have read.
  const given = ((await call.body()) ?? {}) as JsonObject;
  const { tenant: _alias, tenant_id: _named, ...body } = completeBody(handler.body ?? {}, given);
  const byTenant = operationOf(call.operation).on === "tenant" && tenant !== undefined;
  const names = Object.keys(handler.path).map((name) => [name, call.path[name] ?? ""]);
  return {
    path: Object.fromEntries(names),
    body: byTenant ? { ...body, tenant_id: tenant } : body,
  };
}

async function answerOf({ store }: Deps, outcome: ParkOutcome): Promise<Answer> {
  if (outcome.kind === "parked") return parkedAnswer(outcome.approval);
  const { effect, operationClass } = outcome.approval;
  // The inventory has it, also when a crash came between the certificate and its answer.
  if (operationClass === "cert.issue" && effect?.caId !== undefined && effect.serial) {
    const issued = await issuedBefore(store.read, effect.caId, effect.serial);
    const location = `/api/ca/${effect.caId}/certificates/${effect.serial}`;
    const headers = { location, [approvalHeader]: outcome.approval.id };
    return { status: 201, body: issuedJson(issued), headers };
  }
  const { answer, secret, approval } = outcome;
  return {
    status: answer.status,
    body: secret === undefined ? answer.body : { ...answer.body, secret },
    headers: { ...answer.headers, [approvalHeader]: approval.id },
  };
}
