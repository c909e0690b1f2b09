/** THE PIPELINE: authorize → read → run → record, for every call whoever makes it. */

import { ownPerson } from "#core/access/person.ts";
import { isMember, type Reach } from "#core/access/principal.ts";
import type { Capability } from "#core/access/roles.ts";
import { withoutApiTokens } from "#core/access/token-secret.ts";
import { type Action, actions, type EventDraft } from "#core/audit/actions.ts";
import type { TenantId } from "#core/ids.ts";
import { Problem, refuse } from "#core/problems.ts";
import { readBody, readBodyInTurns, readQuery } from "#core/shape.ts";
import type { Clock } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";
import { requireActive } from "./suspension.ts";
import { type OperationName, operationOf } from "#operations";
import { authorOf, type Origin } from "#domain/actor.ts";
import type { Answer, Authorized, Call, Handler, RawAnswer } from "./call.ts";
import { printableName } from "./failed-logins.ts";
import { type GrantSource, noGrants } from "./grants.ts";
import { Refusals } from "./refusals.ts";
import { Rights } from "./rights.ts";
import { type Asked, bodyTenant, decide, namedCa, type Scope, scopeOf } from "./scope.ts";
import { type RequireStepUp, stepUpDenial } from "./step-up.ts";

/** Runs one operation for one caller; throws a `Problem` for every refusal. */
export type Perform = (call: Call, handler: Handler) => Promise<Answer | RawAnswer>;

export interface PipelineDeps {
  readonly store: Store;
  readonly clock: Clock;
  /** False while the disk is nearly full: what grows is refused, revocation is not. */
  readonly hasRoom: () => boolean;
  /** Told every authorization decision; metrics are its only use. */
  readonly onDecision: (capability: Capability, allowed: boolean) => void;
  /** Absent: the configuration has no grants. */
  readonly grants?: GrantSource;
  /** Step 6; absent: nobody has a passkey. */
  readonly stepUp?: RequireStepUp;
  /** Step 8; absent: nothing takes two. */
  readonly gate?: Gate;
  /** Writes refusals down; absent: one of its own, whose last repeats nobody folds. */
  readonly refusals?: Pick<Refusals, "record">;
}

/**
 * Answers in place of an operation that takes two: that it waits, or what became of it. Undefined
 * lets it be done; what cannot be known refuses.
 */
export type Gate = (
  call: Call,
  handler: Handler,
  allowed: Authorized<never, never, never>,
) => Promise<Answer | undefined>;

/**
 * Builds the pipeline: steps 4 to 9 of the order of gates (GATE-1); what comes before them is the
 * front door's. A write refused after authentication is an event of that action with result
 * `denied`.
 */
export function pipeline(deps: PipelineDeps): Perform {
  const refusals = deps.refusals ?? new Refusals(deps);
  return async (call, handler) => {
    const row = operationOf(call.operation);
    const origin = row.needs === "pub" ? (call.origin ?? anonymous) : authenticated(call);
    const { store, onDecision } = deps;
    const rights = new Rights({
      principal: origin.principal,
      store,
      source: deps.grants ?? noGrants,
    });
    const asked: Asked = {
      store,
      row,
      call: { ...call, body: once(call.body) },
      rights,
      onDecision,
      capability: row.needs === "pub" || row.needs === "any" ? undefined : row.needs,
    };
    try {
      return await gated(deps, asked, origin, handler);
    } catch (error) {
      if (row.writes && error instanceof Problem && error.status === 403) {
        const denial = await denialOf(asked, origin, error);
        if (denial !== undefined) await refusals.record(denial);
      }
      throw error;
    }
  };
}

async function gated(
  deps: PipelineDeps,
  asked: Asked,
  origin: Origin,
  handler: Handler,
): Promise<Answer | RawAnswer> {
  const { row, call, rights, capability } = asked;

  // 4. The capability, held in any scope at all; nothing of the body has been read.
  if (capability !== undefined) decide(asked, capability, await rights.anywhere(capability));

  // 5. The scope: the CA or tenant the operation concerns; a suspended one is refused here.
  const scope = await scopeOf(asked);
  if (row.suspendable && scope.tenant !== undefined) {
    requireActive(await deps.store.read.tenants.named(scope.tenant));
  }

  // 6. What a person in a session confirms with a passkey.
  if (row.stepUp !== undefined) await deps.stepUp?.(row.stepUp, origin);

  // 7. Query, path and body; existence and state of what they name is for the handler.
  const allowed: Authorized<never, never, never> = {
    origin: await speakingFor(origin, asked, scope),
    rights,
    ...scope,
    reach: await reachOf(asked),
    // The handler's own shapes read them just now.
    ...((await inputOf(handler, call)) as Input),
  };

  // 8. Four eyes; what is executed under an approval has been through.
  if (row.takesTwo !== undefined && origin.approval === undefined) {
    const parked = await deps.gate?.(asked.call, handler, allowed);
    if (parked !== undefined) return parked;
  }

  // 9. The action; what adds records needs room for them.
  if (row.grows && !deps.hasRoom()) throw refuse("storage_unavailable", { retry_after: 60 });
  return await handler.run(allowed);
}

type Input = Pick<Authorized<never, never, never>, "path" | "query" | "body">;

async function inputOf(handler: Handler, call: Call) {
  const query = readQuery(handler.query, call.query);
  const members = Object.keys(handler.path).map((name) => [name, call.path[name]]);
  const path = readBody(handler.path, Object.fromEntries(members));
  return { query, path, body: await bodyOf(handler, call) };
}

/** Lists and filters see grants; a write concerns one object and never asks. */
async function reachOf({ row, rights, capability }: Asked): Promise<Reach> {
  if (capability === undefined) return { tenants: [], cas: [] };
  return row.writes ? rights.reachByRoles(capability) : await rights.reach(capability);
}

/** Where roles do not give the capability a grant did, which the events of the call are to say. */
async function speakingFor(
  origin: Origin,
  { rights, capability }: Asked,
  { ca }: Scope,
): Promise<Origin> {
  if (ca === undefined || capability === undefined || rights.in(ca.tenant, capability)) {
    return origin;
  }
  const grantRoles = (await rights.grantsOn(ca)).map(({ role }) => role);
  return { ...origin, principal: { ...origin.principal, grantRoles } };
}

function authenticated(call: Call): Origin {
  if (call.origin === undefined) throw refuse("unauthenticated");
  return call.origin;
}

async function bodyOf(
  handler: Handler,
  { operation, body: read }: Pick<Call, "operation" | "body">,
): Promise<unknown> {
  if (handler.body === undefined && operationOf(operation).route.startsWith("GET ")) return {};
  const body = await read();
  // Who sends members to what takes none means something that would not happen.
  if (handler.body === undefined) return readBody({}, body ?? {});
  if (body === undefined && handler.emptyBody) return readBody(handler.body, {});
  if (body === undefined) throw refuse("malformed_json");
  return await readBodyInTurns(handler.body, body);
}

/** A body is read from its connection once; step 5 may need one member of it, step 7 the rest. */
function once<T>(read: () => Promise<T>): () => Promise<T> {
  let reading: Promise<T> | undefined;
  return () => {
    reading ??= read();
    return reading;
  };
}

/** The event of a refusal; undefined for an operation without an action of its own. */
async function denialOf(
  asked: Asked,
  origin: Origin,
  problem: Problem,
): Promise<EventDraft | undefined> {
  const { call } = asked;
  if (problem.code === "step_up_required") {
    const { operation } = problem.facts;
    return stepUpDenial(origin, { operation: String(operation) });
  }
  const action = actionOf(call.operation);
  if (action === undefined) return undefined;
  const object = await objectOf(asked);
  return {
    action,
    result: "denied",
    ...authorOf(origin, object.tenant),
    ...object,
    targetName: named(call.path.serial),
    detail: { reason: problem.code },
  };
}

/**
 * What a denied event says it was about: the object, where the caller may know that it exists; else
 * only the id it gave, in its own tenant, so that nobody else reads of the attempt and its record
 * tells nothing either (EVT-1).
 */
async function objectOf(asked: Asked) {
  const { row, call, rights } = asked;
  const { principal } = rights;
  if (row.on === "tenant") {
    // A body that is none names nothing.
    const tenant = await bodyTenant(asked).catch(() => undefined);
    if (tenant !== undefined && isMember(principal, tenant.id)) return { tenant: tenant.id };
  }
  if (row.on === "ca") {
    const ca = await namedCa(asked).catch(() => undefined); // As above.
    if (ca !== undefined && (await rights.on(ca, "read"))) {
      return { tenant: ca.tenant, caId: ca.id, target: ca.id };
    }
  }
  const [granted] = await rights.grants();
  const everywhere = principal.isRoot || principal.roles.length > 0;
  const own = Object.keys(principal.tenantRoles)[0] ?? granted?.tenant;
  const target = named(call.path.id);
  // Keys of tenantRoles are ids by its contract.
  return { tenant: everywhere ? undefined : (own as TenantId | undefined), target };
}

/** What a stranger wrote into a path, as far as an event has use for it. */
const named = (given: string | undefined): string | undefined =>
  given && printableName(withoutApiTokens(given));

/** Who asks for what needs no credential. */
const anonymous: Origin = {
  principal: {
    subject: "anonymous",
    person: ownPerson("anonymous"),
    isRoot: false,
    roles: [],
    tenantRoles: {},
    groups: [],
    mechanism: "system",
  },
  ip: "",
  requestId: "",
};

const actionOf = (operation: OperationName): Action | undefined =>
  operationOf(operation).action ??
  (Object.hasOwn(actions, operation) ? (operation as Action) : undefined); // A key of the table.
