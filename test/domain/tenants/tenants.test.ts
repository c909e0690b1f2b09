/** Tenants of the configuration: there from the start on, and as it says at every start. */

import { beforeEach, describe, expect, test } from "bun:test";

import { systemPrincipal } from "#core/access/principal.ts";
import { tenantId } from "#core/ids.ts";
import { type DeclaredTenant, Tenants } from "#domain/tenants/tenants.ts";
import { unlimited } from "#domain/tenants/store.ts";
import { issuanceWorld, rootOrigin } from "#test/support/worlds/issuance.ts";

const declared: DeclaredTenant = {
  id: tenantId("web"),
  slug: "web",
  name: "Web",
  kekLabel: "",
  quotas: { ...unlimited, maxCertsPerDay: 5 },
};
const origin = { principal: systemPrincipal("config"), ip: "", requestId: "" };

let world: ReturnType<typeof issuanceWorld>;
let tenants: Tenants;
beforeEach(() => {
  world = issuanceWorld();
  tenants = new Tenants(world);
});
const events = () => world.store.listEvents().map((one) => [one.actor, one.action, one.detail]);

describe("a declared tenant", () => {
  test("is made once, and a second start of the same configuration changes nothing", async () => {
    await tenants.declare(origin, [declared]);
    await tenants.declare(origin, [declared]);
    expect(await world.store.read.tenants.named("web")).toMatchObject({
      name: "Web",
      status: "active",
      quotas: { maxCertsPerDay: 5 },
    });
    expect(events()).toEqual([
      [
        "system:config",
        "tenant.create",
        "slug=web name=Web max_certs_per_day=5 max_active_certs=0 rate_limit_per_second=0 rate_limit_burst=0",
      ],
    ]);
  });

  test("is put back to what the configuration says, but stays suspended", async () => {
    await tenants.declare(origin, [declared]);
    await tenants.change(rootOrigin, declared.id, {
      name: "Other",
      quotas: unlimited,
      status: "suspended",
    });
    await tenants.declare(origin, [declared]);
    expect(await world.store.read.tenants.named("web")).toMatchObject({
      name: "Web",
      status: "suspended",
      quotas: { maxCertsPerDay: 5 },
    });
    expect(
      events()
        .slice(-2)
        .map(([, ...rest]) => rest),
    ).toEqual([
      ["tenant.update", "name=Web"],
      ["tenant.quota", "max_certs_per_day=5"],
    ]);
  });

  test("may be the built-in one", async () => {
    const builtIn = { ...declared, id: tenantId("default"), slug: "default" };
    await tenants.declare(origin, [builtIn]);
    expect(await world.store.read.tenants.named("default")).toMatchObject({ name: "Web" });
  });

  test("is refused when its id or slug is another tenant's, and nothing changes", async () => {
    await tenants.create(rootOrigin, { slug: "web", name: undefined, kekLabel: undefined });
    const taken = { code: "already_exists" };
    await expect(tenants.declare(origin, [declared])).rejects.toMatchObject(taken);
    await tenants.declare(origin, [{ ...declared, id: tenantId("ops"), slug: "ops" }]);
    const renamed = { ...declared, id: tenantId("ops"), slug: "lab" };
    await expect(tenants.declare(origin, [renamed])).rejects.toMatchObject(taken);
    expect(await world.store.read.tenants.named("lab")).toBeUndefined();
  });
});

test("a CA is not stored in a tenant that was deleted while its key was being made", async () => {
  const { id } = await tenants.create(rootOrigin, {
    slug: "brief",
    name: undefined,
    kekLabel: undefined,
  });
  const request = {
    label: "late",
    subject: [{ type: "CN" as const, value: "Late" }],
    keyType: "ecdsa-p256" as const,
    validityDays: undefined,
    maxPathLength: undefined,
    nameConstraints: undefined,
    policies: undefined,
  };
  world.keys.checkTicket = async () => {
    const tenant = await world.store.read.tenants.named(id);
    if (tenant !== undefined) await tenants.remove(rootOrigin, tenant);
  };
  const made = world.authorities.initRoot(rootOrigin, id, request);
  await expect(made).rejects.toMatchObject({ code: "tenant_suspended" });
  expect(await world.store.read.cas.byLabel("late")).toBeUndefined();
});
