/** The focus goes back to where it was: after a refusal, and when a panel is closed. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";

import { chromiumPath } from "#test/support/instances/browser.ts";
import { ConsoleWorld } from "#test/support/instances/console-world.ts";
import { until } from "#test/support/until.ts";

let world: ConsoleWorld;

beforeAll(async () => {
  if (chromiumPath === undefined) return;
  world = await ConsoleWorld.start();
  for (let n = 0; n < 40; n++) await world.instance.token(["issuer"]);
}, 60_000);

afterAll(() => world?.stop());

const focused = (page: Page): Promise<unknown> =>
  page.evaluate("document.activeElement.textContent.trim()");

describe.skipIf(chromiumPath === undefined)("the focus in the console", () => {
  test("is on the button of a dialog that was refused", async () => {
    const { page, complaints, close } = await world.root("/console/people/tokens?dialog=new");
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Name", { exact: true }).fill("refused");
    await page.route("**/api/tokens", (route) =>
      route.fulfill({ status: 503, json: { error: "Not now.", code: "overloaded" } }),
    );
    await dialog.getByRole("button", { name: "Make the token" }).click();
    await dialog.getByText("Not now.").waitFor();
    await until(async () => (await focused(page)) === "Make the token");
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  for (const width of [1280, 360] as const) {
    test(`returns to the row whose panel is closed, at ${width} px`, async () => {
      const { page, complaints, close } = await world.root("/console/events", { width });
      const rows = page.locator("a.row");
      // By its number: events that come meanwhile move it down.
      const number = ((await rows.nth(30).textContent()) ?? "").trim();
      const row = rows.filter({ hasText: new RegExp(String.raw`^\s*${number}\s*$`) });
      await row.click();
      const panel = page.locator("aside.panel");
      await panel.waitFor();
      const title = await panel.getByRole("heading").first().boundingBox();
      expect(title?.y).toBeGreaterThanOrEqual(0);
      await page.keyboard.press("Escape");
      await panel.waitFor({ state: "detached" });
      await until(async () => (await focused(page)) === number);
      const top = (await row.boundingBox())?.y ?? -1;
      expect(top).toBeGreaterThanOrEqual(0);
      expect(top).toBeLessThan(800);
      await row.click();
      await panel.getByRole("link", { name: "Close the panel" }).click();
      await until(async () => (await focused(page)) === number);
      expect(complaints).toEqual([]);
      await close();
    }, 60_000);
  }
});
