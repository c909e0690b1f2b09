/** A principal as answers show it. */

import type { Principal } from "#core/access/principal.ts";
import { roles } from "#core/access/roles.ts";
import { flag, many, mapOf, oneOf, optional, shape, type ValueOf, words } from "#core/shape.ts";

const roleList = many(oneOf(roles));

/** The members that say what somebody may do everywhere, and where in particular. */
export const roleShapes = { roles: roleList, tenant_roles: mapOf(roleList) };

/** UserInfo. */
export const userShape = shape({
  sub: words(),
  email: optional(words()),
  email_verified: optional(flag()),
  name: optional(words()),
  is_root: flag(),
  ...roleShapes,
  groups: many(words()),
});

/** Who a principal is, as answers show it. */
export function userInfo(principal: Principal): ValueOf<typeof userShape> {
  const { email, emailVerified, name } = principal;
  return {
    sub: principal.subject,
    ...(email === undefined ? {} : { email, email_verified: emailVerified ?? false }),
    ...(name === undefined ? {} : { name }),
    is_root: principal.isRoot,
    roles: principal.roles,
    tenant_roles: principal.tenantRoles,
    groups: principal.groups,
  };
}
