/** Every part and dialog of the console, visited by the keyboard and checked with axe-core. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";

import { chromiumPath } from "#test/support/instances/browser.ts";
import {
  dialogsOfCas,
  otherDialogs,
  otherParts,
  partsOfCas,
  placesWorld,
} from "#test/support/instances/places.ts";
import { expectDialogs, expectParts, segmentOf } from "#test/support/instances/walk.ts";
import { pages } from "#web/routes.tsx";

let world: Awaited<ReturnType<typeof placesWorld>>;

beforeAll(async () => {
  if (chromiumPath === undefined) return;
  world = await placesWorld();
}, 60_000);
afterAll(() => world?.shown.world.stop());

describe.skipIf(chromiumPath === undefined)("the keyboard in the console", () => {
  test("each part of authorities and certificates shows the focus at every stop", async () => {
    await expectParts(world, partsOfCas(world.ids));
  }, 180_000);

  test("each part of the other pages shows the focus at every stop", async () => {
    await expectParts(world, otherParts(world.ids));
  }, 180_000);

  test("the tables of parts name a part of every page", () => {
    const paths = [...partsOfCas(world.ids), ...otherParts(world.ids)].map(({ path }) => path);
    const visited = new Set(paths.map(segmentOf));
    expect(pages.filter(({ segment }) => !visited.has(segment))).toEqual([]);
  });

  test("each dialog of authorities and certificates keeps the focus and closes by Esc", async () => {
    await expectDialogs(world.shown, dialogsOfCas(world.ids));
  }, 180_000);

  test("each dialog of the other pages keeps the focus and closes by Esc", async () => {
    await expectDialogs(world.shown, otherDialogs(world.ids));
  }, 180_000);
});
