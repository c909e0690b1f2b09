/** What is typed stays: while a re-read fails, and when the session has ended. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";

import { chromiumPath } from "#test/support/instances/browser.ts";
import {
  ConsoleWorld,
  expectStateAccessible,
  rootPassword,
} from "#test/support/instances/console-world.ts";
import { makeCas } from "#test/support/instances/issue-page.ts";
import { csr } from "#test/support/worlds/issuance.ts";
import { expectSoon } from "#test/support/until.ts";

let world: ConsoleWorld;
let ca: string;

beforeAll(async () => {
  if (chromiumPath === undefined) return;
  world = await ConsoleWorld.start();
  ca = await makeCas(world);
}, 60_000);

afterAll(() => world?.stop());

/** As a page does that has changed something, and as the feed does. */
const reread = `dispatchEvent(new Event("pkid-changed"))`;

describe.skipIf(chromiumPath === undefined)("what is typed in the console", () => {
  test("stays while the CAs cannot be read again, which is said, and tried again", async () => {
    const { page, complaints, quiet, close } = await world.root(`/console/issue?ca=${ca}`);
    const names = page.getByLabel("Names");
    await names.fill("www.example.com");
    // The form stands before the choice of CAs has come, which can be read again only from then on.
    await quiet();
    await page.route(/\/api\/ca\?/, (route) => route.fulfill({ status: 503, json: {} }));
    await page.evaluate(reread);
    const notice = page.getByText("What is shown may be out of date");
    await notice.waitFor();
    await expectSoon(() => names.inputValue(), "www.example.com");
    await page.unroute(/\/api\/ca\?/);
    await page.getByRole("button", { name: "Try again" }).click();
    await notice.waitFor({ state: "detached" });
    await expectSoon(() => names.inputValue(), "www.example.com");
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("is joined by why the choice of CAs has none, where these never came", async () => {
    const { page, complaints, close } = await world.root("/console/");
    await page.route(/\/api\/ca\?/, (route) => route.fulfill({ status: 503, json: {} }));
    await page.goto(`${world.origin}/console/issue?ca=${ca}&profile=server`);
    const names = page.getByLabel("Names");
    await names.fill("www.example.com");
    const notice = page.getByText("Not all that belongs here could be read.");
    await notice.waitFor();
    await expectStateAccessible(page);
    await page.unroute(/\/api\/ca\?/);
    await page.getByRole("button", { name: "Try again" }).click();
    await notice.waitFor({ state: "detached" });
    const choice = page.getByLabel("Certificate authority");
    await choice.locator("option", { hasText: "example-root" }).waitFor({ state: "attached" });
    await expectSoon(() => names.inputValue(), "www.example.com");
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("stays in the dialog of a CA that does not answer, and goes with one that is gone", async () => {
    const address = `/console/authorities/${ca}?dialog=rotate`;
    const { page, complaints, close } = await world.root(address);
    const label = page.getByRole("dialog").getByLabel("Label");
    await label.fill("typed-label");
    await page.route(`**/api/ca/${ca}`, (route) => route.abort());
    await page.evaluate(reread);
    await page.getByText("What is shown may be out of date").waitFor();
    await expectSoon(() => label.inputValue(), "typed-label");
    await page.unroute(`**/api/ca/${ca}`);
    await page.route(`**/api/ca/${ca}`, (route) => route.fulfill({ status: 404, json: {} }));
    await page.evaluate(reread);
    await label.waitFor({ state: "detached" });
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("stays under the login that a lost session asks for, whatever key is pressed", async () => {
    const { page, complaints, close } = await world.root(`/console/issue?ca=${ca}`);
    const names = page.getByLabel("Names");
    await names.fill("www.example.com");
    await page.context().clearCookies();
    await page.evaluate(reread);
    const dialog = page.getByRole("dialog", { name: "Log in again" });
    await dialog.waitFor();
    await expectSoon(() => dialog.getByRole("button", { name: "Close" }).count(), 0);
    for (let pressed = 0; pressed < 3; pressed++) await page.keyboard.press("Escape");
    // Nobody leaves without having been asked.
    page.once("dialog", (asked) => asked.dismiss());
    await dialog.getByRole("button", { name: "Leave without logging in" }).click();
    await page.keyboard.press("Escape");
    await dialog.getByLabel("User name").fill("root");
    await dialog.getByLabel("Password", { exact: true }).fill(rootPassword);
    await dialog.getByRole("button", { name: "Log in" }).first().click();
    await dialog.waitFor({ state: "detached" });
    await expectSoon(() => names.inputValue(), "www.example.com");
    await page.getByText("It would be issued.").waitFor();
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("is looked at again after a login: figures move on", async () => {
    const { page, complaints, close } = await world.root("/console/authorities");
    const row = page.getByRole("row").filter({ hasText: "example-issuing" });
    const issued = (count: number) => row.getByRole("cell", { name: String(count), exact: true });
    const issue = async (name: string) =>
      world.instance.admin("POST", `/api/ca/${ca}/issue`, {
        csr: csr({ dns: [name], subject: [{ type: "CN", value: name }] }),
      });
    await issue("before.example.com");
    await issued(1).waitFor();
    await page.context().clearCookies();
    await page.evaluate(reread);
    const dialog = page.getByRole("dialog", { name: "Log in again" });
    await dialog.getByLabel("User name").fill("root");
    await dialog.getByLabel("Password", { exact: true }).fill(rootPassword);
    await dialog.getByRole("button", { name: "Log in" }).first().click();
    await dialog.waitFor({ state: "detached" });
    await page.getByRole("status").filter({ hasText: "live" }).waitFor();
    await issue("after.example.com");
    await issued(2).waitFor();
    expect(complaints).toEqual([]);
    await close();
  }, 45_000);
});
