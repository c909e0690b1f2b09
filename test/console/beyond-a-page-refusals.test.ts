/** Lists of CAs of which a part cannot be had: what is shown and saved says that it is a part. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Locator, Page } from "playwright-core";

import { chromiumPath } from "#test/support/instances/browser.ts";
import {
  ConsoleWorld,
  expectStateAccessible,
  keepPicture,
} from "#test/support/instances/console-world.ts";
import { exportedBy, issueFor, type MadeCa, makeCaAt } from "#test/support/instances/listed-cas.ts";
import { expectSoon } from "#test/support/until.ts";

let world: ConsoleWorld;
let root: MadeCa;
let issuing: MadeCa;
let issued: { readonly serial: string };

beforeAll(async () => {
  if (chromiumPath === undefined) return;
  world = await ConsoleWorld.start();
  root = await make("/api/ca/init-root", "root");
  issuing = await make(`/api/ca/${root.id}/issue-intermediate`, "issuing");
  issued = await issue(issuing, "one.example.test");
  await issue(await make(`/api/ca/${root.id}/issue-intermediate`, "other"), "two.example.test");
}, 60_000);

afterAll(() => world?.stop());

const make = (path: string, label: string) => makeCaAt(world.instance, path, label);
const issue = (ca: MadeCa, name: string) => issueFor(world.instance, ca, name);

/** As where a page of CAs held two; of the second page there is none where it is `broken`. */
async function shortPages(page: Page, broken = false): Promise<void> {
  await page.route(/\/api\/ca\?/, async (route) => {
    const url = new URL(route.request().url());
    if (broken && url.searchParams.has("cursor")) return await route.fulfill(brokenAnswer);
    url.searchParams.set("limit", "2");
    await route.continue({ url: url.href });
  });
}

const dialog = (page: Page): Locator => page.getByRole("dialog");
const row = (page: Page, name: string): Locator => page.getByRole("row").filter({ hasText: name });

describe.skipIf(chromiumPath === undefined)("a part of many CAs in a browser", () => {
  test("an export says whose certificates it has not, in the name of the file too", async () => {
    const { page, complaints, close } = await world.root("/console/");
    await shortPages(page);
    await page.route(`**/api/ca/${issuing.id}/certificates?*`, (route) =>
      route.fulfill({ status: 403, json: { error: "You may not do this.", code: "forbidden" } }),
    );
    await page.goto(`${world.origin}/console/certificates?ca=*&dialog=export`);
    const { name, lines } = await exportedBy(page);
    expect(name).toBe("certificates-incomplete.csv");
    expect(lines.map((line) => line.split(",")[2])).toEqual(["two.example.test"]);
    await dialog(page)
      .getByText("The file has nothing of one CA, which refused it: issuing.")
      .waitFor();
    await dialog(page).getByText("1 of 1 rows read in 3 of 3 CAs").waitFor();
    await dialog(page).getByRole("alert").getByText("forbidden").waitFor();
    await expectStateAccessible(page);
    await keepPicture(page, "beyond-export");
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("an export that cannot list the rest of the CAs saves nothing", async () => {
    const { page, complaints, close } = await world.root("/console/");
    await shortPages(page, true);
    await page.goto(`${world.origin}/console/certificates?ca=*&dialog=export`);
    await dialog(page).getByRole("button", { name: "Save as CSV" }).click();
    await dialog(page).getByRole("alert").getByText("It broke.").waitFor();
    await dialog(page).getByText("in 2 of 3 CAs; nothing has been saved.").waitFor();
    await expectStateAccessible(page);
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("an export of more rows than a file holds says so, in the name of the file too", async () => {
    const { page, complaints, close } = await world.root("/console/");
    const one = await world.instance.admin(
      "GET",
      `/api/ca/${issuing.id}/certificates/${issued.serial}`,
    );
    await page.route(`**/api/ca/${issuing.id}/certificates?*`, async (route) => {
      const limit = Number(new URL(route.request().url()).searchParams.get("limit"));
      const items = Array.from({ length: limit }, () => one);
      const more = { next_cursor: "more", has_more: true };
      await route.fulfill({ json: { items, total: 12_000, ...more } });
    });
    const at = `/console/certificates?ca=${issuing.id}&status=good&q=one.example&dialog=export`;
    await page.goto(world.origin + at);
    const { name, lines } = await exportedBy(page);
    expect(name).toBe("issuing-certificates-incomplete.csv");
    expect(lines).toHaveLength(10_000);
    await dialog(page).getByText("10,000 of 10,000 rows read; the file has been saved.").waitFor();
    await dialog(page).getByText("The list has 12,000 rows, more than the file holds.").waitFor();
    // What the file would hold, and not whatever else the CA has.
    await dialog(page)
      .getByText("pkid cert list --ca issuing --status good --q one.example --csv --all")
      .waitFor();
    await expectStateAccessible(page);
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("a search that cannot list the rest of the CAs says so", async () => {
    const { page, complaints, close } = await world.root("/console/");
    await shortPages(page, true);
    await page.goto(`${world.origin}/console/certificates?q=nobody.example&looked=all`);
    await page.getByText("0 found in 2 of 3 CAs; the others could not be listed.").waitFor();
    await page.getByRole("alert").getByText("It broke.").waitFor();
    await expectSoon(() => page.getByText("No certificate here fits.").count(), 0);
    await expectStateAccessible(page);
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("an issuer of another page that may not be read is not in the tree, which says so", async () => {
    const { page, complaints, close } = await world.root("/console/");
    await shortPages(page);
    await page.goto(`${world.origin}/console/authorities`);
    await row(page, "root").getByText("· other page").waitFor();
    await expectSoon(() => page.getByText("its issuer is not in this list").count(), 0);
    await expectStateAccessible(page);
    await page.route(`**/api/ca/${root.id}`, (route) =>
      route.fulfill({ status: 404, json: { error: "No such thing.", code: "not_found" } }),
    );
    await page.reload();
    await row(page, "its issuer is not in this list").first().waitFor();
    await expectSoon(() => row(page, "root").count(), 0);
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);
});

const brokenAnswer = { status: 500, json: { error: "It broke.", code: "internal" } };
