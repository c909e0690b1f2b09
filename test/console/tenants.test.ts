/**
 * The choice of a tenant keeps the page and its filters, and what leads on keeps the tenant; what
 * is new gets the one that was chosen.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";

import { chromiumPath } from "#test/support/instances/browser.ts";
import { ConsoleWorld, expectStateAccessible } from "#test/support/instances/console-world.ts";
import { focused } from "#test/support/instances/focus.ts";
import { expectSoon } from "#test/support/until.ts";

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
    await expectSoon(() => menu.getAttribute("open"), null);
    await page.keyboard.press("g");
    await page.keyboard.press("c");
    await page.waitForURL("**/console/authorities?tenant=north");
    await page.getByRole("link", { name: "waiting for your approval" }).click();
    await page.waitForURL("**/console/approvals?decidable=true&tenant=north");
    await page.getByRole("link", { name: "pkid", exact: true }).click();
    await page.waitForURL("**/console/?tenant=north");
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("is closed by Esc and by whatever else is pressed, and moves by the arrows", async () => {
    const { page, complaints, close } = await world.root("/console/people/tenants/default");
    const panel = page.getByRole("complementary");
    await panel.waitFor();
    const menu = page.locator("details.menu");
    const summary = menu.locator("summary");
    await summary.focus();
    await page.keyboard.press("Enter");
    const choices = menu.getByRole("link");
    await menu.getByRole("link", { name: "south" }).waitFor();
    const [every, ...names] = await choices.allTextContents();
    expect(every).toBe("All tenants");
    expect(names).toEqual(names.toSorted((one, other) => one.localeCompare(other, "en")));
    await page.keyboard.press("Tab");
    await page.keyboard.press("ArrowDown");
    await expectSoon(() => focused(choices.nth(1)), true);
    await expectStateAccessible(page);
    await page.keyboard.press("Escape");
    await expectSoon(() => menu.getAttribute("open"), null);
    await expectSoon(() => focused(summary), true);
    // The panel beside the list is what the next Esc is for.
    await expectSoon(() => panel.isVisible(), true);
    await summary.click();
    await page.mouse.click(1000, 780);
    await expectSoon(() => menu.getAttribute("open"), null);
    await summary.click();
    await page.keyboard.press("Shift+Tab");
    await expectSoon(() => menu.getAttribute("open"), null);
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("has a tenant that is made while it is there, and no longer one that is deleted", async () => {
    const { page, complaints, close } = await world.root("/console/");
    await page.getByRole("status").filter({ hasText: "live" }).waitFor();
    const menu = page.locator("details.menu");
    await menu.locator("summary").click();
    await menu.getByRole("link", { name: "north" }).waitFor();
    await world.instance.admin("POST", "/api/tenants", { slug: "made-then" });
    await menu.getByRole("link", { name: "made-then" }).waitFor();
    await world.instance.admin("DELETE", "/api/tenants/made-then");
    await menu.getByRole("link", { name: "made-then" }).waitFor({ state: "detached" });
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);
});

describe.skipIf(chromiumPath === undefined)("the tenant of something new", () => {
  test("is chosen for an API token where there are several, and nothing goes without", async () => {
    const { page, complaints, close } = await world.root("/console/people/tokens?dialog=new");
    await page.getByLabel("Name", { exact: true }).fill("of the south");
    await page.getByText("There are several: choose the one it belongs to.").waitFor();
    await expectStateAccessible(page);
    const make = page.getByRole("button", { name: "Make the token" });
    await expectSoon(() => make.isDisabled(), true);
    await page.getByLabel("Name", { exact: true }).press("Enter");
    expect(await apiTokens()).toEqual([]);
    await page.getByLabel("Where").selectOption({ label: "south" });
    await make.click();
    await page.getByRole("button", { name: "I have kept it" }).click();
    await page.getByRole("complementary").getByText("south", { exact: true }).waitFor();
    expect(await apiTokens()).toEqual([await idOf("south")]);
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("has its own CA to issue from, and no run of another tenant goes on in it", async () => {
    const { instance } = world;
    const made: Record<string, string> = {};
    for (const slug of ["issues-one", "issues-two"]) {
      const tenant = await instance.admin<{ id: string }>("POST", "/api/tenants", { slug });
      const root = { label: `root-${slug}`, subject: { cn: slug }, key_type: "ecdsa-p256" };
      const init = { ...root, tenant_id: tenant.id };
      made[slug] = (await instance.admin<{ id: string }>("POST", "/api/ca/init-root", init)).id;
    }
    const { page, complaints, close } = await world.root("/console/issue?tenant=issues-one");
    const caIs = (id = "") => page.waitForURL((url) => url.searchParams.get("ca") === id);
    await caIs(made["issues-one"]);
    const choose = async (slug: string) => {
      await page.locator("details.menu summary").click();
      await page.locator("details.menu").getByRole("link", { name: slug }).click();
    };
    await choose("issues-two");
    await caIs(made["issues-two"]);
    const run = `ca=${made["issues-two"]}&profile=server&operation=run-1`;
    await page.goto(`${world.origin}/console/issue/many?tenant=issues-two&${run}`);
    await page.getByText("run-1").waitFor();
    await choose("issues-one");
    await caIs(made["issues-one"]);
    await expectSoon(() => new URL(page.url()).searchParams.has("operation"), false);
    await page.goto(`${world.origin}/console/issue/many?profile=server&operation=run-1`);
    await page.getByText("This address names a run and not its CA").waitFor();
    await expectSoon(() => new URL(page.url()).searchParams.has("ca"), false);
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("is that of the address, and every tenant only where it is chosen", async () => {
    const address = "/console/people/tokens?tenant=north&dialog=new";
    const { page, complaints, close } = await world.root(address);
    const where = page.getByLabel("Where");
    await where.locator("option:checked", { hasText: "north" }).waitFor({ state: "attached" });
    const everywhere = where.locator("option", { hasText: "Every tenant" });
    await expectSoon(() => everywhere.isDisabled(), false);
    await page.getByLabel("Name", { exact: true }).fill("of the north");
    await page.getByRole("button", { name: "Make the token" }).click();
    await page.getByRole("button", { name: "I have kept it" }).click();
    expect(await apiTokens()).toContain(await idOf("north"));
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("is the only one of whoever has a role in one alone, who makes none for all", async () => {
    const secret = await world.instance.token(["admin"], { tenant_id: "north", name: "admin" });
    const { page, complaints, close } = await world.bearer(
      secret,
      "/console/people/tokens?dialog=new",
    );
    const where = page.getByLabel("Where");
    await where.locator("option:checked", { hasText: "north" }).waitFor({ state: "attached" });
    await expectSoon(() => where.locator("option", { hasText: "Every tenant" }).isDisabled(), true);
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("is chosen for a root as well, which is not sent before", async () => {
    const { page, complaints, close } = await world.root("/console/authorities?dialog=root");
    const sent: string[] = [];
    page.on("request", (request) => sent.push(`${request.method()} ${request.url()}`));
    await page.getByLabel("Label", { exact: true }).fill("root-of-north");
    await page.getByLabel("Common name").fill("Root of the north");
    await page.getByRole("button", { name: "Create the root" }).click();
    const tenant = page.getByLabel("Tenant", { exact: true });
    await expectSoon(() => focused(tenant), true);
    expect(sent.filter((one) => one.startsWith("POST"))).toEqual([]);
    await tenant.selectOption({ label: "north" });
    await page.getByRole("button", { name: "Create the root" }).click();
    await page.getByText("root-of-north is made").waitFor();
    const { items } = await world.instance.admin<{ items: readonly { tenant_id: string }[] }>(
      "GET",
      "/api/ca?q=root-of-north",
    );
    expect(items.map(({ tenant_id }) => tenant_id)).toEqual([await idOf("north")]);
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);
});

/** The tenants of those that are there, newest first. */
async function apiTokens(): Promise<readonly string[]> {
  const { items } = await world.instance.admin<{ items: readonly { tenant_id: string }[] }>(
    "GET",
    "/api/tokens",
  );
  return items.map(({ tenant_id }) => tenant_id);
}

const idOf = async (slug: string): Promise<string> =>
  (await world.instance.admin<{ id: string }>("GET", `/api/tenants/${slug}`)).id;
