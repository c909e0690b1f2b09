/** The console without a mouse: from logging in to the event of a revocation, focus always seen. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Locator, Page } from "playwright-core";

import { chromiumPath } from "#test/support/instances/browser.ts";
import {
  ConsoleWorld,
  expectStateAccessible,
  expectTree,
  rootPassword,
} from "#test/support/instances/console-world.ts";
import { focused, stop, stopsMax } from "#test/support/instances/focus.ts";
import { makeCas } from "#test/support/instances/issue-page.ts";
import { pages } from "#web/routes.tsx";
import { expectSoon, until } from "#test/support/until.ts";

let world: ConsoleWorld;
let ca: string;

beforeAll(async () => {
  if (chromiumPath === undefined) return;
  world = await ConsoleWorld.start();
  ca = await makeCas(world);
}, 60_000);
afterAll(() => world?.stop());

describe.skipIf(chromiumPath === undefined)("the console by the keyboard", () => {
  test("logs in, issues with a key made in the page, revokes, and shows the event", async () => {
    const { page, complaints, close } = await world.stranger("/console/");
    const { keyboard } = page;
    await page.getByLabel("User name").waitFor();
    await expectStateAccessible(page);
    await expectTree(page, "sign-in");
    await tabTo(page, page.getByLabel("User name"));
    await keyboard.type("root");
    await tabTo(page, page.getByLabel("Password", { exact: true }));
    await keyboard.type(rootPassword);
    await keyboard.press("Enter");
    await page.getByRole("heading", { name: "Overview" }).waitFor();

    await go(page, "n");
    const choice = page.getByLabel("Certificate authority");
    await choice.waitFor();
    await tabTo(page, choice);
    await keyboard.type("example-issuing");
    await page.waitForURL((url) => url.searchParams.get("ca") === ca);
    await tabTo(page, page.getByLabel("Names"));
    await keyboard.type("keys.example.com ");
    await page.getByText("It would be issued.").waitFor();
    await tabTo(page, page.getByRole("button", { name: "Issue", exact: true }));
    await keyboard.press("Enter");
    await page.getByText("The key is in this tab alone").waitFor();

    await go(page, "i");
    const row = page.getByRole("link", { name: "keys.example.com" });
    await row.waitFor();
    await tabTo(page, row);
    await keyboard.press("Enter");
    const panel = page.getByRole("complementary");
    const revoke = panel.getByRole("link", { name: "Revoke" });
    await revoke.waitFor();
    await tabTo(page, revoke);
    await keyboard.press("Enter");
    const dialog = page.getByRole("dialog", { name: "Revoke keys.example.com" });
    await dialog.waitFor();
    await keyboard.type("Replaced");
    const confirm = dialog.getByRole("button", { name: "Revoke keys.example.com" });
    await tabTo(page, confirm);
    await keyboard.press("Enter");
    await dialog.waitFor({ state: "hidden" });
    await panel.getByText("revoked").first().waitFor();

    await go(page, "e");
    const event = page.getByRole("row", { name: /cert\.revoke/ }).getByRole("link");
    await event.waitFor();
    await tabTo(page, event);
    await keyboard.press("Enter");
    await panel.getByText("superseded").first().waitFor();
    await keyboard.press("Escape");
    await panel.waitFor({ state: "hidden" });
    await expectSoon(() => new URL(page.url()).pathname, "/console/events");
    expect(complaints).toEqual([]);
    await close();
  }, 120_000);

  test("has keys for the search, the pages, their list, and the way out", async () => {
    const { page, complaints, close } = await world.root("/console/");
    const { keyboard } = page;
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    // The page listens only after it is first rendered.
    await until(async () => {
      await keyboard.press("/");
      return await focused(page.locator("#search"));
    });
    // What is typed into a field is text.
    await keyboard.type("g?/");
    await expectSoon(() => page.locator("#search").inputValue(), "g?/");
    await keyboard.press("Escape");
    await keyboard.press("Escape");
    await expectSoon(() => focused(page.locator("#search")), false);
    for (const { key = "", segment } of pages) {
      await go(page, key);
      await page.waitForURL((url) => url.pathname.startsWith(`/console/${segment}`));
      await page.locator("h1").first().waitFor();
    }
    await keyboard.press("?");
    const help = page.getByRole("dialog", { name: "Keyboard" });
    await help.waitFor();
    await expectStateAccessible(page);
    await expectTree(page, "keyboard-help", "dialog");
    await keyboard.press("Escape");
    await help.waitFor({ state: "hidden" });
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);
});

async function go(page: Page, key: string): Promise<void> {
  // The page took the focus with it, or a field has it, where letters are text.
  await page.keyboard.press("Escape");
  await page.keyboard.press("g");
  await page.keyboard.press(key);
}

/** Presses Tab until the focus is there; it is seen at every stop on the way. */
async function tabTo(page: Page, there: Locator): Promise<void> {
  for (let stops = 0; stops < stopsMax; stops++) {
    if (await focused(there)) return;
    await page.keyboard.press("Tab");
    expect(["seen", "end"]).toContain(await stop(page));
  }
  throw new Error(`${there} is not reached by Tab`);
}
