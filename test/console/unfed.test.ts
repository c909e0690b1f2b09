/** Whoever may not read events: what is shown moves all the same, and a tab behind is quiet. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";

import { chromiumPath } from "#test/support/instances/browser.ts";
import { ConsoleWorld } from "#test/support/instances/console-world.ts";

let world: ConsoleWorld;

beforeAll(async () => {
  if (chromiumPath === undefined) return;
  world = await ConsoleWorld.start();
}, 60_000);

afterAll(() => world?.stop());

describe.skipIf(chromiumPath === undefined)("the console without the feed", () => {
  test("asks for lists and the bell again every 15 seconds, while it is seen", async () => {
    const secret = await world.instance.token(["approver"]);
    const visit = await world.stranger("/console/approvals");
    const { page, complaints, quiet, close } = visit;
    await page.clock.install();
    await page.reload();
    await page.getByText("Use an API token").click();
    await page.getByLabel("API token", { exact: true }).fill(secret);
    await page.getByRole("button", { name: "Log in" }).last().click();
    await page.getByRole("status").filter({ hasText: "not live" }).waitFor();
    await page.getByText("No request was ever made.").waitFor();
    await quiet();
    const list = page.waitForRequest(/approvals\?limit=50$/);
    const bell = page.waitForRequest(/approvals\?status=pending&limit=100$/);
    await page.clock.fastForward(15_000);
    await Promise.all([list, bell]);
    await quiet();
    const asked: string[] = [];
    page.on("request", (request) => asked.push(request.url()));
    await page.evaluate(
      `Object.defineProperty(document, "hidden", { value: true, writable: true })`,
    );
    await page.clock.fastForward(60_000);
    await quiet();
    expect(asked).toEqual([]);
    const seen = page.waitForRequest(/approvals\?limit=50$/);
    await page.evaluate(
      `document.hidden = false; document.dispatchEvent(new Event("visibilitychange"))`,
    );
    await seen;
    expect(complaints).toEqual([]);
    await close();
  }, 30_000);
});
