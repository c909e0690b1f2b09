/** Opens tenants: those the configuration declares exist from the start on. */

import { systemPrincipal } from "#core/access/principal.ts";
import { tenantId } from "#core/ids.ts";
import { Problem } from "#core/problems.ts";
import type { DeclaredTenant, Tenants } from "./tenants.ts";

/** One entry of `tenants`; the rules of the configuration have seen to its slug. */
export interface TenantRow {
  readonly id: string | undefined;
  readonly slug: string | undefined;
  readonly name: string | undefined;
  readonly kek_label: string | undefined;
  readonly quotas: {
    readonly max_certs_per_day: number;
    readonly max_active_certs: number;
    readonly rate_limit_per_second: number;
    readonly rate_limit_burst: number;
  };
}

/**
 * Creates or changes the tenants as the configuration declares them.
 *
 * @throws {Error} if a declared id and slug belong to different tenants
 */
export async function declareTenants(
  tenants: Pick<Tenants, "declare">,
  rows: readonly TenantRow[],
): Promise<void> {
  const origin = { principal: systemPrincipal("config"), ip: "", requestId: "" };
  for (const row of rows) {
    const declared = declaredTenant(row);
    try {
      await tenants.declare(origin, [declared]);
    } catch (error) {
      if (!(error instanceof Problem) || error.code !== "already_exists") throw error;
      const names = `id ${declared.id} and slug ${declared.slug}`;
      throw new Error(`tenants: ${names} do not go together with a tenant that exists.`);
    }
  }
}

/** The tenant an entry declares: its id and its name are the slug where it has none. */
export function declaredTenant(row: TenantRow): DeclaredTenant {
  const { slug: named = "", id = named, name = named, kek_label: kekLabel = "", quotas } = row;
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
