/** The canary in JSON, through the pipeline. */

import { askJson, openPipeline, told } from "#test/support/worlds/asking.ts";
import { expect, test } from "bun:test";

import { canaryHandlers } from "#api/canary.ts";
import { stages } from "#domain/canary/stages.ts";
import { canaryWorld } from "#test/support/worlds/canary-world.ts";
import { rootOrigin } from "#test/support/worlds/issuance.ts";
import { refusalOf } from "#test/support/worlds/access.ts";

async function canaryApi() {
  const world = await canaryWorld();
  const handlers = canaryHandlers(world);
  const perform = openPipeline(world);
  const ask = async (body?: unknown, caller = {}) => {
    const principal = { ...rootOrigin.principal, ...caller };
    const origin = { ...rootOrigin, principal };
    const call = { operation: "canary.run" as const, origin, body: async () => body };
    return told(await askJson(perform, call, handlers["canary.run"]));
  };
  return { ...world, ask };
}

test("each configured CA is told with its stages and what they took", async () => {
  const { ask, issuing } = await canaryApi();
  expect(await ask()).toEqual({
    result: "success",
    probes: [
      {
        ca: "issuing",
        ca_id: issuing.id,
        serial: expect.stringMatching(/^[0-9]+$/),
        result: "success",
        milliseconds: expect.any(Number),
        stages: stages.map((stage) => ({
          stage,
          milliseconds: expect.any(Number),
          result: "success",
        })),
      },
    ],
  });
});

test("of one that fails the stage is told, and why", async () => {
  const { ask, set, root, issuing, keys } = await canaryApi();
  set({ cas: ["nobody", "issuing"] });
  keys.held.delete(issuing.key.id);
  const failed = { milliseconds: 0, result: "error" };
  expect(await ask()).toMatchObject({
    result: "error",
    probes: [
      { ca: "nobody", stage: "resolve", reason: "not_found", stages: [failed] },
      { ca: "issuing", ca_id: issuing.id, stage: "issue", reason: "key_unavailable" },
    ],
  });
  expect(await ask({ ca_id: root.id })).toMatchObject({
    result: "success",
    probes: [{ ca: "root", ca_id: root.id }],
  });
});

test("who may not issue everywhere is refused, and the attempt is an event", async () => {
  const { ask, told: events } = await canaryApi();
  const ofTenant = { roles: [], tenantRoles: { default: ["issuer"] } };
  for (const caller of [{ roles: ["auditor"] }, ofTenant]) {
    expect(await refusalOf(ask({}, { isRoot: false, ...caller }))).toBe("forbidden");
  }
  expect(events().map(({ result }) => result)).toEqual(["denied", "denied"]);
  expect(await ask({}, { isRoot: false, roles: ["issuer"] })).toMatchObject({ result: "success" });
});

test("what names no CA that is there is refused by what is wrong with it", async () => {
  const { ask, set } = await canaryApi();
  expect(await refusalOf(ask({ ca_id: "nobody" }))).toBe("not_found");
  expect(await refusalOf(ask({ ca: "issuing" }))).toBe("unknown_field");
  set({ cas: [] });
  expect(await refusalOf(ask({}))).toBe("missing_field");
});
