/** Who has which roles and grants by the configuration. */

import type { Assignments } from "#core/access/assignments.ts";
import { tenantId } from "#core/ids.ts";
import type { ConfiguredGrant } from "./grants.ts";
import type { AccessSections, GrantRow } from "./sections.ts";

/**
 * Roles in all tenants and in single ones. A reload keeps `tenants` as it was at the start (RLD-2),
 * and `rbac` as it is now.
 */
export const assignmentsOf = (config: Pick<AccessSections, "rbac" | "tenants">): Assignments => ({
  subjects: config.rbac.subjects,
  groups: config.rbac.groups,
  tenants: Object.fromEntries(
    config.tenants.map(({ slug = "", id = slug, rbac }) => [tenantId(id), rbac]),
  ),
});

/** The grants a row makes, one for each user and group; none while it is incomplete. */
export function configuredGrants(row: GrantRow): readonly ConfiguredGrant[] {
  const { resource, role, scope, users, groups } = row;
  if (resource === undefined || role === undefined) return [];
  const shared = { resource, role, scope };
  return [
    ...users.map((id): ConfiguredGrant => ({ ...shared, type: "user", id })),
    ...groups.map((id): ConfiguredGrant => ({ ...shared, type: "group", id })),
  ];
}
