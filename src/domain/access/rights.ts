/** What one principal may do where: its roles, and the grants it has on single CAs. */

import {
  hasIn,
  type Principal,
  type Reach,
  type Scopes,
  tenantsOf,
} from "#core/access/principal.ts";
import { type Capability, grantGives } from "#core/access/roles.ts";
import type { CaId, TenantId } from "#core/ids.ts";
import type { CaReads, CaRecord } from "#domain/authorities/store.ts";
import type { Store } from "#domain/store.ts";
import { type EffectiveGrant, type GrantSource, grantsTo } from "./grants.ts";

/**
 * The rights of a principal during one call; grants are looked up when roles alone do not decide.
 */
export class Rights {
  readonly principal: Principal;
  readonly #store: Store;
  readonly #source: GrantSource;
  #grants: Promise<readonly EffectiveGrant[]> | undefined;

  constructor(deps: {
    readonly principal: Principal;
    readonly store: Store;
    readonly source: GrantSource;
  }) {
    this.principal = deps.principal;
    this.#store = deps.store;
    this.#source = deps.source;
  }

  /** True when the capability is held in any scope at all, a grant on one CA included. */
  async anywhere(capability: Capability): Promise<boolean> {
    const tenants = tenantsOf(this.principal, capability);
    if (tenants === "platform" || tenants.length > 0) return true;
    return (await this.#giving(capability)).length > 0;
  }

  /** True when the capability is held on everything. */
  everywhere(capability: Capability): boolean {
    return tenantsOf(this.principal, capability) === "platform";
  }

  /** True when roles give the capability in the tenant; grants never do. */
  in(tenant: TenantId | undefined, capability: Capability): boolean {
    return hasIn(this.principal, capability, tenant);
  }

  /**
   * True when the capability is held on the CA, by its tenant or by a grant; with `subtree` on what
   * is below it too.
   */
  async on(
    ca: CaRecord,
    capability: Capability,
    scope: EffectiveGrant["scope"] = "self",
  ): Promise<boolean> {
    if (this.in(ca.tenant, capability)) return true;
    const giving = await this.#giving(capability);
    const wide = scope === "self" ? giving : giving.filter((one) => one.scope === "subtree");
    return await covered(this.#store.read.cas, ca, wide);
  }

  /** Where the capability is held, grants expanded to the CAs they cover now. */
  async reach(capability: Capability): Promise<Reach> {
    const tenants = tenantsOf(this.principal, capability);
    if (tenants === "platform") return tenants;
    const grants = await this.#giving(capability);
    return { tenants, cas: await this.#casUnder(grants) };
  }

  /** The same without grants, for what belongs to tenants only. */
  reachByRoles(capability: Capability): Reach {
    const tenants = tenantsOf(this.principal, capability);
    return tenants === "platform" ? tenants : { tenants, cas: [] };
  }

  /** The grants of the principal that cover the CA. */
  async grantsOn(ca: CaRecord): Promise<readonly EffectiveGrant[]> {
    const found: EffectiveGrant[] = [];
    for (const grant of await this.grants()) {
      if (await covered(this.#store.read.cas, ca, [grant])) found.push(grant);
    }
    return found;
  }

  /** Every grant of the principal, from the database and from the configuration. */
  grants(): Promise<readonly EffectiveGrant[]> {
    this.#grants ??= grantsTo(this.#store, this.#source, this.principal);
    return this.#grants;
  }

  async #giving(capability: Capability): Promise<readonly EffectiveGrant[]> {
    return (await this.grants()).filter(({ role }) => grantGives(role, capability));
  }

  async #casUnder(grants: readonly EffectiveGrant[]): Promise<Scopes["cas"]> {
    if (grants.length === 0) return [];
    const lineages = (scope: EffectiveGrant["scope"]): readonly CaId[] => [
      ...new Set(grants.filter((one) => one.scope === scope).map(({ lineage }) => lineage)),
    ];
    return await this.#store.read.cas.under(lineages("self"), lineages("subtree"));
  }
}

/** A grant covers the CA's lineage, and with `subtree` what stands below it. */
async function covered(
  cas: CaReads,
  ca: CaRecord,
  grants: readonly EffectiveGrant[],
): Promise<boolean> {
  if (grants.some(({ lineage }) => lineage === ca.lineage)) return true;
  const wide = new Set(grants.flatMap((one) => (one.scope === "subtree" ? [one.lineage] : [])));
  if (wide.size === 0) return false;
  // Issuers of one instance form a tree, so this ends at its root.
  for (let above = ca.parent; above !== undefined; ) {
    const issuer = await cas.byId(above);
    if (issuer === undefined) return false;
    if (wide.has(issuer.lineage)) return true;
    above = issuer.parent;
  }
  return false;
}
