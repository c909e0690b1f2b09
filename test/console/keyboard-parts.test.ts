/** Every part of authorities and certificates by the keyboard: the focus is seen everywhere. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";

import { chromiumPath } from "#test/support/instances/browser.ts";
import { otherParts, partsOfCas, placesWorld } from "#test/support/instances/places.ts";
import { expectParts, segmentOf } from "#test/support/instances/walk.ts";
import { pages } from "#web/routes.tsx";

let world: Awaited<ReturnType<typeof placesWorld>>;

beforeAll(async () => {
  if (chromiumPath === undefined) return;
  world = await placesWorld();
}, 60_000);
afterAll(() => world?.shown.world.stop());

describe.skipIf(chromiumPath === undefined)("the parts of authorities and certificates", () => {
  test("show the focus at every stop, hold it nowhere, and lead to what is walked too", async () => {
    await expectParts(world, partsOfCas(world.ids));
  }, 180_000);

  test("and those of the other pages are of all pages there are", () => {
    const paths = [...partsOfCas(world.ids), ...otherParts(world.ids)].map(({ path }) => path);
    const walked = new Set(paths.map(segmentOf));
    expect(pages.filter(({ segment }) => !walked.has(segment))).toEqual([]);
  });
});
