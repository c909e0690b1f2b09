/** Secrets that nobody can show again: kept by saying so, and lost by nothing else in silence. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";

import { chromiumPath } from "#test/support/instances/browser.ts";
import {
  ConsoleWorld,
  expectStateAccessible,
  rootPassword,
} from "#test/support/instances/console-world.ts";
import { copyText, makeCas } from "#test/support/instances/issue-page.ts";
import { expectSoon } from "#test/support/until.ts";

let world: ConsoleWorld;

beforeAll(async () => {
  if (chromiumPath === undefined) return;
  world = await ConsoleWorld.start({
    acme: { enabled: true, ca_label: "example-issuing", base_url: "https://pki.example" },
  });
  await makeCas(world);
}, 60_000);
afterAll(() => world?.stop());

const shown = (page: Page) => page.getByRole("dialog", { name: /, this once$/ });
const kept = (page: Page) => page.getByRole("button", { name: "I have kept it" });

async function makeToken(page: Page, name: string): Promise<void> {
  await page.getByRole("link", { name: "New API token" }).first().click();
  await page.getByLabel("Name", { exact: true }).fill(name);
  await page.getByRole("button", { name: "Make the token" }).click();
}

/** As a page does that has changed something, and as the feed does. */
const reread = `dispatchEvent(new Event("pkid-changed"))`;

/** Has the session end, and gives the dialog that says so. */
async function loseSession(page: Page) {
  await page.context().clearCookies();
  await page.evaluate(reread);
  const again = page.getByRole("dialog", { name: "Log in again" });
  await again.waitFor();
  return again;
}

/** Somebody who has a token logs in over the page, and answers what the browser asks. */
async function comeAs(page: Page, secret: string, goOn: boolean): Promise<string> {
  const again = page.getByRole("dialog", { name: "Log in again" });
  if (!(await again.getByLabel("API token", { exact: true }).isVisible())) {
    await again.getByText("Use an API token").click();
  }
  await again.getByLabel("API token", { exact: true }).fill(secret);
  const question = page.waitForEvent("dialog");
  const pressed = again.getByRole("button", { name: "Log in" }).last().click();
  const asked = await question;
  await (goOn ? asked.accept() : asked.dismiss());
  await pressed;
  return asked.message();
}

/** Everything that closes other dialogs. */
async function tryToLose(page: Page): Promise<void> {
  for (const key of ["Escape", "Escape", "Escape"]) await page.keyboard.press(key);
  await page.mouse.click(5, 5);
  await expectSoon(() => shown(page).getByRole("button", { name: "Close" }).count(), 0);
  await page.evaluate("history.back()");
  await page.waitForURL((url) => !url.searchParams.has("dialog"));
}

/** Keeps from the page that its token is made, until the function that is given back is called. */
async function held(page: Page): Promise<() => void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  await page.route(/\/api\/tokens$/, async (route) => {
    const response = await route.fetch();
    await promise;
    await route.fulfill({ response });
  });
  return resolve;
}

describe.skipIf(chromiumPath === undefined)("a secret that is shown once", () => {
  test("stays over Esc, a press beside it and the way back, until it is said to be kept", async () => {
    const { page, complaints, close } = await world.root("/console/people/tokens");
    await makeToken(page, "stays");
    await shown(page).waitFor();
    await expectStateAccessible(page);
    const secret = String(await page.getByTitle("Copy secret").textContent());
    await tryToLose(page);
    await expectSoon(() => page.getByTitle("Copy secret").textContent(), secret);
    await kept(page).click();
    await page.getByRole("complementary").getByRole("heading", { name: "stays" }).waitFor();
    expect(await page.content()).not.toContain(secret.slice(0, 40));
    expect(complaints).toEqual([]);
    await close();
  }, 45_000);

  test("is the same for the key of an ACME credential", async () => {
    const { page, complaints, close } = await world.root("/console/enrolment/credentials");
    await page.getByRole("link", { name: "New credential" }).first().click();
    await page.getByLabel("Name", { exact: true }).fill("farm");
    await page.getByLabel("DNS names below").fill("example.com");
    await page.getByRole("button", { name: "Make the credential" }).click();
    await shown(page).waitFor();
    await expectStateAccessible(page);
    await tryToLose(page);
    const key = await copyText(page.getByTitle("Copy key", { exact: true }));
    expect(key).toMatch(/^[\w-]{43}$/);
    await kept(page).click();
    await page.getByRole("complementary").getByRole("heading", { name: "farm" }).waitFor();
    expect(complaints).toEqual([]);
    await close();
  }, 45_000);

  test("has the browser ask before a reload takes it, and not once it is kept", async () => {
    const { page, complaints, close } = await world.root("/console/people/tokens");
    await makeToken(page, "reloaded");
    await shown(page).waitFor();
    const asked: string[] = [];
    page.on("dialog", (dialog) => {
      asked.push(dialog.type());
      void dialog.dismiss();
    });
    const question = page.waitForEvent("dialog");
    // A reload that is refused never ends, so nobody waits for it.
    void page.evaluate("setTimeout(() => location.reload())");
    await question;
    await page.getByTitle("Copy secret").waitFor();
    await kept(page).click();
    await page.getByRole("complementary").getByRole("heading", { name: "reloaded" }).waitFor();
    await page.reload();
    await page.getByRole("complementary").getByRole("heading", { name: "reloaded" }).waitFor();
    expect(asked).toEqual(["beforeunload"]);
    expect(complaints).toEqual([]);
    await close();
  }, 45_000);

  test("comes also to whoever has closed the form while it was made", async () => {
    const { page, complaints, close } = await world.root("/console/people/tokens");
    const answer = await held(page);
    await makeToken(page, "late");
    await page.getByRole("button", { name: "Working…" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByLabel("Name", { exact: true }).waitFor({ state: "detached" });
    answer();
    await expectSoon(
      () => shown(page).getByTitle("Copy name").textContent(),
      expect.stringContaining("late"),
    );
    await kept(page).click();
    expect(complaints).toEqual([]);
    await close();
  }, 45_000);

  test("leads nowhere from another page, where something may be typed meanwhile", async () => {
    const { page, complaints, close } = await world.root("/console/people/tokens");
    const answer = await held(page);
    await makeToken(page, "gone on");
    await page.getByRole("button", { name: "Working…" }).waitFor();
    await page.keyboard.press("Escape");
    const pages = page.getByRole("navigation", { name: "Pages", exact: true });
    await pages.getByRole("link", { name: "Issue" }).click();
    const names = page.getByLabel("Names");
    await names.fill("typed.example.com");
    answer();
    await kept(page).click();
    await shown(page).waitFor({ state: "detached" });
    await expectSoon(() => names.inputValue(), "typed.example.com");
    await expectSoon(() => page.url(), expect.stringContaining("/console/issue"));
    expect(complaints).toEqual([]);
    await close();
  }, 45_000);

  test("leaves a form that is opened again meanwhile open, with what is typed in it", async () => {
    const { page, complaints, close } = await world.root("/console/people/tokens");
    const answer = await held(page);
    await makeToken(page, "first of two");
    await page.getByRole("button", { name: "Working…" }).waitFor();
    await page.keyboard.press("Escape");
    const name = page.getByLabel("Name", { exact: true });
    await name.waitFor({ state: "detached" });
    await page.getByRole("link", { name: "New API token" }).first().click();
    await name.fill("second of two");
    answer();
    await page.getByTitle("Copy name").getByText("first of two").waitFor();
    await kept(page).click();
    await shown(page).waitFor({ state: "detached" });
    await expectSoon(() => name.inputValue(), "second of two");
    await page.getByRole("button", { name: "Make the token" }).click();
    await page.getByTitle("Copy name").getByText("second of two").waitFor();
    await kept(page).click();
    await page.getByRole("complementary").getByRole("heading", { name: "second of two" }).waitFor();
    expect(complaints).toEqual([]);
    await close();
  }, 45_000);

  test("is lost to somebody else who logs in only by their word, and never shown to them", async () => {
    const { page, complaints, close } = await world.root("/console/people/tokens");
    await makeToken(page, "of the first");
    await shown(page).waitFor();
    const secret = String(await page.getByTitle("Copy secret").textContent());
    const again = await loseSession(page);
    const other = await world.instance.token(["admin"], { scope: "platform" });
    expect(await comeAs(page, other, false)).toContain("A secret that is shown this once");
    await again.waitFor();
    await again.getByLabel("User name").fill("root");
    await again.getByLabel("Password", { exact: true }).fill(rootPassword);
    await again.getByRole("button", { name: "Log in" }).first().click();
    await again.waitFor({ state: "detached" });
    await expectSoon(() => page.getByTitle("Copy secret").textContent(), secret);
    await loseSession(page);
    expect(await comeAs(page, other, true)).toContain("lost for good");
    await again.waitFor({ state: "detached" });
    await shown(page).waitFor({ state: "detached" });
    expect(await page.content()).not.toContain(secret.slice(0, 40));
    expect(complaints).toEqual([]);
    await close();
  }, 45_000);

  test("is no other than a key of this tab that nobody has saved: its loss is asked about", async () => {
    const { page, complaints, close } = await world.root("/console/issue?profile=server");
    await page.getByLabel("Names").fill("unsaved.example.com ");
    await page.getByText("It would be issued.").waitFor();
    await page.getByRole("button", { name: "Issue", exact: true }).click();
    const unsaved = page.getByText("The key is in this tab alone");
    await unsaved.waitFor();
    const again = await loseSession(page);
    const other = await world.instance.token(["admin"], { scope: "platform" });
    expect(await comeAs(page, other, false)).toContain("A private key made here");
    await expectSoon(() => unsaved.count(), 1);
    await comeAs(page, other, true);
    await again.waitFor({ state: "detached" });
    await page.getByText("This tab does not have the key.").waitFor();
    expect(complaints).toEqual([]);
    await close();
  }, 45_000);

  test("is of nothing where the server refuses to make one", async () => {
    const { page, complaints, close } = await world.root("/console/people/tokens");
    await page.getByRole("link", { name: "New API token" }).first().click();
    await page.getByLabel("Name", { exact: true }).fill("refused");
    await page.getByLabel("Days it lives").fill("99999999");
    await page.getByRole("button", { name: "Make the token" }).click();
    await page.getByRole("alert").first().waitFor();
    await expectSoon(() => shown(page).count(), 0);
    expect(complaints).toEqual([]);
    await close();
  }, 45_000);
});
