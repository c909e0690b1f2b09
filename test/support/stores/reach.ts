/** Reaches as stores are asked with. */

import type { Scopes } from "#core/access/principal.ts";
import type { CaId, TenantId } from "#core/ids.ts";

/** These tenants, and these CAs beside them. */
export const only = (tenants: readonly TenantId[], cas: readonly CaId[] = []): Scopes => ({
  tenants,
  cas,
});
