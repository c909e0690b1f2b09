/** Quotas: what a tenant may still issue, decided in the unit that stores the intent (TEN-1). */

import type { TenantId } from "#core/ids.ts";
import { assert, type Problem, refuse } from "#core/problems.ts";
import { type Instant, secondsPerDay } from "#core/time.ts";
import type { Unit } from "#domain/store.ts";
import { dayOf } from "./days.ts";
import type { TenantState, TenantReads, Used } from "./store.ts";

/**
 * Lets one more leaf of the tenant be signed, or refuses `quota_exceeded`. The intent the same unit
 * stores is the reservation: it counts until its certificate does, or until it has come to nothing.
 * A tenant without quotas costs nothing more. What cannot be read refuses, because the unit fails.
 */
export async function reserveLeaf(
  tx: Unit,
  tenant: TenantId,
  state: TenantState,
  now: Instant,
): Promise<void> {
  if (state.maxCertsPerDay === 0 && state.maxActiveCerts === 0) return;
  const refusal = exhausted(state, await tx.tenants.used(tenant, now), now);
  if (refusal !== undefined) throw refusal;
}

/**
 * In the unit that stores a CA: its tenant still exists, for one that owns none may be deleted at
 * any time.
 */
export async function requireTenant(tx: Unit, tenant: TenantId): Promise<void> {
  if ((await tx.tenants.state(tenant)) === undefined) throw refuse("tenant_suspended");
}

/** What the tenant says to one leaf more, for a preview; reserves nothing. */
export interface TenantVerdict {
  /** What an issue would be refused with. */
  readonly refusal: Problem | undefined;
  /** Quota by quota what is left; of a tenant without quotas none is counted. */
  readonly room: readonly QuotaRoom[];
}

/** How much of one quota is left. */
export interface QuotaRoom {
  readonly quota: (typeof quotaNames)[number];
  readonly limit: number;
  readonly left: number;
}

/** The quotas that refuse certificates. */
export const quotaNames = ["max_certs_per_day", "max_active_certs"] as const;

/** What `requireActive` and `reserveLeaf` would say now. */
export async function tenantVerdict(
  tenants: TenantReads,
  tenant: TenantId,
  now: Instant,
): Promise<TenantVerdict> {
  const record = await tenants.named(tenant);
  if (record?.status !== "active") return { refusal: refuse("tenant_suspended"), room: [] };
  const { maxCertsPerDay, maxActiveCerts } = record.quotas;
  if (maxCertsPerDay === 0 && maxActiveCerts === 0) return { refusal: undefined, room: [] };
  const state = { status: record.status, maxCertsPerDay, maxActiveCerts };
  const used = await tenants.used(tenant, now);
  return { refusal: exhausted(state, used, now), room: roomIn(state, used) };
}

/** A quota that was lowered below what is used has nothing left, and not less. */
function roomIn({ maxCertsPerDay, maxActiveCerts }: TenantState, { today, active }: Used) {
  const quotas: readonly QuotaRoom[] = [
    { quota: "max_certs_per_day", limit: maxCertsPerDay, left: maxCertsPerDay - today },
    { quota: "max_active_certs", limit: maxActiveCerts, left: maxActiveCerts - active },
  ];
  return quotas
    .filter(({ limit }) => limit > 0)
    .map(({ quota, limit, left }) => ({ quota, limit, left: Math.max(0, left) }));
}

function exhausted(
  { maxCertsPerDay, maxActiveCerts }: TenantState,
  { today, active }: Used,
  now: Instant,
): Problem | undefined {
  assert(today >= 0 && active >= 0, "what counts against a quota is never less than nothing");
  if (maxCertsPerDay > 0 && today >= maxCertsPerDay) {
    const quota = "max_certs_per_day";
    return refuse("quota_exceeded", { quota, retry_after: secondsToMidnight(now) });
  }
  if (maxActiveCerts > 0 && active >= maxActiveCerts) {
    return refuse("quota_exceeded", { quota: "max_active_certs" });
  }
  return undefined;
}

/** Whole seconds to the next UTC midnight, at least 1. */
const secondsToMidnight = (now: Instant): number =>
  secondsPerDay - Math.floor(now / 1000 - dayOf(now) * secondsPerDay);
