/** The searches beside a choice in a form: what their key of a line does, and what they say. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Locator, Page } from "playwright-core";

import { chromiumPath } from "#test/support/instances/browser.ts";
import { ConsoleWorld, expectStateAccessible } from "#test/support/instances/console-world.ts";
import { focused } from "#test/support/instances/focus.ts";
import { makeCas } from "#test/support/instances/issue-page.ts";
import { expectSoon } from "#test/support/until.ts";

let world: ConsoleWorld;
let ca: string;

beforeAll(async () => {
  if (chromiumPath === undefined) return;
  world = await ConsoleWorld.start();
  ca = await makeCas(world);
  // With more than eight there is a search.
  for (const slug of slugs) await world.instance.admin("POST", "/api/tenants", { slug });
}, 60_000);
afterAll(() => world?.stop());

const slugs = ["alpha", "beta", "betony", "c3", "d4", "e5", "f6", "g7", "h8", "i9"] as const;

interface Listed {
  readonly items: readonly { readonly label?: string; readonly name?: string }[];
}

const listed = async (path: string) => (await world.instance.admin<Listed>("GET", path)).items;

const dialog = (page: Page): Locator => page.getByRole("dialog");
const chosen = (choice: Locator) => choice.locator("option:checked").textContent();

/** As where there are more than a page has. */
async function asOfMany(page: Page, path: "ca" | "tenants"): Promise<void> {
  await page.route(new RegExp(`/api/${path}\\?`), async (route) => {
    if (new URL(route.request().url()).searchParams.has("q")) return await route.continue();
    const response = await route.fetch();
    const answer: object = await response.json();
    await route.fulfill({ response, json: { ...answer, has_more: true } });
  });
}

/** Holds what a search asks for until the promise that is given back is resolved. */
async function held(page: Page, path: "ca" | "tenants") {
  const gate = Promise.withResolvers<void>();
  await page.route(new RegExp(`/api/${path}\\?.*q=`), async (route) => {
    await gate.promise;
    await route.continue();
  });
  return gate;
}

describe.skipIf(chromiumPath === undefined)("a search beside a choice in the console", () => {
  test("sends no token by its key of a line, which chooses the only tenant that is found", async () => {
    const at = "/console/people/tokens?dialog=new&tenant=alpha";
    const { page, complaints, quiet, close } = await world.root(at);
    await quiet();
    await page.getByLabel("Name", { exact: true }).fill("for another");
    const search = dialog(page).getByRole("searchbox", { name: "Find a tenant" });
    await search.fill("bet");
    await search.press("Enter");
    await dialog(page).getByText("2 found; they are in the choice.").waitFor();
    await expectSoon(() => chosen(page.getByLabel("Where")), "alpha");
    await search.fill("beta");
    await search.press("Enter");
    await dialog(page).getByText("1 found; it is chosen.").waitFor();
    await expectStateAccessible(page);
    await search.press("Enter");
    await expectSoon(() => chosen(page.getByLabel("Where")), "beta");
    await expectSoon(() => focused(search), true);
    await quiet();
    expect(await listed("/api/tokens")).toEqual([]);
    // The button alone sends it.
    await page.getByRole("button", { name: "Make the token" }).click();
    await page.getByRole("button", { name: "I have kept it" }).click();
    const { id } = await world.instance.admin<{ id: string }>("GET", "/api/tenants/beta");
    expect(await listed("/api/tokens")).toMatchObject([{ name: "for another", tenant_id: id }]);
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("makes no root CA by its key of a line", async () => {
    const at = "/console/authorities?dialog=root&tenant=c3";
    const { page, complaints, quiet, close } = await world.root(at);
    await quiet();
    await dialog(page).getByLabel("Label", { exact: true }).fill("by-mistake");
    await dialog(page)
      .getByLabel(/Common name/i)
      .first()
      .fill("By Mistake");
    const search = dialog(page).getByRole("searchbox", { name: "Find a tenant" });
    await search.fill("nobody");
    await search.press("Enter");
    await dialog(page).getByText("0 found; they are in the choice.").waitFor();
    await quiet();
    await expectSoon(() => chosen(dialog(page).getByLabel("Tenant", { exact: true })), "c3");
    expect((await listed("/api/ca")).map(({ label }) => label)).not.toContain("by-mistake");
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("issues nothing by its key of a line, which chooses the only CA that is found", async () => {
    const { page, complaints, quiet, close } = await world.root("/console/");
    await asOfMany(page, "ca");
    await page.goto(`${world.origin}/console/issue?ca=${ca}&profile=server`);
    await page.getByLabel("Names").fill("enter.example.com ");
    await page.getByText("It would be issued.").waitFor();
    const search = page.getByRole("searchbox", { name: "Find a CA" });
    await search.fill("example");
    await search.press("Enter");
    await page.getByText("2 found; they are in the choice.").waitFor();
    await search.fill("example-iss");
    await page.getByText("1 found; it is chosen.").waitFor();
    await search.press("Enter");
    await quiet();
    await expectSoon(() => new URL(page.url()).pathname, "/console/issue");
    expect(await listed(`/api/ca/${ca}/certificates`)).toEqual([]);
    // What is taken away again leaves the focus where it is.
    await search.fill("");
    await page.getByText("The newest 500 can be chosen; others are found by name.").waitFor();
    await quiet();
    await expectSoon(() => focused(search), true);
    await page.goto(`${world.origin}/console/revoke`);
    await search.fill("example-iss");
    await page.getByText("1 found; they are in the choice.").waitFor();
    await search.press("Enter");
    await page.getByText("1 found; it is chosen.").waitFor();
    await expectSoon(() => chosen(page.getByLabel("Certificate authority")), "example-issuing");
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("says that it searches until the answer to this very text has come", async () => {
    const { page, complaints, close } = await world.root("/console/");
    await asOfMany(page, "ca");
    await asOfMany(page, "tenants");
    await page.goto(`${world.origin}/console/revoke`);
    const ofCas = page.getByRole("searchbox", { name: "Find a CA" });
    await ofCas.fill("example");
    await page.getByText("2 found; they are in the choice.").waitFor();
    const cas = await held(page, "ca");
    await ofCas.fill("example-iss");
    await page.getByText("Searching…").waitFor();
    await expectSoon(() => page.getByText("2 found").count(), 0);
    await ofCas.press("Enter");
    cas.resolve();
    await page.getByText("1 found; they are in the choice.").waitFor();
    await expectSoon(() => chosen(page.getByLabel("Certificate authority")), "Choose a CA…");
    await page.goto(`${world.origin}/console/people/tokens?dialog=new`);
    const ofTenants = dialog(page).getByRole("searchbox", { name: "Find a tenant" });
    await ofTenants.fill("bet");
    await dialog(page).getByText("2 found; they are in the choice.").waitFor();
    const tenants = await held(page, "tenants");
    await ofTenants.fill("beton");
    await dialog(page).getByText("Searching…").waitFor();
    await expectSoon(() => dialog(page).getByText("2 found").count(), 0);
    tenants.resolve();
    await dialog(page).getByText("1 found; they are in the choice.").waitFor();
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("says why it could not search, and chooses nothing", async () => {
    const { page, complaints, close } = await world.root("/console/");
    await asOfMany(page, "ca");
    await asOfMany(page, "tenants");
    const refusal = { status: 503, json: { error: "Too much to do.", code: "overloaded" } };
    await page.route(/\/api\/(ca|tenants)\?.*q=/, (route) => route.fulfill(refusal));
    await page.goto(`${world.origin}/console/revoke`);
    const ofCas = page.getByRole("searchbox", { name: "Find a CA" });
    await ofCas.fill("example-iss");
    await page.getByRole("status").getByText("Too much to do.").waitFor();
    await ofCas.press("Enter");
    await expectSoon(() => chosen(page.getByLabel("Certificate authority")), "Choose a CA…");
    await page.goto(`${world.origin}/console/people/tokens?dialog=new`);
    const ofTenants = dialog(page).getByRole("searchbox", { name: "Find a tenant" });
    await ofTenants.fill("beta");
    await dialog(page).getByRole("status").getByText("Too much to do.").waitFor();
    await ofTenants.press("Enter");
    await expectSoon(() => chosen(page.getByLabel("Where")), "Choose a tenant…");
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);
});
