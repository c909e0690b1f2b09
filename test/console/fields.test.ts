/** Faults stand at their field, once; a filter that is begun can be taken back. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";

import { chromiumPath } from "#test/support/instances/browser.ts";
import { ConsoleWorld } from "#test/support/instances/console-world.ts";
import { expectSoon } from "#test/support/until.ts";

let world: ConsoleWorld;

beforeAll(async () => {
  if (chromiumPath === undefined) return;
  world = await ConsoleWorld.start();
}, 60_000);

afterAll(() => world?.stop());

describe.skipIf(chromiumPath === undefined)("the fields of the console", () => {
  test("say what is wrong with them, and the box only that something is", async () => {
    const { page, complaints, close } = await world.root("/console/people/tokens?dialog=new");
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Name", { exact: true }).fill("x");
    const body = {
      error: "A member has a wrong type or value.",
      code: "bad_member",
      field: "name",
      reason: "must match ^y$",
    };
    await page.route("**/api/tokens", (route) => route.fulfill({ status: 400, json: body }));
    await dialog.getByRole("button", { name: "Make the token" }).click();
    const alert = dialog.getByRole("alert");
    await alert.waitFor();
    const said = await alert.textContent();
    expect(said).toContain("A member has a wrong type or value.");
    expect(said).not.toContain("match");
    await expectSoon(() => dialog.getByText("Must match ^y$.", { exact: true }).count(), 1);
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("of a filter are taken back by Esc and by the cross, which leave the panel", async () => {
    const { page, complaints, close } = await world.root("/console/events");
    await page.locator("a.row").first().click();
    await page.locator("aside.panel").waitFor();
    const kinds = page.getByLabel("Add a filter");
    await kinds.selectOption("result");
    await page.getByLabel("Result", { exact: true }).waitFor();
    await page.keyboard.press("Escape");
    await kinds.waitFor();
    expect(await page.evaluate("document.activeElement.ariaLabel")).toBe("Add a filter");
    await kinds.selectOption("actor");
    await page.getByRole("button", { name: "No filter by Who" }).click();
    await kinds.waitFor();
    await expectSoon(() => page.locator("aside.panel").count(), 1);
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);
});
