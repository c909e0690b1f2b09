/** Who governs what: tenants, and grants on single CAs. */

import type { Granting } from "#domain/access/granting.ts";
import type { GrantSource } from "#domain/access/grants.ts";
import type { Tenants } from "#domain/tenants/tenants.ts";

export interface Governance {
  readonly tenants: Tenants;
  readonly granting: Granting;
  readonly grants: GrantSource;
}
