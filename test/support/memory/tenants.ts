/**
 * Tenants in memory: what counts against quotas is counted anew each time, an independent answer to
 * what stores keep.
 */

import type { TenantId } from "#core/ids.ts";
import { refuse } from "#core/problems.ts";
import type { Instant } from "#core/time.ts";
import type { CertificateRecord } from "#domain/certificates/store.ts";
import type { Reads, Unit } from "#domain/store.ts";
import { dayOf } from "#domain/tenants/days.ts";
import type { DayUsage, Used } from "#domain/tenants/store.ts";
import { type MemoryState, pageOf } from "./state.ts";

/** Tenants and their usage. */
export const tenantReads = (state: MemoryState): Reads["tenants"] => ({
  named: async (reference) =>
    state.tenants.get(reference) ??
    [...state.tenants.values()].find((tenant) => tenant.slug === reference),
  page: async ({ ids, text = "" }, limit, after) =>
    pageOf(
      [...state.tenants.values()].filter(
        ({ id, slug, name }) =>
          (ids === "platform" || ids.includes(id)) &&
          [slug, name].some((one) => one.toLowerCase().includes(text.toLowerCase())),
      ),
      (tenant) => ({ at: tenant.createdAt, id: tenant.id }),
      limit,
      after,
    ),
  used: async (tenant, now) => used(state, tenant, now),
  usage: async (tenant, firstDay, now) => {
    const leaves = leavesOf(state, tenant);
    return {
      active: used(state, tenant, now).active,
      issued: leaves.length,
      revoked: leaves.filter(({ status }) => status === "revoked").length,
      cas: casOf(state, tenant).length,
      days: daysOf(leaves, firstDay),
    };
  },
});

/** What was done with these on each day from the first on, latest first. */
export function daysOf(rows: readonly CertificateRecord[], firstDay: number): readonly DayUsage[] {
  const issues = rows.map(({ createdAt }) => dayOf(createdAt));
  const revocations = rows
    .filter(({ status }) => status === "revoked")
    .map(({ revokedAt, createdAt }) => dayOf(revokedAt ?? createdAt));
  const days = [...new Set([...issues, ...revocations])].filter((day) => day >= firstDay);
  return days
    .sort((a, b) => b - a)
    .map((day) => ({
      day,
      issued: issues.filter((one) => one === day).length,
      revoked: revocations.filter((one) => one === day).length,
    }));
}

/** Tenant writes of a unit. */
export const tenantWrites = (state: MemoryState): Unit["tenants"] => ({
  ensure: async (tenant) => {
    if (!state.tenants.has(tenant.id)) state.tenants.set(tenant.id, tenant);
  },
  insert: async (tenant) => {
    const names = [...state.tenants.values()].flatMap(({ id, slug }) => [`${id}`, slug]);
    if (names.includes(tenant.slug) || names.includes(tenant.id)) {
      throw refuse("already_exists", { field: "slug" });
    }
    state.tenants.set(tenant.id, tenant);
  },
  lock: async (id) => state.tenants.get(id),
  update: async (tenant) => {
    state.tenants.set(tenant.id, tenant);
  },
  remove: async (id) => {
    state.tenants.delete(id);
  },
  state: async (id) => {
    const tenant = state.tenants.get(id);
    return tenant && { status: tenant.status, ...tenant.quotas };
  },
  used: async (tenant, now) => used(state, tenant, now),
  cas: async (tenant) => casOf(state, tenant).length,
});

function used(state: MemoryState, tenant: TenantId, now: Instant): Used {
  const leaves = leavesOf(state, tenant);
  const own = new Set(casOf(state, tenant).map(({ id }) => id));
  const open = [...state.intents.values()].filter(
    ({ caId, state: stands, purpose }) =>
      own.has(caId) &&
      stands === "intended" &&
      (purpose === "certificate" || purpose === "precertificate"),
  );
  const today = ({ createdAt }: { readonly createdAt: Instant }) => dayOf(createdAt) === dayOf(now);
  const living = leaves.filter(({ status, notAfter }) => status !== "revoked" && notAfter >= now);
  return {
    today: leaves.filter(today).length + open.filter(today).length,
    active: living.length + open.length,
  };
}

const leavesOf = (state: MemoryState, tenant: TenantId) =>
  [...state.certificates.values()].filter((row) => row.kind === "leaf" && row.tenant === tenant);

const casOf = (state: MemoryState, tenant: TenantId) =>
  [...state.cas.values()].filter((ca) => ca.tenant === tenant);
