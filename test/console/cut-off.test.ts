/** A browser that is cut off for a while: it says so at once, and goes on where it was. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";

import { chromiumPath } from "#test/support/instances/browser.ts";
import { ConsoleWorld, expectStateAccessible } from "#test/support/instances/console-world.ts";

let world: ConsoleWorld;

beforeAll(async () => {
  if (chromiumPath === undefined) return;
  world = await ConsoleWorld.start();
}, 60_000);
afterAll(() => world?.stop());

describe.skipIf(chromiumPath === undefined)("a browser that is cut off", () => {
  test("says so at once, and asks again by itself for what was not answered", async () => {
    const { page, close } = await world.root("/console/events");
    const state = (words: string) =>
      page.getByRole("status").filter({ hasText: words }).first().waitFor();
    const go = (name: string) => page.getByRole("link", { name, exact: true }).first().click();
    const event = page.getByRole("cell", { name: "auth.login" }).first();
    await state("live");
    await event.waitFor();
    await go("Authorities");
    await page.getByText("pkid ca init-root").first().waitFor();
    await page.context().setOffline(true);
    await state("connection lost");
    await go("Operations");
    await page.getByText("This page could not be loaded").waitFor();
    await expectStateAccessible(page);
    // A page that is there already can be gone back to.
    await go("Events");
    await page.getByText("The server does not answer.").first().waitFor();
    await page.getByRole("button", { name: "Try again" }).waitFor();
    await expectStateAccessible(page);
    await page.context().setOffline(false);
    await state("live");
    await event.waitFor();
    await page.getByText("The server does not answer.").first().waitFor({ state: "hidden" });
    await close();
  }, 60_000);

  test("loads a page whose file did not come when it is asked to, and the others meanwhile", async () => {
    const { page, complaints, close } = await world.root("/console/");
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    const file = /\/console\/assets\/.*\.js$/;
    await page.route(file, (route) => route.abort());
    await page.getByRole("link", { name: "People" }).first().click();
    await page.getByText("This page could not be loaded").waitFor();
    await page.getByRole("link", { name: "Overview" }).first().click();
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    await page.getByRole("link", { name: "People" }).first().click();
    await page.getByText("This page could not be loaded").waitFor();
    await page.unroute(file);
    await page.getByRole("button", { name: "Try again" }).click();
    await page.getByRole("heading", { name: "API tokens" }).waitFor();
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);
});
