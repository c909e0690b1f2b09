/**
 * Step 5 of the pipeline: whose CA or tenant an operation concerns, and whether the caller may
 * touch it (SCOPE-1).
 */

import type { Capability } from "#core/access/roles.ts";
import { caId, defaultTenant, type TenantId } from "#core/ids.ts";
import { refuse } from "#core/problems.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import type { Store } from "#domain/store.ts";
import type { Operation } from "#operations";
import type { Call } from "./call.ts";
import { resourceOf } from "./grants.ts";
import type { Rights } from "./rights.ts";

/** One call on its way through the pipeline. */
export interface Asked {
  readonly store: Store;
  readonly row: Operation;
  readonly call: Call;
  readonly rights: Rights;
  /** Undefined where any principal, or nobody at all, may ask. */
  readonly capability: Capability | undefined;
  readonly onDecision: (capability: Capability, allowed: boolean) => void;
}

/** Tells the decision, and refuses `forbidden` unless it is to allow. */
export function decide(
  { onDecision }: Pick<Asked, "onDecision">,
  capability: Capability,
  allowed: boolean,
): void {
  onDecision(capability, allowed);
  if (!allowed) throw refuse("forbidden", { capability });
}

/** What the operation concerns. */
export interface Scope {
  readonly ca: CaRecord | undefined;
  readonly tenant: TenantId | undefined;
}

/** Finds it; refuses 403 or 404 as SCOPE-1 says, so that foreign and absent ids answer alike. */
export async function scopeOf(asked: Asked): Promise<Scope> {
  const { row, capability, rights } = asked;
  if (row.on === "platform" && capability !== undefined) {
    decide(asked, capability, rights.everywhere(capability));
  }
  if (row.on === "tenant") return { ca: undefined, tenant: await namedTenant(asked) };
  if (row.on !== "ca") return { ca: undefined, tenant: undefined };
  const ca = await callersCa(asked);
  return { ca, tenant: ca.tenant };
}

/**
 * The CA a call names: in its path, or as `resource` in its query or body; undefined for none that
 * exists.
 */
export async function namedCa({ store, row, call }: Pick<Asked, "store" | "row" | "call">) {
  const { cas } = store.read;
  if (row.by === "resource") return await resourceOf(cas, await resourceIn(row, call));
  const found = await cas.byId(caId(call.path.id ?? ""));
  return found?.internal ? undefined : found;
}

/**
 * The CA of the call. Foreign and absent ids answer alike: 404 to a reader, 403 to a writer; only a
 * platform-wide holder learns by 404 that an id to be written does not exist.
 */
async function callersCa(asked: Asked): Promise<CaRecord> {
  const { row, rights, capability } = asked;
  const ca = await namedCa(asked);
  if (capability === undefined) {
    if (ca === undefined) throw refuse("not_found");
    return ca;
  }
  if (ca !== undefined && (await rights.on(ca, capability))) {
    decide(asked, capability, true);
    return ca;
  }
  if (rights.everywhere(capability)) throw refuse("not_found");
  const readable = ca !== undefined && (await rights.on(ca, "read"));
  if (row.writes || readable) decide(asked, capability, false);
  asked.onDecision(capability, false);
  throw refuse("not_found");
}

/** Only this member is read now, the others in step 7. */
async function resourceIn(row: Operation, call: Call): Promise<string> {
  if (!row.writes) {
    const given = call.query.get("resource");
    if (given !== null && spelled.test(given)) return given;
    const reason = given === null ? "is missing" : "must be ca/ and the id of a CA";
    throw refuse("bad_query", { parameter: "resource", reason });
  }
  const body = await call.body();
  const given = memberOf(body, "resource");
  if (given !== undefined && spelled.test(given)) return given;
  const present = typeof body === "object" && body !== null && Object.hasOwn(body, "resource");
  if (!present) throw refuse("missing_field", { field: "resource" });
  throw refuse("invalid_field", { field: "resource", reason: "must be ca/ and the id of a CA" });
}

/**
 * The tenant a body names as `tenant_id` (or `tenant`); undefined where it names none that exists.
 */
export async function bodyTenant({ store, call }: Pick<Asked, "store" | "call">) {
  const named = tenantIn(await call.body());
  return named === undefined ? undefined : await store.read.tenants.named(named);
}

/** The tenant of the body, else the caller's own; the capability must be held there. */
async function namedTenant(asked: Asked): Promise<TenantId | undefined> {
  const { call, rights, capability } = asked;
  const body = await call.body();
  if (capability === undefined) return undefined;
  const everywhere = rights.everywhere(capability);
  if (memberOf(body, "scope") === "platform") {
    decide(asked, capability, everywhere);
    return undefined;
  }
  if (tenantIn(body) === undefined) return ownTenant(asked, capability);
  const tenant = await bodyTenant(asked);
  if (tenant === undefined && everywhere) throw refuse("not_found");
  decide(asked, capability, tenant !== undefined && rights.in(tenant.id, capability));
  return tenant?.id;
}

/** The default tenant of platform-wide callers, the only one of others (SCOPE-3). */
function ownTenant(asked: Asked, capability: Capability): TenantId {
  const reach = asked.rights.reachByRoles(capability);
  if (reach === "platform") return defaultTenant;
  const [only, second] = reach.tenants;
  // A grant on a CA is no right to anything of its tenant.
  if (only === undefined) decide(asked, capability, false);
  if (only === undefined || second !== undefined) {
    throw refuse("missing_field", { field: "tenant_id" });
  }
  return only;
}

const tenantIn = (body: unknown): string | undefined =>
  memberOf(body, "tenant_id") ?? memberOf(body, "tenant");

function memberOf(body: unknown, name: string): string | undefined {
  if (typeof body !== "object" || body === null || !Object.hasOwn(body, name)) return undefined;
  const value = (body as Readonly<Record<string, unknown>>)[name]; // Checked to be an object above.
  return typeof value === "string" ? value : undefined;
}

const spelled = /^ca\/[A-Za-z0-9._-]{1,64}$/;
