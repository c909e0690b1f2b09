/** Documentation in the console: the manual with this instance's addresses, and every operation. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import fc from "fast-check";

import { chromiumPath } from "#test/support/instances/browser.ts";
import {
  ConsoleWorld,
  expectAccessible,
  expectTree,
  keepPicture,
} from "#test/support/instances/console-world.ts";
import { operationsIn } from "#web/pages/documentation/openapi.ts";

let world: ConsoleWorld;

beforeAll(async () => {
  if (chromiumPath === undefined) return;
  world = await ConsoleWorld.start();
}, 60_000);
afterAll(() => world?.stop());

test("any JSON is read as a description, and what is none of one is passed over", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(Array.isArray(operationsIn(value))).toBe(true);
      expect(Array.isArray(operationsIn({ paths: { "/a": value } }))).toBe(true);
      expect(Array.isArray(operationsIn({ paths: { "/a": { get: value } } }))).toBe(true);
    }),
  );
});

describe.skipIf(chromiumPath === undefined)("documentation in the console", () => {
  test("shows the manual, chapter by chapter, and finds words in it", async () => {
    const { page, complaints, close } = await world.root("/console/manual/chapters/backup");
    await page.getByRole("heading", { level: 1 }).waitFor();
    await expectAccessible(page);
    await keepPicture(page, "documentation-manual");
    await page.getByLabel("Search the manual").fill("drill");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "“drill” in the manual" }).waitFor();
    await expectAccessible(page);
    await page.getByLabel("Search the manual").fill("no such words anywhere");
    await page.keyboard.press("Enter");
    await page.getByText("The manual does not say that anywhere.").waitFor();
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("describes every operation, and asks one as who one is", async () => {
    const { page, complaints, close } = await world.root("/console/manual/interface/auth.me");
    await page.getByRole("button", { name: "GET it" }).click();
    await page.getByText('"is_root": true').waitFor();
    await expectTree(page, "documentation-operation", "article");
    await expectAccessible(page);
    await page.getByLabel("Operations that contain").fill("tenants");
    await page.getByRole("link", { name: "POST /api/tenants", exact: true }).click();
    await page.getByText("may change it").waitFor();
    await page.getByLabel("Body, JSON").fill('{"slug":"tried"}');
    await page.getByRole("button", { name: "POST it" }).click();
    await page.getByText('"slug": "tried"').waitFor();
    await page.getByLabel("Body, JSON").fill('{"slug":');
    await page.getByRole("button", { name: "POST it" }).click();
    await page.getByRole("status").getByText("malformed_json").waitFor();
    await expectAccessible(page);
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);
});
