/**
 * Which roles an identity has: by subject, by verified e-mail, by group, and by the mappings of the
 * login that vouches for it.
 */

import type { TenantId } from "#core/ids.ts";
import { canonicalGroup } from "./group-names.ts";
import type { Role } from "./roles.ts";

/** A person or machine as an identity provider or directory describes it. */
export interface Identity {
  readonly voucher: "oidc" | "ldap";
  /** The issuer of an identity provider, else empty. */
  readonly issuer: string;
  readonly subject: string;
  /** What the person calls herself when logging in; for lists and events. */
  readonly loginName: string;
  readonly name?: string;
  readonly email?: string;
  /** An address counts only when whoever vouches for it has verified it. */
  readonly emailVerified: boolean;
  readonly groups: readonly string[];
  /** The values of the claims that mappings look at, by name. */
  readonly claims: Readonly<Record<string, readonly string[]>>;
}

/** What roles depend on, whoever vouches for it. */
type Described = Pick<Identity, "subject" | "email" | "emailVerified" | "groups" | "claims">;

/** The keys `rbac.subjects` and `rbac.groups`, and those of `tenants[]`. */
export interface Assignments {
  readonly subjects: Readonly<Record<string, readonly Role[]>>;
  readonly groups: Readonly<Record<string, readonly Role[]>>;
  /** The same of single tenants, whose roles hold there only; by the tenant's id. */
  readonly tenants?: Readonly<Record<string, Omit<Assignments, "tenants">>>;
}

/** Gives roles to whoever has the value among those of the claim. */
export interface RoleMapping {
  readonly claim: string;
  readonly value: string;
  /** The roles hold in this tenant only; undefined: in all. */
  readonly tenant: TenantId | undefined;
  readonly roles: readonly Role[];
}

export interface RoleSet {
  readonly roles: readonly Role[];
  readonly tenantRoles: Readonly<Record<string, readonly Role[]>>;
}

/** The union of what assignments and mappings give (AUTH-6). */
export function rolesOf(
  identity: Described,
  assignments: Assignments,
  mappings: readonly RoleMapping[],
): RoleSet {
  const matching = mappings.filter(({ claim, value }) => {
    const wanted = canonicalGroup(value);
    return valuesOf(identity, claim).some((one) => canonicalGroup(one) === wanted);
  });
  const platform = matching.filter(({ tenant }) => tenant === undefined);
  const roles = [...assigned(identity, assignments), ...platform.flatMap((one) => one.roles)];
  const tenantRoles = new Map<string, readonly Role[]>();
  const add = (tenant: string, more: readonly Role[]) =>
    tenantRoles.set(tenant, unique([...(tenantRoles.get(tenant) ?? []), ...more]));
  for (const { tenant, roles: more } of matching) if (tenant !== undefined) add(tenant, more);
  for (const [tenant, of] of Object.entries(assignments.tenants ?? {})) {
    const more = assigned(identity, of);
    if (more.length > 0) add(tenant, more);
  }
  return { roles: unique(roles), tenantRoles: Object.fromEntries(tenantRoles) };
}

/** True when there is no role at all. */
export const roleless = ({ roles, tenantRoles }: RoleSet): boolean =>
  roles.length === 0 && Object.values(tenantRoles).every((own) => own.length === 0);

/**
 * A key with an at sign is an address and never a subject: who chooses subjects must not choose
 * addresses.
 */
function assigned({ subject, email, emailVerified, groups }: Described, of: Assignments) {
  const bySubject = subject.includes("@") ? [] : given(of.subjects, subject);
  const byEmail = emailVerified && email?.includes("@") ? given(of.subjects, email) : [];
  return [...bySubject, ...byEmail, ...givenToGroups(of.groups, groups)];
}

function givenToGroups(
  of: Readonly<Record<string, readonly Role[]>>,
  groups: readonly string[],
): readonly Role[] {
  const own = new Set(groups.map(canonicalGroup));
  return Object.entries(of).flatMap(([name, roles]) =>
    own.has(canonicalGroup(name)) ? roles : [],
  );
}

const given = (of: Readonly<Record<string, readonly Role[]>>, name: string): readonly Role[] =>
  Object.hasOwn(of, name) ? (of[name] ?? []) : [];

const valuesOf = ({ claims }: Described, claim: string): readonly string[] =>
  Object.hasOwn(claims, claim) ? (claims[claim] ?? []) : [];

const unique = (roles: readonly Role[]): readonly Role[] => [...new Set(roles)];
