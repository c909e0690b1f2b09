/** Every dialog of authorities and certificates by the keyboard: within it, seen, out by Esc. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";

import { chromiumPath } from "#test/support/instances/browser.ts";
import { expectDialog } from "#test/support/instances/focus.ts";
import { dialogsOfCas, inTabs, placesWorld } from "#test/support/instances/places.ts";

let world: Awaited<ReturnType<typeof placesWorld>>;

beforeAll(async () => {
  if (chromiumPath === undefined) return;
  world = await placesWorld();
}, 60_000);
afterAll(() => world?.shown.world.stop());

describe.skipIf(chromiumPath === undefined)("every dialog of authorities and certificates", () => {
  test("is accessible, holds the focus and shows it, and closes by Esc", async () => {
    const complaints = await inTabs(world.shown, dialogsOfCas(world.ids), expectDialog);
    expect(complaints).toEqual([]);
  }, 180_000);
});
