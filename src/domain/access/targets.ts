/**
 * Step 5 of the pipeline: whose CA or tenant an operation concerns, and whether the caller may
 * touch it (SCOPE-1).
 */

import type { Capability } from "#core/access/roles.ts";
import { caId, defaultTenant, type TenantId } from "#core/ids.ts";
import { assert, refuse } from "#core/problems.ts";
import { type Field, type Fields, optional, parsed, text, WrongValue } from "#core/shape.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import type { Store } from "#domain/store.ts";
import type { Operation } from "#operations";
import type { Given } from "./given.ts";
import { resourceOf } from "./grants.ts";
import type { Rights } from "./rights.ts";

/** One call on its way through the pipeline. */
export interface Asked {
  readonly store: Store;
  readonly row: Operation;
  readonly given: Given;
  readonly rights: Rights;
  /** Undefined where any principal, or nobody at all, may ask. */
  readonly capability: Capability | undefined;
  readonly onDecision: (capability: Capability, allowed: boolean) => void;
}

/** What an operation concerns: the members that name it, and how it is found. */
export interface Target<M extends Fields = Fields, R = unknown> {
  /** The same word stands in the row. */
  readonly on: Operation["on"];
  readonly members: M;
  /** Finds it; refuses 403 or 404 as SCOPE-1 says, so that foreign and absent ids answer alike. */
  resolve(asked: Asked): Promise<R & Scope>;
  /** What a refused call named, as far as it exists; nobody's right to know of it is asked. */
  named(asked: Pick<Asked, "store" | "given">): Promise<Scope>;
}

/** What was found. */
export interface Scope {
  readonly ca?: CaRecord;
  readonly tenant?: TenantId | undefined;
}

/** A CA, and the tenant it belongs to. */
export interface OnCa {
  readonly ca: CaRecord;
  readonly tenant: TenantId;
}

/** The CA whose id is `{id}` in the path. */
export const theCa = caTarget({ id: text() }, async ({ store, given }) => {
  const found = await store.read.cas.byId(caId(given.named.id ?? ""));
  return found?.internal ? undefined : found;
});

const spelled = /^ca\/[A-Za-z0-9._-]{1,64}$/;

/** A CA as `resource` names it. */
export const resourceField: Field<string> = parsed(
  {
    type: "string",
    minLength: 4,
    maxLength: 67,
    pattern: spelled.source,
    examples: ["ca/issuing"],
  },
  (given) => {
    if (!spelled.test(given)) throw new WrongValue("must be ca/ and the id of a CA");
    return given;
  },
);

/** The CA named as `resource`: `ca/` and its id or label. */
export const theResource = caTarget({ resource: resourceField }, async ({ store, given }) => {
  const resource = await given.peek("resource");
  if (typeof resource !== "string" || !spelled.test(resource)) {
    await given.read();
    assert(false, "what is no resource is refused when it is read");
  }
  return await resourceOf(store.read.cas, resource);
});

/** The tenant the body names as `tenant_id`, else the caller's own. */
export const theTenant = {
  on: "tenant",
  members: { tenant_id: tenantField() },
  resolve: async (asked: Asked) => {
    const tenant = await namedTenant(asked);
    return { tenant };
  },
  named: async (asked: Pick<Asked, "store" | "given">) => ({
    tenant: (await bodyTenant(asked))?.id,
  }),
} satisfies Target;

/** The same, or with `scope: "platform"` none: the instance as a whole. */
export const theTenantOrPlatform = {
  on: "tenant",
  members: {},
  resolve: async (asked: Asked): Promise<{ readonly tenant: TenantId | undefined }> => {
    if ((await asked.given.peek("scope")) !== "platform") return await theTenant.resolve(asked);
    const { capability, rights } = asked;
    if (capability !== undefined) decide(asked, capability, rights.everywhere(capability));
    return { tenant: undefined };
  },
  named: theTenant.named,
} satisfies Target;

/** The instance as a whole. */
export const thePlatform = {
  on: "platform",
  members: {},
  resolve: async (asked: Asked) => {
    const { capability, rights } = asked;
    if (capability !== undefined) decide(asked, capability, rights.everywhere(capability));
    return {};
  },
  named: nothingNamed,
} satisfies Target;

/** Whatever lies in the caller's reach. */
export const anyScope = {
  on: "any",
  members: {},
  resolve: nothingNamed,
  named: nothingNamed,
} satisfies Target;

/** Nothing that has an owner: the caller itself, or what anybody may see. */
export const noTarget = {
  on: undefined,
  members: {},
  resolve: nothingNamed,
  named: nothingNamed,
} satisfies Target;

/** Tells the decision, and refuses `forbidden` unless it is to allow. */
export function decide(
  { onDecision }: Pick<Asked, "onDecision">,
  capability: Capability,
  allowed: boolean,
): void {
  onDecision(capability, allowed);
  if (!allowed) throw refuse("forbidden", { capability });
}

async function nothingNamed(): Promise<Scope> {
  return {};
}

/** The CA that `find` finds by what the call says of it; undefined where it means none. */
export function caTarget<const M extends Fields>(
  members: M,
  find: (asked: Pick<Asked, "store" | "given">) => Promise<CaRecord | undefined>,
) {
  return {
    on: "ca" as const,
    members,
    resolve: async (asked: Asked): Promise<OnCa> => {
      const ca = await callersCa(asked, await find(asked));
      return { ca, tenant: ca.tenant };
    },
    named: async (asked: Pick<Asked, "store" | "given">): Promise<Scope> => {
      const ca = await find(asked);
      return ca === undefined ? {} : { ca, tenant: ca.tenant };
    },
  };
}

/**
 * The CA of the call. Foreign and absent ids answer alike: 404 to a reader, 403 to a writer; only a
 * platform-wide holder learns by 404 that an id to be written does not exist.
 */
async function callersCa(asked: Asked, ca: CaRecord | undefined): Promise<CaRecord> {
  const { row, rights, capability } = asked;
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

/** The tenant a body names; undefined where it names none that exists. */
async function bodyTenant({ store, given }: Pick<Asked, "store" | "given">) {
  const named = await tenantIn(given);
  return named === undefined ? undefined : await store.read.tenants.named(named);
}

/** The tenant of the body, else the caller's own; the capability must be held there. */
async function namedTenant(asked: Asked): Promise<TenantId> {
  const { given, rights, capability } = asked;
  assert(capability !== undefined, "what is done to a tenant needs a capability");
  if ((await tenantIn(given)) === undefined) return ownTenant(asked, capability);
  const tenant = await bodyTenant(asked);
  const everywhere = rights.everywhere(capability);
  if (tenant === undefined && everywhere) throw refuse("not_found");
  decide(asked, capability, tenant !== undefined && rights.in(tenant.id, capability));
  assert(tenant !== undefined, "rights are held in tenants that exist");
  return tenant.id;
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

/** Only these are looked at now, the other members in step 7. */
async function tenantIn(given: Given): Promise<string | undefined> {
  for (const member of ["tenant_id", "tenant"]) {
    const named = await given.peek(member);
    if (typeof named === "string") return named;
  }
  return undefined;
}

function tenantField(): Field<string | undefined> {
  return optional(text({ max: 64 }));
}
