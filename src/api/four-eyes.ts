/** Step 8 of the pipeline for callers in JSON, RPC and a shell: describes the call to those who decide, and answers in its place. */

import { completeBody, type JsonObject, type StoredInput } from "#core/approvals/input.ts";
import { assert } from "#core/problems.ts";
import type { Answer, Authorized, Call, Handler } from "#domain/access/call.ts";
import type { Gate } from "#domain/access/perform.ts";
import type { FourEyes, Held, HeldCall } from "#domain/approvals/four-eyes.ts";
import { operationOf } from "#operations";
import { approvalHeader, parkedAnswer } from "./approval-json.ts";
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
    if (!deps.fourEyes.guards(operationClass)) return undefined;
    const input = await inputOf(call, handler, allowed);
    const { origin, ca, tenant } = allowed;
    const parking = await parkings[operation](deps, { origin, ca, tenant, ...input });
    if (parking === undefined) return undefined;
    const held: HeldCall = { ...parking, operationClass, operation, tenant, input };
    return answerOf(await deps.fourEyes.hold(origin, held, call.approval));
  };
}

/** What is stored is what was given, complete, and with the tenant it was authorized for. */
async function inputOf(
  call: Call,
  handler: Handler,
  { tenant }: Pick<Authorized<never, never, never>, "tenant">,
): Promise<StoredInput> {
  const given = ((await call.body()) ?? {}) as JsonObject; // JSON that the handler's shapes have read.
  const { tenant: _alias, tenant_id: _named, ...body } = completeBody(handler.body ?? {}, given);
  const byTenant = operationOf(call.operation).on === "tenant" && tenant !== undefined;
  const names = Object.keys(handler.path).map((name) => [name, call.path[name] ?? ""]);
  return {
    path: Object.fromEntries(names),
    body: byTenant ? { ...body, tenant_id: tenant } : body,
  };
}

function answerOf(held: Held): Answer {
  if (held.kind === "parked") return parkedAnswer(held.approval);
  const { answer, secret, approval } = held;
  return {
    status: answer.status,
    body: secret === undefined ? answer.body : { ...answer.body, secret },
    headers: { ...answer.headers, [approvalHeader]: approval.id },
  };
}
