/** The order in which a call is refused, each step only by what passed those before (GATE-1). */

import { askJson, openPipeline, stubOf } from "#test/support/worlds/asking.ts";
import { expect, test } from "bun:test";

import type { Principal } from "#core/access/principal.ts";
import type { Role } from "#core/access/roles.ts";
import { defaultTenant, tenantId } from "#core/ids.ts";
import { Problem, refuse } from "#core/problems.ts";
import { text } from "#core/shape.ts";
import { Outcome } from "#domain/access/outcome.ts";
import { initRoot, issuanceWorld, rootOrigin } from "#test/support/worlds/issuance.ts";
import { tenant } from "#test/support/stores/records.ts";

test("GATE-1: capability, scope, suspension, step-up, body, four-eyes, action", async () => {
  const world = issuanceWorld();
  const { store } = world;
  await store.atomically((tx) => tx.tenants.insert(tenant("lab")));
  const { id } = await initRoot(world);
  const steps = { refusesStepUp: true, parks: true };
  let bodiesRead = 0;
  const perform = openPipeline({
    ...world,
    hasRoom: () => true,
    onDecision: () => {},
    stepUp: async (operation) => {
      if (steps.refusesStepUp) throw refuse("step_up_required", { operation });
    },
    gate: async () => (steps.parks ? new Outcome("parked", {}) : undefined),
  });
  const ask = (principal: Principal, body: unknown) =>
    askJson(
      perform,
      {
        operation: "ca.issue_intermediate",
        origin: { ...rootOrigin, principal },
        path: { id },
        query: new URLSearchParams(),
        body: async () => {
          bodiesRead++;
          return body;
        },
      },
      making,
    ).then(
      ({ status }) => status,
      (error) => {
        if (!(error instanceof Problem)) throw error;
        return error.code as string;
      },
    );
  const suspend = (status: "active" | "suspended") =>
    store.atomically(async (tx) => {
      const record = await tx.tenants.lock(defaultTenant);
      if (record !== undefined) await tx.tenants.update({ ...record, status });
    });

  await suspend("suspended");
  // Each caller and request passes one step more.
  expect(await ask(withRole(defaultTenant, "auditor"), {})).toBe("forbidden");
  expect(await ask(withRole(tenantId("lab"), "admin"), {})).toBe("forbidden");
  const admin = withRole(defaultTenant, "admin");
  expect(await ask(admin, {})).toBe("tenant_suspended");
  await suspend("active");
  expect(await ask(admin, {})).toBe("step_up_required");
  expect(bodiesRead).toBe(0);
  steps.refusesStepUp = false;
  expect(await ask(admin, {})).toBe("missing_field");
  expect(await ask(admin, { label: "a" })).toBe(202);
  steps.parks = false;
  expect(await ask(admin, { label: "a" })).toBe(200);
});

const making = stubOf("ca.issue_intermediate", async () => ({}), { label: text({}) });

/** Somebody who holds one role in one tenant. */
const withRole = (where: ReturnType<typeof tenantId>, role: Role): Principal => ({
  ...rootOrigin.principal,
  isRoot: false,
  roles: [],
  tenantRoles: { [where]: [role] },
});
