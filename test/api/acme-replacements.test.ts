/** Mass replacement in JSON: whose plans anybody sees, and when there are none to ask for. */

import { beforeEach, expect, test } from "bun:test";

import { replacementHandlers } from "#api/acme-replacements.ts";
import type { Principal } from "#core/access/principal.ts";
import { caId, defaultTenant, tenantId } from "#core/ids.ts";
import { ProfileSet } from "#core/policy/profiles.ts";
import { Replacements } from "#domain/acme/replacements.ts";
import { seededRandom } from "#test/support/ports.ts";
import { replacement } from "#test/support/stores/acme-records.ts";
import { openPipeline } from "#test/support/worlds/asking.ts";
import { type BindingWorld, bindingWorld } from "#test/support/worlds/binding.ts";
import { admin, asker, refusal, somebody } from "#test/support/worlds/governed-world.ts";

const webAuditor = somebody("erin", { default: ["auditor"] });
const labAdmin = somebody("dave", { lab: ["admin"] });
const mine = replacement({ id: "mine", caId: caId("i1"), tenant: defaultTenant });
const foreign = replacement({ id: "foreign", caId: caId("l1"), tenant: tenantId("lab") });

let world: BindingWorld;
let ask: ReturnType<typeof asker>;

beforeEach(async () => {
  world = await bindingWorld();
  await world.store.atomically(async (tx) => {
    for (const plan of [mine, foreign]) await tx.replacements.addReplacement(plan);
  });
  const { store, clock, current } = world;
  const rate = { known: async () => undefined };
  const replacements = new Replacements({
    store,
    clock,
    random: seededRandom(),
    rate,
    plans: { lookAgain: async () => {} },
  });
  const config = () => current as never; // Of which only `acme` is asked for.
  const profiles = () => new ProfileSet([]);
  ask = asker(
    openPipeline(world),
    replacementHandlers({ ...world, config, profiles, replacements }),
  );
});

const idsFor = async (who: Principal) =>
  (await ask("acme.replace.list", who)).items.map(({ id }: { id: string }) => id).sort();

test("each sees the plans of its own tenant, and whoever is in charge of all sees all", async () => {
  expect(await idsFor(webAuditor)).toEqual(["mine"]);
  expect(await idsFor(labAdmin)).toEqual(["foreign"]);
  expect(await idsFor(admin)).toEqual(["foreign", "mine"]);
});

test("a plan of another tenant looks as one that is not there", async () => {
  for (const id of ["foreign", "nowhere"]) {
    const path = { id };
    const shown = await refusal(ask("acme.replace.show", webAuditor, { path }));
    expect([id, shown.code]).toEqual([id, "not_found"]);
    const ended = await refusal(ask("acme.replace.cancel", webAuditor, { path }));
    expect([id, ended.code]).toEqual([id, "forbidden"]);
  }
  expect(await ask("acme.replace.show", labAdmin, { path: { id: "foreign" } })).toMatchObject({
    status: "running",
    total: 0,
  });
});

test("a plan is called off once", async () => {
  const path = { id: "foreign" };
  expect(await ask("acme.replace.cancel", labAdmin, { path })).toEqual({ status: "canceled" });
  expect(await ask("acme.replace.cancel", labAdmin, { path })).toEqual({ status: "already_over" });
});

test("while ACME is off there is nothing to plan, to see or to end", async () => {
  world.current.acme = { ...world.current.acme, enabled: false };
  for (const operation of [
    "acme.replace.list",
    "acme.replace.show",
    "acme.replace.cancel",
  ] as const) {
    const { code } = await refusal(ask(operation, admin, { path: { id: "mine" } }));
    expect([operation, code]).toEqual([operation, "feature_disabled"]);
  }
  const body = { all: true, within_seconds: 3600 };
  const planned = refusal(ask("acme.replace.plan", admin, { path: { id: "i1" }, body }));
  expect(await planned).toMatchObject({ code: "feature_disabled" });
});
