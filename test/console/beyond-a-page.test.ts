/** An installation with more CAs than a page holds: everything is found, counted and exported. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import type { Locator, Page } from "playwright-core";

import { chromiumPath } from "#test/support/instances/browser.ts";
import {
  ConsoleWorld,
  expectStateAccessible,
  keepPicture,
} from "#test/support/instances/console-world.ts";
import { exportedBy, issueFor, type MadeCa, makeCaAt } from "#test/support/instances/listed-cas.ts";
import { savedBy } from "#test/support/instances/issue-page.ts";
import { expectSoon } from "#test/support/until.ts";

let world: ConsoleWorld;
let root: MadeCa;
/** The oldest but for its root: on no first page. */
let old: MadeCa;
/** Of the oldest and of the newest issuing CA. */
let deep: { readonly serial: string };

beforeAll(async () => {
  if (chromiumPath === undefined) return;
  world = await ConsoleWorld.start();
  root = await make("/api/ca/init-root", "old-root");
  old = await make(`/api/ca/${root.id}/issue-intermediate`, "old-issuing");
  deep = await issue(old, "deep.example.test");
  const below = `/api/ca/${root.id}/issue-intermediate`;
  const numbers = Array.from({ length: othersCount }, (_, at) => at);
  const work = async () => {
    for (let at = numbers.shift(); at !== undefined; at = numbers.shift()) {
      await make(below, `other-${at}`);
    }
  };
  await Promise.all(Array.from({ length: 8 }, work));
  await issue(await make("/api/ca/init-root", "new-root"), "new.example.test");
}, 300_000);

// Its jobs have all of these CAs to look after.
afterAll(() => world?.stop(), 60_000);

const make = (path: string, label: string) => makeCaAt(world.instance, path, label);
const issue = (ca: MadeCa, name: string) => issueFor(world.instance, ca, name);

const panel = (page: Page): Locator => page.getByRole("complementary");
const dialog = (page: Page): Locator => page.getByRole("dialog");
const row = (page: Page, name: string): Locator => page.getByRole("row").filter({ hasText: name });

describe.skipIf(chromiumPath === undefined)("more CAs than a page holds", () => {
  test("the panel of a certificate knows its CA and its whole chain, however old that is", async () => {
    const at = `/console/certificates/${old.id}/${deep.serial}`;
    const { page, complaints, close } = await world.root(at);
    await panel(page).getByRole("link", { name: "old-issuing" }).waitFor();
    await row(page, "deep.example.test").waitFor();
    const file = await savedBy({ page }, tmpdir(), () =>
      panel(page).getByRole("button", { name: "Chain", exact: true }).click(),
    );
    expect(readFileSync(file, "utf8").match(/BEGIN/g)).toHaveLength(2);
    await panel(page).getByRole("link", { name: "Chain" }).click();
    await panel(page).getByRole("listitem").filter({ hasText: "old-root" }).waitFor();
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("the filter of the certificates finds an old CA by name, and keeps it by label", async () => {
    const { page, complaints, close } = await world.root("/console/certificates");
    const choice = page.getByLabel("Certificate authority");
    await page.getByText("The newest 500 can be chosen; others are found by name.").waitFor();
    await page.getByLabel("Find a CA").fill("other-");
    await page
      .getByText(`${othersCount} found; the newest 500 of them are in the choice.`)
      .waitFor();
    await page.getByLabel("Find a CA").fill("old-iss");
    await page.getByText("1 found; they are in the choice.").waitFor();
    await choice.selectOption(old.id);
    await row(page, "deep.example.test").waitFor();
    await expectStateAccessible(page);
    await keepPicture(page, "beyond-filter");
    await page.goto(`${world.origin}/console/certificates?ca=old-issuing`);
    await row(page, "deep.example.test").waitFor();
    await expectSoon(() => choice.locator("option:checked").textContent(), "CA: old-issuing");
    await page.goto(`${world.origin}/console/certificates?ca=nobody`);
    await page.getByText("This address names no CA that you may see.").waitFor();
    await page.route(`**/api/ca/${old.id}`, (route) =>
      route.fulfill({ status: 500, json: { error: "It broke.", code: "internal" } }),
    );
    await page.goto(`${world.origin}/console/certificates?ca=${old.id}`);
    await page.getByRole("alert").getByText("It broke.").waitFor();
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("an export has the certificates of every CA", async () => {
    const at = "/console/certificates?ca=*&q=example.test&looked=1&dialog=export";
    const { page, complaints, close } = await world.root(at);
    const whole = await exportedBy(page);
    expect(whole.name).toBe("certificates.csv");
    expect(whole.lines.map((line) => line.split(",")[2])).toEqual([
      "new.example.test",
      "deep.example.test",
    ]);
    const all = casCount.toLocaleString("en");
    const said = `2 of 2 rows read in ${all} of ${all} CAs; the file has been saved.`;
    await dialog(page).getByText(said).waitFor();
    await expectStateAccessible(page);
    expect(complaints).toEqual([]);
    await close();
  }, 120_000);

  test("a search looks in so many CAs, says so, and goes on to all of them or is stopped", async () => {
    const { page, complaints, close } = await world.root("/console/certificates?q=deep.example");
    const all = casCount.toLocaleString("en");
    await page.getByText(`0 found in 200 of ${all} CAs, the newest.`).waitFor();
    await expectSoon(() => page.getByText("No certificate here fits.").count(), 0);
    await expectStateAccessible(page);
    await keepPicture(page, "beyond-search");
    // Held, so that it can be stopped.
    const held = Promise.withResolvers<void>();
    const certificates = /\/api\/ca\/[^/]+\/certificates\?/;
    await page.route(certificates, async (route) => {
      await held.promise;
      await route.continue();
    });
    await page.getByRole("button", { name: "Look in the others too" }).click();
    await page.getByText(`Looked in 200 of ${all} CAs…`).waitFor();
    await page.getByRole("button", { name: "Stop" }).click();
    held.resolve();
    await page.getByText(new RegExp(`0 found in 20\\d of ${all} CAs, the newest\\.`)).waitFor();
    await expectSoon(() => new URL(page.url()).searchParams.get("looked"), "200");
    await page.unroute(certificates);
    await page.getByRole("button", { name: "Look in the others too" }).click();
    await page.getByText(`1 found in ${all} CAs.`).waitFor({ timeout: 40_000 });
    await page.reload();
    await page.getByText(`1 found in ${all} CAs.`).waitFor({ timeout: 40_000 });
    await page.getByRole("link", { name: "deep.example.test" }).click();
    await panel(page).getByText("old-issuing").waitFor();
    await page.goto(`${world.origin}/console/certificates?q=old-issuing`);
    const own = page.getByRole("heading", { name: "Certificate authorities" });
    await own.waitFor();
    await page.goto(`${world.origin}/console/certificates?q=Example+other-&looked=5`);
    await page.getByRole("link", { name: `All ${othersCount} of this name` }).waitFor();
    expect(complaints).toEqual([]);
    await close();
  }, 120_000);

  test("what happens to a certificate that is shown has its own CA asked again, and no other", async () => {
    const at = `/console/certificates?q=example.test&looked=all`;
    const { page, complaints, close } = await world.root(at);
    const said = `2 found in ${casCount.toLocaleString("en")} CAs.`;
    await page.getByText(said).waitFor({ timeout: 40_000 });
    const asked: string[] = [];
    page.on("request", (request) => {
      const { pathname } = new URL(request.url());
      if (pathname.endsWith("/certificates")) asked.push(pathname);
    });
    const { serial } = deep;
    await world.instance.admin("POST", `/api/ca/${old.id}/revoke`, { serial });
    await row(page, "deep.example.test").getByText("revoked").waitFor();
    expect(asked).toEqual([`/api/ca/${old.id}/certificates`]);
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("each page of the tree has its CAs below their issuers, and says who is elsewhere", async () => {
    const { page, complaints, close } = await world.root("/console/authorities");
    const all = casCount.toLocaleString("en");
    const issuer = page.getByRole("row").filter({ hasText: "old-root" });
    await issuer.getByText("· other page").waitFor();
    await row(page, "other-500, level 2").waitFor();
    await expectSoon(() => page.getByText("its issuer is not in this list").count(), 0);
    await page.getByText(`1–500 of ${all}`).waitFor();
    await issuer.scrollIntoViewIfNeeded();
    await issuer.getByText("more below it").waitFor();
    await keepPicture(page, "beyond-tree");
    await page.getByRole("button", { name: "Next" }).click();
    await page.getByText(`501–${all} of ${all}`).waitFor();
    await row(page, "old-issuing").waitFor();
    await issuer.getByText("more below it").waitFor();
    await expectSoon(() => issuer.getByText("· other page").count(), 0);
    await page.getByRole("button", { name: "Back" }).click();
    await page.getByText(`1–500 of ${all}`).waitFor();
    await page.goto(`${world.origin}/console/authorities/${root.id}`);
    await page.getByText(`1–50 of ${othersCount + 1}`).waitFor();
    await page.getByRole("button", { name: "Next" }).click();
    await page.getByText(`51–100 of ${othersCount + 1}`).waitFor();
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("an old CA is found by its name to be cross-signed, and one that is not fit is not", async () => {
    const voucher = await make("/api/ca/init-root", "voucher");
    const { page, complaints, close } = await world.root(
      `/console/authorities/${voucher.id}?tab=cross&dialog=cross-sign`,
    );
    const subject = dialog(page).getByLabel("Subject");
    await dialog(page).getByLabel("Find a CA").fill("voucher");
    await dialog(page).getByText("1 found; they are in the choice.").waitFor();
    const itself = subject.locator("option", { hasText: "the issuer itself" });
    await expectSoon(() => itself.isDisabled(), true);
    await dialog(page).getByLabel("Find a CA").fill("old-root");
    await subject.locator("option", { hasText: "old-root (active" }).waitFor({ state: "attached" });
    await subject.selectOption(root.id);
    await expectStateAccessible(page);
    await dialog(page).getByRole("button", { name: "Cross-sign it" }).click();
    await dialog(page).getByText("voucher vouches for CN=Example old-root").waitFor();
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);
});

const othersCount = 505;
/** With the two roots and the issuing CA; the voucher is made last. */
const casCount = othersCount + 3;
