/**
 * Who governs what: tenants, grants on single CAs, and what is known of those who have them, put
 * together from the settings.
 */

import { systemPrincipal } from "#core/access/principal.ts";
import { Problem } from "#core/problems.ts";
import type { Config } from "#config/schema.ts";
import { Granting } from "#domain/access/granting.ts";
import type { GrantSource } from "#domain/access/grants.ts";
import { knownPrincipals } from "#domain/access/known.ts";
import type { ApiTokens } from "#domain/access/tokens.ts";
import type { Clock, Random } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";
import { Tenants } from "#domain/tenants/tenants.ts";
import { assignmentsOf, configuredGrants, declaredTenant } from "./access-settings.ts";

export interface Governance {
  readonly tenants: Tenants;
  readonly granting: Granting;
  readonly grants: GrantSource;
  /** Puts `rbac.grants` of another configuration into force (RLD-1). */
  readonly reload: (config: Config) => void;
}

export interface GovernanceDeps {
  readonly config: Config;
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly apiTokens: ApiTokens;
}

/** Builds it; nothing is written. */
export function openGovernance({ config, apiTokens, ...deps }: GovernanceDeps): Governance {
  const settingsOf = (of: Config) => ({
    grants: of.rbac.grants.flatMap(configuredGrants),
    since: deps.clock.now(),
    assignments: assignmentsOf(of),
  });
  let inForce = settingsOf(config);
  const grants: GrantSource = { configured: () => inForce };
  const known = knownPrincipals(apiTokens, () => inForce.assignments);
  return {
    tenants: new Tenants(deps),
    granting: new Granting({ ...deps, source: grants, known }),
    grants,
    reload: (next) => {
      inForce = settingsOf(next);
    },
  };
}

/**
 * At start: the tenants of the configuration exist as it says. Throws a sentence where another
 * tenant is in the way.
 */
export async function declareTenants(
  { tenants }: Config,
  deps: Pick<GovernanceDeps, "store" | "clock" | "random">,
): Promise<void> {
  const origin = { principal: systemPrincipal("config"), ip: "", requestId: "" };
  for (const setting of tenants) {
    const declared = declaredTenant(setting);
    try {
      await new Tenants(deps).declare(origin, [declared]);
    } catch (error) {
      if (!(error instanceof Problem) || error.code !== "already_exists") throw error;
      const names = `id ${declared.id} and slug ${declared.slug}`;
      throw new Error(`tenants: ${names} do not go together with a tenant that exists.`);
    }
  }
}
