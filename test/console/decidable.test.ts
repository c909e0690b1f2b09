/** What waits for the caller's decision: counted by the server, however much it is, and listed. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";

import { chromiumPath } from "#test/support/instances/browser.ts";
import {
  ConsoleWorld,
  expectStateAccessible,
  keepPicture,
} from "#test/support/instances/console-world.ts";
import { shareSecondPerson } from "#test/support/instances/second-person.ts";
import { expectSoon } from "#test/support/until.ts";

const second = shareSecondPerson();
let world: ConsoleWorld;

beforeAll(async () => {
  if (chromiumPath === undefined) return;
  world = await ConsoleWorld.start({
    auth: second.auth,
    approvals: {
      enabled: true,
      thresholds: { "ca.create": 1, "token.create": 1 },
      operators: { "ca.create": ["root"], "token.create": ["somebody-else"] },
    },
  });
  // Root is another person, and no operator of this class.
  await second.send(world.instance, "POST", "/api/tokens", {
    name: "not-for-root",
    roles: ["admin"],
    scope: "platform",
  });
}, 60_000);
afterAll(() => world?.stop());

const bell = (page: Page, count: string) =>
  page.getByRole("link", { name: `${count} waiting for your approval`, exact: true });
const sideBar = (page: Page) => page.getByRole("navigation", { name: "Pages", exact: true });
const dataRows = (page: Page) => page.getByRole("main").locator("tbody tr");

describe.skipIf(chromiumPath === undefined)("what waits for a decision", () => {
  test("is nothing for who is no operator of its class, who sees it among all", async () => {
    const { page, complaints, quiet, close } = await world.root("/console/");
    await page.getByText(/^Needs you$/).waitFor();
    await quiet();
    await bell(page, "0").waitFor();
    await sideBar(page).getByRole("link", { name: "Approvals", exact: true }).waitFor();
    await expectSoon(() => page.getByText(/waits? for your approval\./).count(), 0);
    await bell(page, "0").click();
    await page.getByText("Nothing waits for your decision.").waitFor();
    await expectStateAccessible(page);
    await keepPicture(page, "approvals-nothing-to-decide");
    await page.getByRole("link", { name: "Show all requests" }).click();
    await page.getByRole("link", { name: /not-for-root/ }).click();
    const others = "The configuration names others to decide on token.create.";
    const panel = page.getByRole("complementary");
    for (const name of ["Approve", "Reject"]) {
      await panel.getByRole("button", { name, exact: true, disabled: true }).waitFor();
      const request = page.url();
      await page.goto(`${request}?dialog=${name.toLowerCase()}`);
      await page.getByLabel("Comment").fill("as agreed");
      await page.getByRole("dialog").getByText(others).waitFor();
      await page.getByRole("dialog").getByRole("button", { name, disabled: true }).waitFor();
      await expectStateAccessible(page);
      await page.goto(request);
    }
    await panel.getByText(others).first().waitFor();
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("is told to who has no right to decide, with what it needs", async () => {
    const answer = await world.instance.admin<{ secret: string }>("POST", "/api/tokens", {
      name: "reader",
      roles: ["auditor"],
      scope: "tenant",
    });
    const path = "/console/approvals?decidable=true";
    const { page, complaints, close } = await world.bearer(answer.secret, path);
    await page.getByText("Nothing waits for your decision.").waitFor();
    await page.getByText("Needs approval:approve.").waitFor();
    await bell(page, "0").waitFor();
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("is counted in whole beyond a page, and walked page by page", async () => {
    for (let at = 0; at < 105; at++) {
      const label = `root-${at}`;
      const body = { label, subject: { cn: label }, key_type: "ecdsa-p256" };
      await second.send(world.instance, "POST", "/api/ca/init-root", body);
    }
    const { page, complaints, close } = await world.root("/console/");
    await bell(page, "105").waitFor();
    await sideBar(page).getByRole("link", { name: "Approvals 105 pending", exact: true }).waitFor();
    await page.getByRole("link", { name: "105 wait for your approval." }).click();
    await page.getByText("1–50 of 105").waitFor();
    await expectStateAccessible(page);
    await keepPicture(page, "approvals-inbox");
    const next = page.getByRole("button", { name: "Next" });
    const late = Promise.withResolvers<void>();
    await page.route(/\/api\/approvals\?.*cursor=/, async (route) => {
      await late.promise;
      await route.continue();
    });
    await next.click();
    await page.waitForURL((url) => url.searchParams.get("page") === "2");
    // A second click while the page is awaited leads no further, and the rows keep their numbers.
    await next.click();
    expect(await page.getByText("1–50 of 105").count()).toBe(1);
    late.resolve();
    await page.getByText("51–100 of 105").waitFor();
    await next.click();
    await page.getByText("101–105 of 105").waitFor();
    await expectSoon(() => dataRows(page).count(), 5);
    await expectSoon(() => page.getByText("not-for-root").count(), 0);
    await dataRows(page).last().getByRole("link").click();
    const panel = page.getByRole("complementary");
    await panel.getByRole("link", { name: "Reject" }).click();
    await page.getByLabel("Comment").fill("not needed");
    await page.getByRole("button", { name: "Reject the request" }).click();
    await bell(page, "104").waitFor();
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);
});
