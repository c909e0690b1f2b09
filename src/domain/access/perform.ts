/** THE PIPELINE: authorize → read → run → record, for every call whoever makes it. */

import { ownPerson } from "#core/access/person.ts";
import { isMember, type Reach } from "#core/access/principal.ts";
import type { Capability } from "#core/access/roles.ts";
import { withoutApiTokens } from "#core/access/token-secret.ts";
import { type Action, actions, type EventDraft } from "#core/audit/actions.ts";
import type { TenantId } from "#core/ids.ts";
import { assert, Problem, refuse } from "#core/problems.ts";
import type { JsonObject } from "#core/shape.ts";
import { authorOf, type Origin } from "#domain/actor.ts";
import type { Clock } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";
import { requireActive } from "./suspension.ts";
import type { Call } from "./call.ts";
import { printableName } from "./failed-logins.ts";
import type { GrantSource } from "./grants.ts";
import type { Mounted } from "./mounted.ts";
import type { Authorized, Parking } from "./operation.ts";
import { Document, Outcome } from "./outcome.ts";
import type { Refusals } from "./refusals.ts";
import { Rights } from "./rights.ts";
import { type Stays, whileStaying } from "./stays.ts";
import { type RequireStepUp, stepUpDenial } from "./step-up.ts";
import { type Asked, decide, type Scope } from "./targets.ts";

/** Runs one operation for one caller; throws a `Problem` for every refusal. */
export type Perform = (call: Call) => Promise<Outcome>;

/** What the pipeline asks on the way; every gate is one of them, open or not. */
export interface PipelineDeps {
  readonly store: Store;
  readonly clock: Clock;
  /** False while the disk is nearly full: what grows is refused, revocation is not. */
  readonly hasRoom: () => boolean;
  /** Told every authorization decision; metrics are its only use. */
  readonly onDecision: (capability: Capability, allowed: boolean) => void;
  /** The grants of the configuration. */
  readonly grants: GrantSource;
  /** Step 6. */
  readonly stepUp: RequireStepUp;
  /** Step 8. */
  readonly gate: Gate;
  /** Writes refusals down. */
  readonly refusals: Pick<Refusals, "record">;
  /** Asked while an answer is sent piece by piece. */
  readonly stays: Stays;
}

/**
 * Answers in place of an operation that takes two: that it waits, or what became of it. Undefined
 * lets it be done; what cannot be known refuses.
 */
export type Gate = (call: GuardedCall) => Promise<Outcome | undefined>;

/** A call of an operation that takes two: authorized, read, and not done yet. */
export interface GuardedCall extends Scope {
  readonly operation: Mounted;
  readonly origin: Origin;
  /** The parked request whose result the caller asks for. */
  readonly approval: string | undefined;
  readonly input: Readonly<Record<string, unknown>>;
  /** What `said`, its input in JSON, comes to; undefined where nobody else is needed. */
  describe(said: JsonObject): Promise<Parking | undefined>;
}

/**
 * Builds the pipeline: steps 4 to 9 of the order of gates (GATE-1); what comes before them is the
 * front door's. A write refused after authentication is an event of that action with result
 * `denied`.
 */
export function pipeline(deps: PipelineDeps): Perform {
  return async (call) => {
    const { row } = call.operation;
    const origin = row.needs === "pub" ? (call.origin ?? anonymous) : authenticated(call);
    const { store, onDecision } = deps;
    const rights = new Rights({ principal: origin.principal, store, source: deps.grants });
    const asked: Asked = {
      store,
      row,
      given: call.given,
      rights,
      onDecision,
      capability: row.needs === "pub" || row.needs === "any" ? undefined : row.needs,
    };
    try {
      return await gated(deps, call, asked, origin);
    } catch (error) {
      if (row.writes && error instanceof Problem && error.status === 403) {
        const denial = await denialOf(call, asked, origin, error);
        if (denial !== undefined) await deps.refusals.record(denial);
      }
      throw error;
    }
  };
}

async function gated(
  deps: PipelineDeps,
  { operation, given, approval }: Call,
  asked: Asked,
  origin: Origin,
): Promise<Outcome> {
  const { row, rights, capability } = asked;
  const { definition } = operation;

  // 4. The capability, held in any scope at all; nothing of the body has been read.
  if (capability !== undefined) decide(asked, capability, await rights.anywhere(capability));

  // 5. The scope: the CA or tenant the operation concerns; a suspended one is refused here.
  const found = await definition.target.resolve(asked);
  const scope: Scope = found;
  if (row.suspendable && scope.tenant !== undefined) {
    requireActive(await deps.store.read.tenants.named(scope.tenant));
  }

  // 6. What a person in a session confirms with a passkey.
  if (row.stepUp !== undefined) await deps.stepUp(row.stepUp, origin);

  // 7. Query, path and body; existence and state of what they name is for the operation.
  const call: Authorized = Object.assign({}, found, {
    origin: await speakingFor(origin, asked, scope),
    rights,
    reach: await reachOf(asked),
    standing: () => deps.stays(origin, capability),
    input: await given.read(),
  });

  // 8. Four eyes; what is executed under an approval has been through.
  if (row.takesTwo !== undefined && origin.approval === undefined) {
    const parked = await deps.gate(guardedCall(operation, approval, call, scope));
    if (parked !== undefined) return parked;
  }

  // 9. The action; what adds records needs room for them.
  if (row.grows && !deps.hasRoom()) throw refuse("storage_unavailable", { retry_after: 60 });
  const done = await definition.run(exactly(call));
  if (done instanceof Outcome) return done;
  if (!(done instanceof Document)) return new Outcome("done", done);
  const may = async () => (await deps.stays(origin, capability)) !== undefined;
  return new Outcome("done", whileStaying(done, { clock: deps.clock, may }));
}

function guardedCall(
  operation: Mounted,
  approval: string | undefined,
  call: Authorized,
  scope: Scope,
): GuardedCall {
  const { parks } = operation.definition;
  assert(parks !== undefined, "a row that takes two has a description");
  return {
    ...scope,
    operation,
    approval,
    origin: call.origin,
    // Read by the operation's shapes, member by member.
    input: call.input as Readonly<Record<string, unknown>>,
    describe: (said) => parks(exactly(call), said),
  };
}

/** What its own target has found and its own shapes have read is what a definition takes. */
const exactly = (call: Authorized): never => call as never;

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

/** The event of a refusal; undefined for an operation without an action of its own. */
async function denialOf(
  call: Call,
  asked: Asked,
  origin: Origin,
  problem: Problem,
): Promise<EventDraft | undefined> {
  if (problem.code === "step_up_required") {
    const { operation } = problem.facts;
    return stepUpDenial(origin, { operation: String(operation) });
  }
  const action = actionOf(call.operation);
  if (action === undefined) return undefined;
  const object = await objectOf(call.operation, asked);
  return {
    action,
    result: "denied",
    ...authorOf(origin, object.tenant),
    ...object,
    targetName: named(call.given.named.serial),
    detail: { reason: problem.code },
  };
}

/**
 * What a denied event says it was about: the object, where the caller may know that it exists; else
 * only the id it gave, in its own tenant, so that nobody else reads of the attempt and its record
 * tells nothing either (EVT-1).
 */
async function objectOf({ definition }: Mounted, asked: Asked) {
  const { given, rights } = asked;
  const { principal } = rights;
  // What cannot be read names nothing.
  const { ca, tenant } = await definition.target.named(asked).catch((): Scope => ({}));
  if (ca !== undefined && (await rights.on(ca, "read"))) {
    return { tenant: ca.tenant, caId: ca.id, target: ca.id };
  }
  if (ca === undefined && tenant !== undefined && isMember(principal, tenant)) return { tenant };
  const [granted] = await rights.grants();
  const everywhere = principal.isRoot || principal.roles.length > 0;
  const own = Object.keys(principal.tenantRoles)[0] ?? granted?.tenant;
  const target = named(given.named.id);
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

const actionOf = ({ name, row }: Mounted): Action | undefined =>
  // A key of the table, where it is one.
  row.action ?? (Object.hasOwn(actions, name) ? (name as Action) : undefined);
