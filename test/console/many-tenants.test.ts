/** More tenants than one page of the interface: those that no list has are found by a search. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";

import { chromiumPath } from "#test/support/instances/browser.ts";
import { ConsoleWorld, expectStateAccessible } from "#test/support/instances/console-world.ts";
import { focused } from "#test/support/instances/focus.ts";
import { expectSoon } from "#test/support/until.ts";

let world: ConsoleWorld;

beforeAll(async () => {
  if (chromiumPath === undefined) return;
  world = await ConsoleWorld.start();
  await world.instance.admin("POST", "/api/tenants", { slug: "first-of-all", name: "Oldest" });
  await world.instance.admin("POST", "/api/tenants", { slug: "tenant", name: "Bare" });
  for (let made = 0; made < 500; made++) {
    await world.instance.admin("POST", "/api/tenants", { slug: `tenant-${made}` });
  }
}, 120_000);
afterAll(() => world?.stop());

describe.skipIf(chromiumPath === undefined)("one of many tenants", () => {
  test("is found by the menu, whose key of a line goes to the first", async () => {
    const { page, complaints, close } = await world.root("/console/events");
    const menu = page.locator("details.menu");
    await menu.locator("summary").click();
    const search = menu.getByRole("searchbox", { name: "Find a tenant" });
    await expectSoon(() => focused(search), true);
    await menu.getByRole("status").getByText("The newest 500 are here").waitFor();
    // The choices stand below the search, as wide as it is.
    const [above, below] = [await search.boundingBox(), await menu.getByRole("list").boundingBox()];
    expect(below?.x).toBe(above?.x ?? 0);
    expect(below?.width).toBe(above?.width ?? 0);
    expect(below?.y).toBeGreaterThan(above?.y ?? 0);
    await expectSoon(() => menu.getByRole("link", { name: "Oldest" }).count(), 0);
    await search.fill("tenant-77");
    await menu.getByRole("status").getByText("1 found").waitFor();
    await page.keyboard.press("ArrowDown");
    await expectSoon(() => focused(menu.getByRole("link", { name: "tenant-77" })), true);
    await search.fill("OLDEST");
    await menu.getByRole("link", { name: "Oldest" }).waitFor();
    await expectStateAccessible(page);
    await search.press("Enter");
    await page.waitForURL("**/console/events?tenant=first-of-all");
    await menu.locator("summary").getByText("first-of-all").waitFor();
    await expectSoon(() => menu.getAttribute("open"), null);
    await page.reload();
    await menu.locator("summary").getByText("first-of-all").waitFor();
    expect(complaints).toEqual([]);
    await close();
  }, 45_000);

  test("is found by a key of a line that is faster than the answer", async () => {
    const { page, complaints, quiet, close } = await world.root("/console/events");
    await quiet();
    const menu = page.locator("details.menu");
    const search = menu.getByRole("searchbox", { name: "Find a tenant" });
    await menu.locator("summary").click();
    await search.fill("first-of-all");
    await search.press("Enter");
    await page.waitForURL("**/console/events?tenant=first-of-all");
    // Many are newer and have that in their slugs, so that its own is on no page of them.
    await menu.locator("summary").click();
    await search.fill("tenant");
    await search.press("Enter");
    await page.waitForURL("**/console/events?tenant=tenant");
    await menu.locator("summary").click();
    await search.fill("tenant-7");
    await menu.getByRole("status").getByText("11 found").waitFor();
    await search.press("Enter");
    await page.waitForURL("**/console/events?tenant=tenant-7");
    // A text that is changed meanwhile is no longer meant.
    const held = Promise.withResolvers<void>();
    await page.route(/\/api\/tenants\?.*q=/, async (route) => {
      await held.promise;
      await route.continue();
    });
    await menu.locator("summary").click();
    await search.fill("oldest");
    await search.press("Enter");
    await search.fill("tenant-9");
    held.resolve();
    await menu.getByRole("status").getByText("11 found").waitFor();
    await expectSoon(() => new URL(page.url()).searchParams.get("tenant"), "tenant-7");
    expect(complaints).toEqual([]);
    await close();
  }, 45_000);

  test("says where nothing is found", async () => {
    const { page, complaints, close } = await world.root("/console/events");
    const menu = page.locator("details.menu");
    await menu.locator("summary").click();
    const search = menu.getByRole("searchbox", { name: "Find a tenant" });
    await search.fill("no such tenant");
    await menu.getByRole("status").getByText("0 found").waitFor();
    await search.press("Enter");
    expect(await menu.getAttribute("open")).not.toBeNull();
    expect(complaints).toEqual([]);
    await close();
  }, 45_000);

  test("is found by the form of an API token, which has not guessed it", async () => {
    const { page, complaints, close } = await world.root("/console/people/tokens?dialog=new");
    const dialog = page.getByRole("dialog");
    await dialog.getByText("The newest 500 can be chosen").waitFor();
    await page.getByLabel("Name", { exact: true }).fill("far away");
    await expectSoon(() => page.getByLabel("Where").inputValue(), "");
    const search = dialog.getByRole("searchbox", { name: "Find a tenant" });
    await search.fill("tenant");
    await dialog.getByText("501 found; the newest 500 of them are in the choice.").waitFor();
    await search.fill("first-of");
    await dialog.getByText("1 found; they are in the choice.").waitFor();
    await page.getByLabel("Where").selectOption({ label: "Oldest" });
    await search.fill("");
    await expectStateAccessible(page);
    await expectSoon(
      () => page.getByLabel("Where").locator("option:checked").textContent(),
      "Oldest",
    );
    await page.getByRole("button", { name: "Make the token" }).click();
    await page.getByRole("button", { name: "I have kept it" }).click();
    const { id } = await world.instance.admin<{ id: string }>("GET", "/api/tenants/first-of-all");
    const { items } = await world.instance.admin<{ items: readonly object[] }>(
      "GET",
      "/api/tokens",
    );
    expect(items).toMatchObject([{ name: "far away", tenant_id: id }]);
    expect(complaints).toEqual([]);
    await close();
  }, 45_000);
});
