/** The life of a tenant: made, changed, suspended, deleted. */

import type { EventDraft } from "#core/audit/actions.ts";
import { defaultTenant, type TenantId, tenantId } from "#core/ids.ts";
import { refuse } from "#core/problems.ts";
import type { Instant } from "#core/time.ts";
import { authorOf, type Origin } from "#domain/actor.ts";
import { apiTokenEvent } from "#domain/access/tokens.ts";
import type { Clock, Random } from "#domain/ports.ts";
import type { Store, Unit } from "#domain/store.ts";
import { type Quotas, type TenantRecord, unlimited } from "./store.ts";

export interface TenantDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
}

/** A tenant as asked for; undefined members of a change stay as they are. */
export interface TenantRequest {
  readonly slug: string;
  /** Undefined: the slug. */
  readonly name: string | undefined;
  readonly kekLabel: string | undefined;
}
export type TenantChange = {
  readonly [K in "name" | "kekLabel" | "quotas" | "status"]?: TenantRecord[K] | undefined;
};

/** A tenant as the configuration declares it. */
export type DeclaredTenant = Pick<TenantRecord, "id" | "slug" | "name" | "kekLabel" | "quotas">;

/** Everything that can happen to a tenant. */
export class Tenants {
  readonly #deps: TenantDeps;

  constructor(deps: TenantDeps) {
    this.#deps = deps;
  }

  /** Refuses `already_exists` for a slug that is taken. */
  async create(origin: Origin, request: TenantRequest): Promise<TenantRecord> {
    const { store, clock, random } = this.#deps;
    const now = clock.now();
    const tenant: TenantRecord = {
      id: tenantId(random.uuid()),
      slug: request.slug,
      name: request.name ?? request.slug,
      status: "active",
      kekLabel: request.kekLabel ?? "",
      quotas: unlimited,
      createdAt: now,
    };
    await store.atomically((tx) => insert(tx, origin, tenant, now));
    return tenant;
  }

  /**
   * Changes what is given, effective for the next request on every replica; what is so already
   * changes and records nothing. Refuses `tenant_protected` for suspending the default tenant.
   */
  async change(origin: Origin, id: TenantId, change: TenantChange): Promise<TenantRecord> {
    if (id === defaultTenant && change.status === "suspended") throw refuse("tenant_protected");
    const { store, clock } = this.#deps;
    const now = clock.now();
    return await store.atomically(async (tx) => {
      const tenant = await tx.tenants.lock(id);
      if (tenant === undefined) throw refuse("not_found");
      const changed: TenantRecord = { ...tenant, ...given(change) };
      await this.#put(tx, origin, tenant, changed, now);
      return changed;
    });
  }

  /**
   * Deletes a tenant that owns no CA, and revokes its tokens. Refuses `tenant_protected` for the
   * default one and `tenant_not_empty`, counted in the deleting unit.
   */
  async remove(origin: Origin, tenant: TenantRecord): Promise<void> {
    if (tenant.id === defaultTenant) throw refuse("tenant_protected");
    const { store, clock } = this.#deps;
    const now = clock.now();
    await store.atomically(async (tx) => {
      const cas = await tx.tenants.cas(tenant.id);
      if (cas > 0) throw refuse("tenant_not_empty", { cas });
      const apiTokens = await tx.access.revokeApiTokensOf(tenant.id, now, origin.principal.subject);
      await tx.tenants.remove(tenant.id);
      for (const apiToken of apiTokens) {
        await tx.audit.appendEvent(apiTokenEvent("token.revoke", origin, apiToken), now);
      }
      const detail = { tokens: apiTokens.length };
      await tx.audit.appendEvent({ ...about("tenant.delete", origin, tenant), detail }, now);
    });
  }

  /**
   * Brings the tenants of the configuration into being; what it says of one that exists is put in
   * force again. Refuses `already_exists` for an id or slug that another tenant has.
   */
  async declare(origin: Origin, declared: readonly DeclaredTenant[]): Promise<void> {
    const { store, clock } = this.#deps;
    for (const one of declared) {
      const now = clock.now();
      await store.atomically(async (tx) => {
        const present = await tx.tenants.lock(one.id);
        if (present === undefined) {
          await insert(tx, origin, { ...one, status: "active", createdAt: now }, now);
          return;
        }
        if (present.slug !== one.slug) throw refuse("already_exists", { field: "id" });
        await this.#put(tx, origin, present, { ...present, ...one }, now);
      });
    }
  }

  /** Stores what differs, with its events. */
  async #put(
    tx: Unit,
    origin: Origin,
    from: TenantRecord,
    to: TenantRecord,
    now: Instant,
  ): Promise<void> {
    const drafts = changeEvents(origin, from, to);
    if (drafts.length > 0) await tx.tenants.update(to);
    for (const draft of drafts) await tx.audit.appendEvent(draft, now);
  }
}

async function insert(tx: Unit, origin: Origin, tenant: TenantRecord, now: Instant): Promise<void> {
  await tx.tenants.insert(tenant);
  const { slug, name, kekLabel, quotas } = tenant;
  const limits = Object.values(quotas).some((limit) => limit > 0) ? quotaDetail(quotas) : {};
  const detail = { slug, name, kek_label: kekLabel || undefined, ...limits };
  await tx.audit.appendEvent({ ...about("tenant.create", origin, tenant), detail }, now);
}

/**
 * One event for what is said of the tenant, one for its quotas; each names the members that
 * changed.
 */
function changeEvents(origin: Origin, from: TenantRecord, to: TenantRecord): EventDraft[] {
  const facts = differing(
    { name: from.name, kek_label: from.kekLabel, status: from.status },
    { name: to.name, kek_label: to.kekLabel, status: to.status },
  );
  const quotas = differing(quotaDetail(from.quotas), quotaDetail(to.quotas));
  return [
    ...(facts === undefined ? [] : [{ ...about("tenant.update", origin, from), detail: facts }]),
    ...(quotas === undefined ? [] : [{ ...about("tenant.quota", origin, from), detail: quotas }]),
  ];
}

type Members = Readonly<Record<string, string | number>>;

function differing(from: Members, to: Members): Members | undefined {
  const changed = Object.entries(to).filter(([name, value]) => from[name] !== value);
  return changed.length === 0 ? undefined : Object.fromEntries(changed);
}

const quotaDetail = (quotas: Quotas) => ({
  max_certs_per_day: quotas.maxCertsPerDay,
  max_active_certs: quotas.maxActiveCerts,
  rate_limit_per_second: quotas.rateLimitPerSecond,
  rate_limit_burst: quotas.rateLimitBurst,
});

/** The members that are given; only their own values stand under their names. */
const given = (change: TenantChange): Partial<TenantRecord> =>
  Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined));

/** Events about a tenant are seen by those who read that tenant's events. */
function about(
  action: "tenant.create" | "tenant.update" | "tenant.quota" | "tenant.delete",
  origin: Origin,
  tenant: TenantRecord,
) {
  return {
    action,
    result: "success" as const,
    ...authorOf(origin, tenant.id),
    tenant: tenant.id,
    target: tenant.id,
    targetName: tenant.slug,
  };
}
