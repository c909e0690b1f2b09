/** More CAs than a list holds, and links that name CAs and profiles that cannot be used. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";

import { chromiumPath } from "#test/support/instances/browser.ts";
import { ConsoleWorld, expectStateAccessible } from "#test/support/instances/console-world.ts";
import { makeCas } from "#test/support/instances/issue-page.ts";
import { expectSoon } from "#test/support/until.ts";

let world: ConsoleWorld;
let ca: string;
let superseded: string;

beforeAll(async () => {
  if (chromiumPath === undefined) return;
  world = await ConsoleWorld.start();
  ca = await makeCas(world);
  superseded = await make(`/api/ca/${await makeRoot("above")}/issue-intermediate`, "turned");
  await world.instance.admin("POST", `/api/ca/${superseded}/rotate`, {});
}, 60_000);

afterAll(() => world?.stop());

const makeRoot = (label: string) => make("/api/ca/init-root", label);

async function make(path: string, label: string): Promise<string> {
  const members = { label, subject: { cn: label }, key_type: "ecdsa-p256" };
  return (await world.instance.admin<{ id: string }>("POST", path, members)).id;
}

/** As where there are so many newer CAs that this one is in no list; a search finds it. */
async function pushOut(page: Page, id: string): Promise<void> {
  await page.route(/\/api\/ca\?/, async (route) => {
    if (new URL(route.request().url()).searchParams.has("q")) return await route.continue();
    const response = await route.fetch();
    const { items, ...rest }: { readonly items: { readonly id: string }[] } = await response.json();
    const newer = items.filter((one) => one.id !== id);
    await route.fulfill({ response, json: { ...rest, items: newer, has_more: true } });
  });
}

const choice = (page: Page) => page.getByLabel("Certificate authority");
const chosen = (page: Page) => choice(page).locator("option:checked").textContent();
/** Waits for the label: the choice shows an id until the label of its CA is known. */
const expectLabel = (page: Page, label: string) => expectSoon(() => chosen(page), label);
const issueButton = (page: Page) => page.getByRole("button", { name: "Issue", exact: true });

describe.skipIf(chromiumPath === undefined)("choosing one of many CAs in the console", () => {
  test("a CA that somebody makes changes nothing of what would be issued", async () => {
    const newest = await makeRoot("newest-then");
    const { page, complaints, close } = await world.root("/console/issue");
    await page.getByLabel("Names").fill("www.example.com ");
    const { searchParams } = new URL(page.url());
    expect(searchParams.get("ca")).toBe(newest);
    expect(searchParams.get("profile")).toBe("server");
    await makeRoot("newest-now");
    await choice(page).locator("option", { hasText: "newest-now" }).waitFor({ state: "attached" });
    await expectLabel(page, "newest-then");
    await page.getByText("It would be issued.").waitFor();
    await issueButton(page).click();
    await page.getByRole("heading", { name: "www.example.com" }).waitFor();
    await expectSoon(() => page.url(), expect.stringContaining(`/issue/result/${newest}/`));
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("a link to a CA that cannot be used chooses none, says so, and sends nothing", async () => {
    const { page, complaints, close } = await world.root("/console/issue?ca=nobody&profile=client");
    await page.getByText("The CA “nobody”, which the address names, cannot be used.").waitFor();
    await page.getByRole("alert").getByText("not_found").waitFor();
    await page.getByRole("alert").getByTitle("Copy request id").waitFor();
    await expectSoon(() => chosen(page), "Choose a CA…");
    await expectSoon(() => issueButton(page).isDisabled(), true);
    await expectStateAccessible(page);
    await choice(page).selectOption(ca);
    await page.getByLabel("Names").fill("typed.example.com ");
    await page.getByText("It would be issued.").waitFor();
    await expectSoon(() => new URL(page.url()).searchParams.get("profile"), "client");
    await page.goto(`${world.origin}/console/issue?ca=${superseded}`);
    await page
      .getByRole("paragraph")
      .getByText("The CA “turned” is superseded and issues nothing.")
      .first()
      .waitFor();
    await expectSoon(() => chosen(page), "Choose a CA…");
    await page.getByLabel("Names").fill("typed.example.com ");
    await expectSoon(() => issueButton(page).isDisabled(), true);
    await choice(page).selectOption(ca);
    await page.getByText("It would be issued.").waitFor();
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("a link to no profile there is chooses none, and one by label chooses the CA", async () => {
    const at = "/console/issue?ca=example-issuing&profile=nothing";
    const { page, complaints, close } = await world.root(at);
    await page.getByText("There is no profile “nothing”. Choose another.").waitFor();
    const profile = page.getByLabel("Profile");
    await expectSoon(() => profile.locator("option:checked").textContent(), "Choose a profile…");
    await expectSoon(() => issueButton(page).isDisabled(), true);
    await profile.selectOption("client");
    await page.getByLabel("Names").fill("typed.example.com ");
    await page.getByText("It would be issued.").waitFor();
    await expectLabel(page, "example-issuing");
    const until = page.getByText(/^Expires/).locator("time");
    await expectSoon(
      () => until.getAttribute("title"),
      expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$/),
    );
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("a CA older than the newest 500 is shown where it is named, and found by its name", async () => {
    const { page, complaints, close } = await world.root("/console/");
    await pushOut(page, ca);
    for (const at of ["issue", "revoke", "people/grants"]) {
      await page.goto(`${world.origin}/console/${at}?ca=${ca}`);
      await choice(page)
        .locator("option", { hasText: "example-issuing" })
        .waitFor({ state: "attached" });
      await expectLabel(page, "example-issuing");
    }
    await page.goto(`${world.origin}/console/revoke`);
    await page.getByLabel("Find a CA").fill("example-iss");
    await page.getByText("1 found; they are in the choice.").waitFor();
    await expectStateAccessible(page);
    await choice(page).selectOption(ca);
    await page.getByRole("button", { name: "Look what that is" }).waitFor();
    await expectLabel(page, "example-issuing");
    await page.getByLabel("Find a CA").fill("nobody-at-all");
    await page.getByText("0 found; they are in the choice.").waitFor();
    await expectLabel(page, "example-issuing");
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("revoking many says why its CA cannot be had, with the request to ask about", async () => {
    const { page, close } = await world.root("/console/revoke?ca=nobody");
    await page.getByRole("alert").getByText("not_found").waitFor();
    await page.getByRole("alert").getByTitle("Copy request id").waitFor();
    await expectSoon(() => page.getByText("Choose the CA whose").count(), 0);
    await page.route(`**/api/ca/${ca}`, (route) =>
      route.fulfill({
        status: 500,
        json: { error: "It broke.", code: "internal", request_id: "req-of-this" },
      }),
    );
    await page.goto(`${world.origin}/console/revoke?ca=${ca}`);
    await page.getByRole("alert").getByText("It broke.").waitFor();
    await page.getByRole("alert").getByText("req-of-this").waitFor();
    await page.unroute(`**/api/ca/${ca}`);
    await page.reload();
    await page.getByRole("button", { name: "Look what that is" }).waitFor();
    await close();
  }, 60_000);
});
