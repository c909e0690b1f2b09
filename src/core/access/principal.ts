/** Who is asking, and what that person may do where. */

import type { CaId, TenantId } from "#core/ids.ts";
import type { Identity } from "./assignments.ts";
import { ownPerson, type Person } from "./person.ts";
import { type Capability, type GrantRole, gives, type Role } from "./roles.ts";

/** The authenticated identity bound to a request. */
export interface Principal {
  /** `root`, `token:<id>`, `local:<os user>`, `system:<job>`, or the subject of a directory. */
  readonly subject: string;
  /** Four-eyes compares people and never subjects: a token acts as the person who created it. */
  readonly person: Person;
  readonly name?: string;
  readonly email?: string;
  readonly emailVerified?: boolean;
  readonly isRoot: boolean;
  /** Effective in every tenant. */
  readonly roles: readonly Role[];
  /** Effective only on objects of that tenant. */
  readonly tenantRoles: Readonly<Record<string, readonly Role[]>>;
  readonly groups: readonly string[];
  /** By grants, on the CA of this call; `perform` sets them for the events of it. */
  readonly grantRoles?: readonly GrantRole[];
  /**
   * What it showed beside its name, where its roles depend on that; kept with what it asks for and
   * is done later.
   */
  readonly evidence?: Evidence;
  readonly mechanism:
    | "basic"
    | "token"
    | "bearer"
    | "session"
    | "mtls"
    | "local"
    | "system"
    /** What a device proved in the messages of its protocol. */
    | "protocol";
}

/**
 * What a provider or directory said of somebody, or the certificates a client showed: DER in
 * base64, its own first.
 */
export type Evidence =
  | { readonly kind: "identity"; readonly identity: Identity }
  | { readonly kind: "certificate"; readonly chain: readonly string[] };

/**
 * Where a capability is held: everywhere, or in these tenants and on these single CAs; both empty
 * means nowhere.
 */
export type Reach = "platform" | Scopes;

export interface Scopes {
  readonly tenants: readonly TenantId[];
  /** By grants; they add to the tenants. */
  readonly cas: readonly CaId[];
}

/** The tenants in which the principal's roles give the capability. */
export function tenantsOf(
  principal: Principal,
  capability: Capability,
): "platform" | readonly TenantId[] {
  if (hasPlatformWide(principal, capability)) return "platform";
  return Object.entries(principal.tenantRoles)
    .filter(([, roles]) => roles.some((role) => gives(role, capability, "tenant")))
    .map(([tenant]) => tenant as TenantId); // Keys of tenantRoles are ids by its contract.
}

/** True when the reach covers what belongs to this tenant; `undefined` means a platform object. */
export function coversTenant(reach: Reach, tenant: TenantId | undefined): boolean {
  if (reach === "platform") return true;
  return tenant !== undefined && reach.tenants.includes(tenant);
}

/** True when the reach covers the CA, by its tenant or by a grant. */
export function coversCa(
  reach: Reach,
  ca: { readonly id: CaId; readonly tenant: TenantId },
): boolean {
  return coversTenant(reach, ca.tenant) || (reach !== "platform" && reach.cas.includes(ca.id));
}

/**
 * True when roles give the capability on objects of this tenant; `undefined` means a platform
 * object.
 */
export function hasIn(
  principal: Principal,
  capability: Capability,
  tenant: TenantId | undefined,
): boolean {
  const where = tenantsOf(principal, capability);
  if (where === "platform") return true;
  return tenant !== undefined && where.includes(tenant);
}

/** True when the principal holds any role in the tenant, or platform-wide. */
export function isMember(principal: Principal, tenant: TenantId): boolean {
  if (principal.isRoot || principal.roles.length > 0) return true;
  return (principal.tenantRoles[tenant] ?? []).length > 0;
}

/**
 * The roles to write into an audit event: `root`, `system`, or those effective on the tenant's
 * objects.
 */
export function effectiveRoles(principal: Principal, tenant: TenantId | undefined): string {
  if (principal.isRoot) return "root";
  if (principal.mechanism === "system") return "system";
  const inTenant = tenant === undefined ? [] : (principal.tenantRoles[tenant] ?? []);
  const { roles, grantRoles = [] } = principal;
  if (inTenant.length + grantRoles.length === 0 && roles.length < 2) return roles.join();
  return [...new Set<string>([...roles, ...inTenant, ...grantRoles])].join(",");
}

/** The actor pkid itself is when the clock calls, e.g. `system:crl`. */
export function systemPrincipal(job: string): Principal {
  return {
    subject: `system:${job}`,
    person: ownPerson(`system:${job}`),
    isRoot: false,
    roles: ["admin"],
    tenantRoles: {},
    groups: [],
    mechanism: "system",
  };
}

function hasPlatformWide(principal: Principal, capability: Capability): boolean {
  return principal.isRoot || principal.roles.some((role) => gives(role, capability, "platform"));
}
