/** Every part of the other pages by the keyboard: the focus is seen everywhere. */

import { afterAll, beforeAll, describe, test } from "bun:test";

import { chromiumPath } from "#test/support/instances/browser.ts";
import { otherParts, placesWorld } from "#test/support/instances/places.ts";
import { expectParts } from "#test/support/instances/walk.ts";

let world: Awaited<ReturnType<typeof placesWorld>>;

beforeAll(async () => {
  if (chromiumPath === undefined) return;
  world = await placesWorld();
}, 60_000);
afterAll(() => world?.shown.world.stop());

describe.skipIf(chromiumPath === undefined)("the parts of the other pages", () => {
  test("show the focus at every stop, hold it nowhere, and lead to what is walked too", async () => {
    await expectParts(world, otherParts(world.ids));
  }, 180_000);
});
