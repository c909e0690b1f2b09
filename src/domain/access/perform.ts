/** THE PIPELINE: authorize → read → run → record, for every call whoever makes it. */

import {
  effectiveRoles,
  holdsAnywhere,
  holdsIn,
  type Reach,
  reach,
} from "#core/access/principal.ts";
import type { Capability } from "#core/access/roles.ts";
import { type Action, actions } from "#core/audit/actions.ts";
import { caId, defaultTenant, type TenantId } from "#core/ids.ts";
import { Problem, refuse } from "#core/problems.ts";
import { readBody, readQuery } from "#core/shape.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import type { Clock } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";
import { type Operation, type OperationName, operationOf } from "#operations";
import type { Answer, Authorized, Call, Handler, Origin, RawAnswer } from "./call.ts";

/** Runs one operation for one caller; throws a `Problem` for every refusal. */
export type Perform = (call: Call, handler: Handler) => Promise<Answer | RawAnswer>;

export interface PipelineDeps {
  readonly store: Store;
  readonly clock: Clock;
  /** False while the disk is nearly full: what grows is refused, revocation is not. */
  readonly hasRoom: () => boolean;
  /** Told every authorization decision; metrics are its only use. */
  readonly onDecision: (capability: Capability, allowed: boolean) => void;
}

/**
 * Builds the pipeline. Order of gates (HTTP contract §1.8): capability in any scope, before the body is read; scope
 * from the path or from the one body member that names it; suspended tenant; query and body; room on the disk; the handler.
 * A write refused after authentication is an event of that action with result `denied`.
 */
export function pipeline(deps: PipelineDeps): Perform {
  return async (call, handler) => {
    const row = operationOf(call.operation);
    const origin = row.needs === "pub" ? (call.origin ?? anonymous) : authenticated(call);
    try {
      const allowed = await authorized(deps, row, call, origin, handler);
      if (row.grows && !deps.hasRoom()) throw refuse("storage_unavailable", { retry_after: 60 });
      return await handler.run(allowed);
    } catch (error) {
      if (row.writes && error instanceof Problem && error.status === 403) {
        await recordDenial(deps, call, origin, error);
      }
      throw error;
    }
  };
}

async function authorized(
  deps: PipelineDeps,
  row: Operation,
  call: Call,
  origin: Origin,
  handler: Handler,
): Promise<Authorized<never, never, never>> {
  const capability = row.needs === "pub" || row.needs === "any" ? undefined : row.needs;
  if (capability !== undefined)
    decide(deps, capability, holdsAnywhere(origin.principal, capability));
  if (row.on === "platform" && capability !== undefined) {
    decide(deps, capability, reach(origin.principal, capability) === "platform");
  }
  const ca = row.on === "ca" ? await callersCa(deps, row, call, origin, capability) : undefined;
  const early = row.on === "tenant" ? await call.body() : undefined;
  const tenant =
    row.on === "tenant"
      ? await namedTenant(deps, origin, capability, early)
      : (ca?.tenant ?? undefined);
  if (row.suspendable && tenant !== undefined) await refuseSuspended(deps.store, tenant);
  const query = readQuery(handler.query, call.query);
  const path = readBody(handler.path, pathMembers(handler, call.path));
  const body = await bodyOf(handler, early === undefined ? call.body : async () => early);
  const scopes: Reach = capability === undefined ? [] : reach(origin.principal, capability);
  // The handler's own shapes have read path, query and body just now.
  return { origin, reach: scopes, ca, tenant, path, query, body } as Authorized<
    never,
    never,
    never
  >;
}

function authenticated(call: Call): Origin {
  if (call.origin === undefined) throw refuse("unauthenticated");
  return call.origin;
}

function decide(deps: PipelineDeps, capability: Capability, allowed: boolean): void {
  deps.onDecision(capability, allowed);
  if (!allowed) throw refuse("forbidden", { capability });
}

/**
 * The CA of the path. Foreign and absent ids answer alike: 404 to a reader, 403 to a writer; only a platform-wide
 * holder learns by 404 that an id to be written does not exist (§3.2).
 */
async function callersCa(
  deps: PipelineDeps,
  row: Operation,
  call: Call,
  origin: Origin,
  capability: Capability | undefined,
): Promise<CaRecord> {
  const found = await deps.store.read.cas.byId(caId(call.path.id ?? ""));
  const ca = found?.internal ? undefined : found;
  if (capability === undefined) return ca ?? never(refuse("not_found"));
  if (ca !== undefined && holdsIn(origin.principal, capability, ca.tenant)) {
    deps.onDecision(capability, true);
    return ca;
  }
  if (reach(origin.principal, capability) === "platform") throw refuse("not_found");
  deps.onDecision(capability, false);
  const readable = ca !== undefined && holdsIn(origin.principal, "read", ca.tenant);
  if (row.writes || readable) throw refuse("forbidden", { capability });
  throw refuse("not_found");
}

/** The tenant a body names as `tenant_id` (or `tenant`), else the caller's own; the capability must be held there. */
async function namedTenant(
  deps: PipelineDeps,
  origin: Origin,
  capability: Capability | undefined,
  body: unknown,
): Promise<TenantId | undefined> {
  if (capability === undefined) return undefined;
  const named = memberOf(body, "tenant_id") ?? memberOf(body, "tenant");
  const held = reach(origin.principal, capability);
  if (memberOf(body, "scope") === "platform") {
    decide(deps, capability, held === "platform");
    return undefined;
  }
  if (named === undefined) return ownTenant(held);
  const tenant = await deps.store.read.access.tenant(named);
  if (tenant === undefined && held === "platform") throw refuse("not_found");
  decide(
    deps,
    capability,
    tenant !== undefined && (held === "platform" || held.includes(tenant.id)),
  );
  return tenant?.id;
}

function ownTenant(held: Reach): TenantId {
  if (held === "platform") return defaultTenant;
  const [only, second] = held;
  if (only === undefined || second !== undefined)
    throw refuse("missing_field", { field: "tenant_id" });
  return only;
}

function memberOf(body: unknown, name: string): string | undefined {
  if (typeof body !== "object" || body === null || !Object.hasOwn(body, name)) return undefined;
  const value = (body as Readonly<Record<string, unknown>>)[name]; // Checked to be an object above.
  return typeof value === "string" ? value : undefined;
}

async function refuseSuspended(store: Store, tenant: TenantId): Promise<void> {
  const record = await store.read.access.tenant(tenant);
  if (record?.status !== "active") throw refuse("tenant_suspended");
}

function pathMembers(handler: Handler, path: Readonly<Record<string, string>>) {
  return Object.fromEntries(Object.keys(handler.path).map((name) => [name, path[name]]));
}

async function bodyOf(handler: Handler, read: () => Promise<unknown>): Promise<unknown> {
  if (handler.body === undefined) return {};
  const body = await read();
  if (body === undefined && handler.emptyBody) return readBody(handler.body, {});
  if (body === undefined) throw refuse("malformed_json");
  return readBody(handler.body, body);
}

async function recordDenial(
  deps: PipelineDeps,
  call: Call,
  origin: Origin,
  problem: Problem,
): Promise<void> {
  const action = actionOf(call.operation);
  if (action === undefined) return;
  const { principal } = origin;
  const tenant = principal.roles.length > 0 ? undefined : ownTenants(origin)[0];
  const now = deps.clock.now();
  await deps.store.atomically(async (tx) => {
    await tx.audit.appendEvent(
      {
        ...{ action, result: "denied", actor: principal.subject, actorName: principal.name },
        ...{ actorRoles: effectiveRoles(principal, tenant), tenant, target: call.path.id },
        ...{ targetName: call.path.serial, ip: origin.ip, requestId: origin.requestId },
        detail: { reason: problem.code },
      },
      now,
    );
  });
}

/** Who asks for what needs no credential. */
const anonymous: Origin = {
  principal: {
    ...{ subject: "anonymous", person: "anonymous", isRoot: false, roles: [], tenantRoles: {} },
    ...{ groups: [], mechanism: "system" },
  },
  ip: "",
  requestId: "",
};

const ownTenants = (origin: Origin): readonly TenantId[] =>
  Object.keys(origin.principal.tenantRoles).map((tenant) => tenant as TenantId); // Ids from the store.

const actionOf = (operation: OperationName): Action | undefined =>
  operationOf(operation).action ??
  (Object.hasOwn(actions, operation) ? (operation as Action) : undefined); // A key of the table.

function never(problem: Problem): never {
  throw problem;
}
