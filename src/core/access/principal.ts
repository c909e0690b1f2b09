/** Who is asking, and what that person may do where. */

import type { TenantId } from "#core/ids.ts";
import { type Capability, gives, type Role } from "./roles.ts";

/** The authenticated identity bound to a request. */
export interface Principal {
  /** `root`, `token:<id>`, `local:<os user>`, `system:<job>`, or the subject of a directory. */
  readonly subject: string;
  /** Four-eyes compares persons, never subjects: a token acts as the person who created it. */
  readonly person: string;
  readonly name?: string;
  readonly email?: string;
  readonly emailVerified?: boolean;
  readonly isRoot: boolean;
  /** Effective in every tenant. */
  readonly roles: readonly Role[];
  /** Effective only on objects of that tenant. */
  readonly tenantRoles: Readonly<Record<string, readonly Role[]>>;
  readonly groups: readonly string[];
  readonly mechanism: "basic" | "token" | "bearer" | "session" | "mtls" | "local" | "system";
}

/** Where a capability is held: everywhere, in some tenants, or (an empty list) nowhere. */
export type Reach = "platform" | readonly TenantId[];

/** The scopes in which the principal holds the capability. */
export function reach(principal: Principal, capability: Capability): Reach {
  if (holdsPlatformWide(principal, capability)) return "platform";
  return Object.entries(principal.tenantRoles)
    .filter(([, held]) => held.some((role) => gives(role, capability, "tenant")))
    .map(([tenant]) => tenant as TenantId); // Keys of tenantRoles are ids by its contract.
}

/** True when the capability is held on objects of this tenant; `undefined` means a platform object. */
export function holdsIn(
  principal: Principal,
  capability: Capability,
  tenant: TenantId | undefined,
): boolean {
  const where = reach(principal, capability);
  if (where === "platform") return true;
  return tenant !== undefined && where.includes(tenant);
}

/** True when the capability is held in any scope at all. */
export function holdsAnywhere(principal: Principal, capability: Capability): boolean {
  const where = reach(principal, capability);
  return where === "platform" || where.length > 0;
}

/** The roles to write into an audit event: `root`, `system`, or those effective on the tenant's objects. */
export function effectiveRoles(principal: Principal, tenant: TenantId | undefined): string {
  if (principal.isRoot) return "root";
  if (principal.mechanism === "system") return "system";
  const inTenant = tenant === undefined ? [] : (principal.tenantRoles[tenant] ?? []);
  return [...new Set([...principal.roles, ...inTenant])].join(",");
}

/**
 * The person behind a subject. A verified e-mail address goes with it, because two subjects with one address are one
 * person (HTTP contract §2.1); the text is kept with tokens and requests and compared by `samePerson` alone.
 */
export function personOf(subject: string, verifiedEmail?: string): string {
  return verifiedEmail === undefined ? subject : `${subject} <${verifiedEmail.toLowerCase()}>`;
}

/** True when both texts stand for one person: by subject or by verified address. */
export function samePerson(one: string, other: string): boolean {
  const [subject, email] = personParts(one);
  const [otherSubject, otherEmail] = personParts(other);
  return subject === otherSubject || (email !== undefined && email === otherEmail);
}

/**
 * True for subjects that mean something inside pkid; whoever vouches for outsiders may not hand them out, or a directory
 * entry could act as root or as somebody's token.
 */
export const reservedSubject = (subject: string): boolean =>
  /^(root|anonymous|(token|local|system|acme|est|scep|cmp):.*)$/is.test(subject);

/** The actor pkid itself is when the clock calls, e.g. `system:crl`. */
export function systemPrincipal(job: string): Principal {
  return {
    subject: `system:${job}`,
    person: `system:${job}`,
    isRoot: false,
    roles: ["admin"],
    tenantRoles: {},
    groups: [],
    mechanism: "system",
  };
}

function holdsPlatformWide(principal: Principal, capability: Capability): boolean {
  return principal.isRoot || principal.roles.some((role) => gives(role, capability, "platform"));
}

function personParts(person: string): readonly [subject: string, email: string | undefined] {
  const [, subject, email] = /^(.*) <([^<>\s]+)>$/s.exec(person) ?? [];
  return subject === undefined ? [person, undefined] : [subject, email];
}
