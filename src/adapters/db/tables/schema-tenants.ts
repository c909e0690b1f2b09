/** The tables of tenants, of what counts against their quotas, and of grants on single CAs. */

import type { Kit } from "./kit.ts";

/** Builds them with the columns of one dialect. */
export function tenantTables(k: Kit) {
  const tenants = k.table(
    "tenants",
    {
      id: k.text("id").primaryKey(),
      slug: k.text("slug").notNull(),
      name: k.text("name").notNull(),
      status: k.text("status").notNull(),
      createdAt: k.int("created_at").notNull(),
      kekLabel: k.text("kek_label").notNull().default(""),
      maxCertsPerDay: k.int("max_certs_per_day").notNull().default(0),
      maxActiveCerts: k.int("max_active_certs").notNull().default(0),
      rateLimitPerSecond: k.int("rate_limit_per_second").notNull().default(0),
      rateLimitBurst: k.int("rate_limit_burst").notNull().default(0),
    },
    (t) => [k.unique("tenants_slug").on(t.slug), k.index("tenants_paging").on(t.createdAt, t.id)],
  );
  /**
   * Leaves of each tenant, counted as those of a CA are (`schema-counts.ts`): `issued` and
   * `revoked` per UTC day, `living` (good or held) per hour of their end.
   */
  const tenantCounts = k.table(
    "tenant_counts",
    {
      tenant: k.text("tenant").notNull(),
      kind: k.text("kind").notNull(),
      slot: k.int("slot").notNull(),
      number: k.int("number").notNull(),
    },
    (t) => [k.primaryKey({ columns: [t.tenant, t.kind, t.slot] })],
  );
  const grants = k.table(
    "grants",
    {
      id: k.text("id").primaryKey(),
      caId: k.text("ca_id").notNull(),
      lineage: k.text("lineage").notNull(),
      tenant: k.text("tenant").notNull(),
      entityType: k.text("entity_type").notNull(),
      entityId: k.text("entity_id").notNull(),
      role: k.text("role").notNull(),
      scope: k.text("scope").notNull(),
      createdBy: k.text("created_by").notNull(),
      createdAt: k.int("created_at").notNull(),
    },
    (t) => [
      k.unique("grants_identity").on(t.caId, t.entityType, t.entityId, t.role, t.scope),
      k.index("grants_entity").on(t.entityId, t.entityType),
    ],
  );
  return { tenants, tenantCounts, grants };
}
