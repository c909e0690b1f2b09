/** The choice of a tenant keeps the page and its filters, and what leads on keeps the tenant. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";

import { chromiumPath } from "#test/support/instances/browser.ts";
import { ConsoleWorld } from "#test/support/instances/console-world.ts";

let world: ConsoleWorld;

beforeAll(async () => {
  if (chromiumPath === undefined) return;
  world = await ConsoleWorld.start();
  for (const slug of ["north", "south"]) {
    await world.instance.admin("POST", "/api/tenants", { slug, name: slug });
  }
}, 60_000);

afterAll(() => world?.stop());

describe.skipIf(chromiumPath === undefined)("the choice of a tenant", () => {
  test("stays on the page with its filters, closes, and goes along", async () => {
    const { page, complaints, close } = await world.root("/console/events?result=success");
    const menu = page.locator("details.menu");
    await menu.locator("summary").click();
    await menu.getByRole("link", { name: "north" }).click();
    await page.waitForURL("**/console/events?result=success&tenant=north");
    expect(await menu.getAttribute("open")).toBeNull();
    await page.keyboard.press("g");
    await page.keyboard.press("c");
    await page.waitForURL("**/console/authorities?tenant=north");
    await page.getByRole("link", { name: "waiting for approval" }).click();
    await page.waitForURL("**/console/approvals?tenant=north");
    await page.getByRole("link", { name: "pkid", exact: true }).click();
    await page.waitForURL("**/console/?tenant=north");
    expect(complaints).toEqual([]);
    await close();
  }, 30_000);
});
