/** Nothing in the console is disabled in silence: what describes it says why. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";

import { chromiumPath } from "#test/support/instances/browser.ts";
import {
  dialogsOfCas,
  inTabs,
  otherDialogs,
  otherParts,
  partsOfCas,
  placesWorld,
} from "#test/support/instances/places.ts";
import { type DisabledControl, disabledIn, go } from "#test/support/instances/reasons.ts";

let world: Awaited<ReturnType<typeof placesWorld>>;

beforeAll(async () => {
  if (chromiumPath === undefined) return;
  world = await placesWorld();
}, 60_000);
afterAll(() => world?.shown.world.stop());

const everywhere = () => [
  ...partsOfCas(world.ids),
  ...otherParts(world.ids),
  ...dialogsOfCas(world.ids),
  ...otherDialogs(world.ids),
];

describe.skipIf(chromiumPath === undefined)("what is disabled in the console", () => {
  test("is described by its reason at every place, for whoever may do everything", async () => {
    const found: DisabledControl[] = [];
    const complaints = await inTabs(
      world.shown,
      everywhere(),
      async ({ page, quiet }, { path }) => {
        await quiet();
        found.push(...(await disabledAt(path, page)));
      },
    );
    expect(found.filter(({ reason }) => reason === "")).toEqual([]);
    expect(complaints).toEqual([]);
  }, 180_000);

  test("and for whoever may do nothing but read", async () => {
    const { instance } = world.shown.world;
    const reader = await instance.token(["auditor"], { scope: "platform" });
    const visit = await world.shown.world.bearer(reader, "/console/people");
    const { page, quiet, complaints, close } = visit;
    const found: DisabledControl[] = [];
    for (const { path, act } of everywhere()) {
      if (act !== undefined) continue;
      await go(page, path.slice("/console/".length));
      await quiet();
      found.push(...(await disabledAt(path, page)));
    }
    expect(found.filter(({ reason }) => reason === "")).toEqual([]);
    expect(complaints).toEqual([]);
    expect(found.length).toBeGreaterThan(20);
    await close();
  }, 180_000);
});

/** With the address, so that a failure says where. */
async function disabledAt(path: string, page: Page): Promise<readonly DisabledControl[]> {
  const found = await disabledIn(page);
  return found.map(({ control, reason }) => ({ control: `${path}: ${control}`, reason }));
}
