/** Tenants in JSON: who they are, what they may use, and what they have used (TEN-1). */

import { isMember } from "#core/access/principal.ts";
import type { TenantId } from "#core/ids.ts";
import { assert, refuse } from "#core/problems.ts";
import {
  integer,
  many,
  object,
  oneOf,
  optional,
  otherwise,
  shape,
  text,
  type ValueOf,
  words,
} from "#core/shape.ts";
import { timestamp } from "#core/time.ts";
import { type Definition, operation } from "#domain/access/operation.ts";
import { made } from "#domain/access/outcome.ts";
import { noTarget, thePlatform } from "#domain/access/targets.ts";
import type { Clock } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";
import { dateOf, dayOf, everyDay } from "#domain/tenants/days.ts";
import {
  type DayUsage,
  type Quotas,
  type TenantRecord,
  tenantStatuses,
} from "#domain/tenants/store.ts";
import type { Tenants } from "#domain/tenants/tenants.ts";
import type { OperationName } from "#operations";
import { listOf, pageFields, pageOf } from "./pages.ts";
import { count, simpleChange, time } from "./shapes.ts";

interface Deps {
  readonly store: Store;
  readonly clock: Clock;
  readonly tenants: Tenants;
}

/** Handlers for `tenant.*`. */
export function tenantHandlers(deps: Deps) {
  const { store, tenants } = deps;
  return {
    "tenant.list": tenantList(store),
    "tenant.show": operation({
      summary: "One tenant, for its members.",
      target: noTarget,
      input: { id: reference },
      output: tenantShape,
      run: async (call) => tenantJson(await joined(store, call)),
    }),
    "tenant.usage": tenantUsage(deps),
    "tenant.create": operation({
      summary: "Make a tenant, without quotas.",
      target: thePlatform,
      input: {
        slug: text({ pattern: /^[a-z0-9][a-z0-9-]{0,62}$/ }),
        name: optional(nameField),
        kek_label: optional(kekLabelField),
      },
      output: tenantShape,
      refuses: ["already_exists"],
      run: async ({ origin, input: { slug, name, kek_label: kekLabel } }) => {
        const tenant = await tenants.create(origin, { slug, name, kekLabel });
        return made(tenantJson(tenant), `/api/tenants/${tenant.id}`);
      },
    }),
    "tenant.update": tenantUpdate(deps),
    "tenant.status": operation({
      summary: "Suspend a tenant, or let it issue again, from the next request on.",
      target: thePlatform,
      input: { id: reference, status: oneOf(tenantStatuses) },
      output: tenantShape,
      refuses: ["tenant_protected"],
      run: async ({ origin, input, input: { status } }) => {
        const { id } = await known(store, input.id);
        return tenantJson(await tenants.change(origin, id, { status }));
      },
    }),
    "tenant.delete": operation({
      summary: "Delete a tenant that owns no CA; its tokens are revoked.",
      target: thePlatform,
      input: { id: reference },
      output: simpleChange("deleted"),
      refuses: ["tenant_protected", "tenant_not_empty"],
      run: async ({ origin, input }) => {
        await tenants.remove(origin, await known(store, input.id));
        return { status: "deleted" as const };
      },
    }),
  } satisfies Partial<Record<OperationName, Definition>>;
}

function tenantUpdate({ store, tenants }: Deps) {
  return operation({
    summary: "Change a tenant's name, KEK label or quotas; quotas are replaced as a whole.",
    target: thePlatform,
    input: {
      id: reference,
      name: optional(nameField),
      kek_label: optional(kekLabelField),
      quotas: optional(object(quotaFields)),
    },
    output: tenantShape,
    run: async ({ origin, input, input: { name, kek_label: kekLabel, quotas } }) => {
      const { id } = await known(store, input.id);
      const change = { name, kekLabel, quotas: quotas && quotasOf(quotas) };
      return tenantJson(await tenants.change(origin, id, change));
    },
  });
}

function tenantList(store: Store) {
  return operation({
    summary: "Tenants the caller is a member of, newest first.",
    target: noTarget,
    input: { q: optional(text({ min: 1, max: 200 })), ...pageFields },
    output: listOf(tenantShape),
    run: async (call) => {
      const { principal } = call.origin;
      const everywhere = principal.isRoot || principal.roles.length > 0;
      const own = Object.entries(principal.tenantRoles).filter(([, roles]) => roles.length > 0);
      // Keys of tenantRoles are ids by its contract.
      const ids = everywhere ? "platform" : own.map(([id]) => id as TenantId);
      const reach = ids === "platform" ? ids : { tenants: ids, cas: [] };
      const { q } = call.input;
      return await pageOf("tenant.list", { ...call, reach }, { q }, tenantJson, (limit, after) =>
        store.read.tenants.page({ ids, text: q }, limit, after),
      );
    },
  });
}

function tenantUsage({ store, clock }: Deps) {
  return operation({
    summary: "What a tenant has issued and revoked, and what counts against its quotas.",
    target: noTarget,
    input: { id: reference, days: otherwise(integer(1, 90), 7) },
    output: usageShape,
    run: async (call) => {
      const tenant = await joined(store, call);
      const now = clock.now();
      const lastDay = dayOf(now);
      const { days } = call.input;
      const usage = await store.read.tenants.usage(tenant.id, lastDay - days + 1, now);
      const shown = everyDay(usage.days, lastDay, days).map(dayJson);
      const [today] = shown;
      assert(today !== undefined, "usage is asked for a day at least");
      return {
        tenant_id: tenant.id,
        slug: tenant.slug,
        status: tenant.status,
        active_certs: usage.active,
        total_issued: usage.issued,
        total_revoked: usage.revoked,
        cas: usage.cas,
        today,
        days: shown,
        quotas: quotasJson(tenant.quotas),
        generated_at: timestamp(now),
      };
    },
  });
}

/** The tenant of the path, for a member; foreign and absent ones answer alike. */
async function joined(
  store: Store,
  call: {
    readonly origin: { readonly principal: Parameters<typeof isMember>[0] };
    readonly input: { readonly id: string };
  },
): Promise<TenantRecord> {
  const tenant = await store.read.tenants.named(call.input.id);
  if (tenant === undefined || !isMember(call.origin.principal, tenant.id))
    throw refuse("not_found");
  return tenant;
}

async function known(store: Store, named: string): Promise<TenantRecord> {
  const tenant = await store.read.tenants.named(named);
  if (tenant === undefined) throw refuse("not_found");
  return tenant;
}

const quotasShape = shape({
  max_certs_per_day: count,
  max_active_certs: count,
  rate_limit_per_second: count,
  rate_limit_burst: count,
});
const tenantShape = shape({
  id: words(),
  slug: words(),
  name: words(),
  status: oneOf(tenantStatuses),
  kek_label: optional(words()),
  quotas: quotasShape,
  created_at: time,
});
const dayShape = shape({
  day: words({ format: "date" }),
  certs_issued: count,
  certs_revoked: count,
});
const usageShape = shape({
  tenant_id: words(),
  slug: words(),
  status: oneOf(tenantStatuses),
  active_certs: count,
  total_issued: count,
  total_revoked: count,
  cas: count,
  today: dayShape,
  days: many(dayShape),
  quotas: quotasShape,
  generated_at: time,
});

/** A tenant as answers show it. */
function tenantJson(tenant: TenantRecord): ValueOf<typeof tenantShape> {
  return {
    id: tenant.id,
    slug: tenant.slug,
    name: tenant.name,
    status: tenant.status,
    ...(tenant.kekLabel === "" ? {} : { kek_label: tenant.kekLabel }),
    quotas: quotasJson(tenant.quotas),
    created_at: timestamp(tenant.createdAt),
  };
}

const quotasJson = (quotas: Quotas): ValueOf<typeof quotasShape> => ({
  max_certs_per_day: quotas.maxCertsPerDay,
  max_active_certs: quotas.maxActiveCerts,
  rate_limit_per_second: quotas.rateLimitPerSecond,
  rate_limit_burst: quotas.rateLimitBurst,
});

const dayJson = ({ day, issued, revoked }: DayUsage): ValueOf<typeof dayShape> => ({
  day: dateOf(day),
  certs_issued: issued,
  certs_revoked: revoked,
});

const limit = () => otherwise(integer(0, 1_000_000_000), 0);
const quotaFields = {
  max_certs_per_day: limit(),
  max_active_certs: limit(),
  rate_limit_per_second: limit(),
  rate_limit_burst: limit(),
};

function quotasOf(given: Record<keyof typeof quotaFields, number>): Quotas {
  return {
    maxCertsPerDay: given.max_certs_per_day,
    maxActiveCerts: given.max_active_certs,
    rateLimitPerSecond: given.rate_limit_per_second,
    rateLimitBurst: given.rate_limit_burst,
  };
}

const reference = text({ min: 1, max: 64 });
const nameField = text({ min: 1, max: 200 });
const kekLabelField = text({ min: 1, max: 64, pattern: /^[A-Za-z0-9._-]+$/ });
