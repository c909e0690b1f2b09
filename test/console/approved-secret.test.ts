/** The secret of an API token that takes two: its maker is led to it, and gets it exactly once. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";

import { chromiumPath } from "#test/support/instances/browser.ts";
import { ConsoleWorld, expectStateAccessible } from "#test/support/instances/console-world.ts";
import { shareSecondPerson } from "#test/support/instances/second-person.ts";
import { expectSoon } from "#test/support/until.ts";
import { copyText } from "#test/support/instances/issue-page.ts";

const second = shareSecondPerson();
let world: ConsoleWorld;
/** API token of the second person, which reads requests. */
let other: string;

beforeAll(async () => {
  if (chromiumPath === undefined) return;
  world = await ConsoleWorld.start({
    auth: second.auth,
    approvals: { enabled: true, thresholds: { "token.create": 1 } },
  });
  // One that only reads within a tenant takes nobody else.
  other = await second.createToken(world.instance, ["auditor"]);
}, 60_000);
afterAll(() => world?.stop());

/** Asks for one in the console and gives the request's id. */
async function ask(page: Page, name: string): Promise<string> {
  await page.getByRole("link", { name: "New API token" }).first().click();
  await page.getByLabel("Name", { exact: true }).fill(name);
  await page.getByText("This takes two").waitFor();
  await page.getByRole("button", { name: "Make the token" }).click();
  await page.getByText("lead you to its secret").waitFor();
  await expectSoon(() => page.getByRole("button", { name: "Make the token" }).isDisabled(), true);
  await page.getByRole("link", { name: "Open the request" }).click();
  await page.getByText("0 of 1 approvals").waitFor();
  return String(new URL(page.url()).pathname.split("/").pop());
}

const approve = (id: string) => second.approve(world.instance, id);
const show = (page: Page) => page.getByRole("button", { name: "Show the secret, once" });

async function expectWorks(page: Page): Promise<void> {
  const secret = await copyText(page.getByTitle("Copy secret"));
  expect(secret).toMatch(/^pki_pat_/);
  const headers = { authorization: `Token ${secret}` };
  expect((await world.instance.fetch("/api/me", { headers })).status).toBe(200);
}

describe.skipIf(chromiumPath === undefined)("the secret of an approved API token", () => {
  test("is shown to its maker in the request, once, as soon as it is approved", async () => {
    const { page, complaints, close } = await world.root("/console/people/tokens");
    const id = await ask(page, "led to");
    await expectSoon(() => show(page).count(), 0);
    await approve(id);
    await page.getByRole("status").filter({ hasText: "Its secret waits for you" }).waitFor();
    await expectStateAccessible(page);
    await show(page).click();
    await expectWorks(page);
    await page.getByRole("button", { name: "I have kept it" }).click();
    await page.getByRole("complementary").getByRole("heading", { name: "led to" }).waitFor();
    await page.goto(`${world.origin}/console/approvals/${id}`);
    await page.getByText("Its secret was shown to its maker, once").waitFor();
    await expectSoon(() => show(page).count(), 0);
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("is found from the tokens and from one's own requests", async () => {
    const { page, complaints, close } = await world.root("/console/people/tokens");
    const id = await ask(page, "found again");
    await page.goto(`${world.origin}/console/people/tokens`);
    await approve(id);
    const lead = page.getByRole("link", { name: "Fetch the secret of found again" });
    await lead.waitFor();
    await expectStateAccessible(page);
    await page.goto(`${world.origin}/console/approvals?mine=true`);
    await page
      .getByRole("row", { name: /found again.*its secret waits for you/ })
      .getByRole("link")
      .click();
    await show(page).waitFor();
    await page.goto(`${world.origin}/console/people/tokens`);
    await lead.click();
    await show(page).click();
    await expectWorks(page);
    await page.getByRole("button", { name: "I have kept it" }).click();
    await lead.waitFor({ state: "detached" });
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("is refused the second time, and nothing is asked for anew", async () => {
    const first = await world.root("/console/people/tokens");
    const id = await ask(first.page, "once alone");
    await approve(id);
    const second = await world.root(`/console/approvals/${id}`);
    await Promise.all([first, second].map(({ page }) => show(page).waitFor()));
    // The second tab does not learn of it before it asks.
    await second.page.route(/\/api\/approvals/, (route) => route.abort());
    await show(first.page).click();
    await expectWorks(first.page);
    await show(second.page).click();
    await second.page.getByRole("alert").getByText("secret_already_shown").waitFor();
    await expectSoon(() => second.page.getByTitle("Copy secret").count(), 0);
    const { items } = await world.instance.admin<{ items: readonly { status: string }[] }>(
      "GET",
      "/api/approvals?status=pending",
    );
    expect(items).toEqual([]);
    expect([...first.complaints, ...second.complaints]).toEqual([]);
    await Promise.all([first.close(), second.close()]);
  }, 60_000);

  test("waits for its maker, as everybody else reads", async () => {
    const maker = await world.root("/console/people/tokens");
    const id = await ask(maker.page, "of somebody else");
    await approve(id);
    const { page, complaints, close } = await world.bearer(other, `/console/approvals/${id}`);
    await page.getByText("shown to nobody else").waitFor();
    await expectSoon(() => show(page).count(), 0);
    await expectStateAccessible(page);
    expect(complaints).toEqual([]);
    await Promise.all([maker.close(), close()]);
  }, 60_000);
});
