/** From the configuration to what the domain says of tenants, roles and grants. */

import type { GrantSetting, TenantSetting } from "#config/sections/tenants.ts";
import type { Assignments } from "#core/access/assignments.ts";
import { tenantId } from "#core/ids.ts";
import type { ConfiguredGrant } from "#domain/access/grants.ts";
import type { DeclaredTenant } from "#domain/tenants/tenants.ts";

/** The tenant an entry declares; the rules have seen to its slug. */
export function declaredTenant(setting: TenantSetting): DeclaredTenant {
  const { slug: named = "", id = named, name = named, kek_label: kekLabel = "", quotas } = setting;
  return {
    id: tenantId(id),
    slug: named,
    name,
    kekLabel,
    quotas: {
      maxCertsPerDay: quotas.max_certs_per_day,
      maxActiveCerts: quotas.max_active_certs,
      rateLimitPerSecond: quotas.rate_limit_per_second,
      rateLimitBurst: quotas.rate_limit_burst,
    },
  };
}

/**
 * Who has which roles by the configuration, in all tenants and in single ones. A reload keeps
 * `tenants` as it was at the start (RLD-2), and `rbac` as it is now.
 */
export const assignmentsOf = (config: {
  readonly rbac: Omit<Assignments, "tenants">;
  readonly tenants: readonly TenantSetting[];
}): Assignments => ({
  subjects: config.rbac.subjects,
  groups: config.rbac.groups,
  tenants: Object.fromEntries(config.tenants.map((one) => [declaredTenant(one).id, one.rbac])),
});

/** The grants an entry makes, one for each user and group; none while it is incomplete. */
export function configuredGrants(setting: GrantSetting): readonly ConfiguredGrant[] {
  const { resource, role, scope, users, groups } = setting;
  if (resource === undefined || role === undefined) return [];
  const shared = { resource, role, scope };
  return [
    ...users.map((id): ConfiguredGrant => ({ ...shared, type: "user", id })),
    ...groups.map((id): ConfiguredGrant => ({ ...shared, type: "group", id })),
  ];
}
