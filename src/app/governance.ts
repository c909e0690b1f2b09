/** Who governs what: tenants, grants on single CAs, and what is known of those who have them, put together from the settings. */

import { Granting } from "#domain/access/granting.ts";
import { type GrantSource, noGrants } from "#domain/access/grants.ts";
import { knownPrincipals } from "#domain/access/known.ts";
import type { ApiTokens } from "#domain/access/tokens.ts";
import type { Clock, Random } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";
import { Tenants } from "#domain/tenants/tenants.ts";

export interface Governance {
  readonly tenants: Tenants;
  readonly granting: Granting;
  readonly grants: GrantSource;
}

export interface GovernanceGround {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly tokens: ApiTokens;
}

/** Builds it; nothing is written. */
export function openGovernance({ tokens, ...ground }: GovernanceGround): Governance {
  const grants = noGrants;
  return {
    tenants: new Tenants(ground),
    granting: new Granting({ ...ground, source: grants, known: knownPrincipals(tokens) }),
    grants,
  };
}
