/** A principal as answers show it. */

import type { Principal } from "#core/access/principal.ts";

/** Who a principal is, as answers show it. */
export function userInfo(principal: Principal) {
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
