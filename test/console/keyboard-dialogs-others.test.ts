/** Every dialog of the other pages by the keyboard: within it, seen, out by Esc. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";

import { chromiumPath } from "#test/support/instances/browser.ts";
import { expectDialog } from "#test/support/instances/focus.ts";
import { otherDialogs, inTabs, placesWorld } from "#test/support/instances/places.ts";

let world: Awaited<ReturnType<typeof placesWorld>>;

beforeAll(async () => {
  if (chromiumPath === undefined) return;
  world = await placesWorld();
}, 60_000);
afterAll(() => world?.shown.world.stop());

describe.skipIf(chromiumPath === undefined)("every dialog of the other pages", () => {
  test("is accessible, holds the focus and shows it, and closes by Esc", async () => {
    const complaints = await inTabs(world.shown, otherDialogs(world.ids), expectDialog);
    expect(complaints).toEqual([]);
  }, 180_000);
});
