/** A lost session that a provider gives back in a window beside the page, which stays as it is. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";

import {
  chromiumPath,
  closeProfiles,
  freshPage,
  shareBrowser,
} from "#test/support/instances/browser.ts";
import { expectStateAccessible } from "#test/support/instances/console-world.ts";
import { Instance, newHome } from "#test/support/instances/instance.ts";
import { freePort } from "#test/support/servers/free-port.ts";
import {
  clientSecret,
  type IdentityProvider,
  startIdentityProvider,
} from "#test/support/servers/identity-provider.ts";
import { expectSoon } from "#test/support/until.ts";

let idp: IdentityProvider;
let instance: Instance;
let browser: Browser;

beforeAll(async () => {
  if (chromiumPath === undefined) return;
  const home = newHome();
  const port = await freePort();
  const base = `https://localhost:${port}`;
  idp = await startIdentityProvider(`${base}/auth/callback`, {
    alice: { name: "Alice Example", groups: ["ops"] },
    bob: { name: "Bob Example", groups: ["ops"] },
  });
  writeFileSync(join(home, "idp.pem"), idp.ca);
  const roles = { role_mappings: [{ value: "ops", roles: ["admin"] }] };
  const oidc = { enabled: true, client_secret: clientSecret, ...roles };
  instance = await Instance.start({
    home,
    config: {
      server: { port, public_url: base },
      outbound: { ca_file: join(home, "idp.pem") },
      oidc: { issuer_url: idp.issuer, client_id: "pkid" },
      auth: { oidc },
    },
  });
  browser = await shareBrowser();
}, 60_000);

afterAll(async () => {
  if (browser !== undefined) await closeProfiles(browser);
  await instance?.dispose();
  idp?.stop();
});

async function atProvider(page: Page, login = "alice"): Promise<void> {
  await page.locator('input[name="login"]').fill(login);
  await page.locator('input[name="password"]').fill("any");
  await page.locator('button[type="submit"]').click();
  await page.locator('button[type="submit"]').click();
  await page.getByText(/^(Alice|Bob) Example$/).waitFor();
}

/** Logs in from the dialog, in the window that opens beside it. */
async function beside(page: Page, login: string): Promise<void> {
  const opened = page.context().waitForEvent("page");
  await page.getByRole("dialog").getByRole("link", { name: "Log in with" }).click();
  const window = await opened;
  await atProvider(window, login);
  await window.close();
}

describe.skipIf(chromiumPath === undefined)("a session of a provider that is lost", () => {
  test("comes back from another window, and what was typed is still there", async () => {
    const { page, complaints } = await freshPage(browser);
    await page.goto(`https://localhost:${new URL(instance.url).port}/console/people/tokens`);
    await page.getByRole("link", { name: "Log in with" }).click();
    await atProvider(page);
    await page.getByRole("link", { name: "New API token" }).first().click();
    const name = page.getByLabel("Name", { exact: true });
    await name.fill("kept over a login");
    await page.context().clearCookies();
    await page.getByRole("button", { name: "Make the token" }).click();
    const dialog = page.getByRole("dialog", { name: "Log in again" });
    const opened = page.context().waitForEvent("page");
    await dialog.getByRole("link", { name: "Log in with" }).click();
    await dialog.getByRole("status").filter({ hasText: "go on here" }).waitFor();
    const beside = await opened;
    await atProvider(beside);
    await beside.close();
    await dialog.waitFor({ state: "detached" });
    await expectSoon(() => name.inputValue(), "kept over a login");
    await page.getByRole("button", { name: "Make the token" }).click();
    await page.getByText("Nobody can show it again").waitFor();
    expect(complaints).toEqual([]);
    await page.context().close();
  }, 45_000);

  test("is ended again where somebody else opened it and then did not go on", async () => {
    const { page, complaints } = await freshPage(browser);
    await page.goto(`https://localhost:${new URL(instance.url).port}/console/people/tokens`);
    await page.getByRole("link", { name: "Log in with" }).click();
    await atProvider(page);
    await page.getByRole("link", { name: "New API token" }).first().click();
    await page.getByLabel("Name", { exact: true }).fill("of alice");
    await page.getByRole("button", { name: "Make the token" }).click();
    const secret = String(await page.getByTitle("Copy secret").textContent());
    await page.context().clearCookies();
    await page.evaluate(`dispatchEvent(new Event("pkid-changed"))`);
    const dialog = page.getByRole("dialog", { name: "Log in again" });
    await dialog.waitFor();
    const asked: string[] = [];
    page.on("dialog", (question) => {
      asked.push(question.message());
      void question.dismiss();
    });
    const ended = page.waitForResponse(/\/auth\/logout$/);
    await beside(page, "bob");
    expect((await ended).ok()).toBe(true);
    await dialog.getByText("go on here").waitFor({ state: "detached" });
    const session = await page.context().request.get(`${instance.url}/auth/session`);
    expect(session.status()).toBe(401);
    await page.context().clearCookies();
    // A session that could not be ended is no secret.
    await page.route(/\/auth\/logout$/, (route) => route.fulfill({ status: 503, json: {} }));
    await beside(page, "bob");
    await dialog.getByText("lives on in this browser").waitFor();
    await page.emulateMedia({ reducedMotion: "reduce" });
    await expectStateAccessible(page);
    await page.context().clearCookies();
    await beside(page, "alice");
    await dialog.waitFor({ state: "detached" });
    await expectSoon(() => page.getByTitle("Copy secret").textContent(), secret);
    expect(asked.length).toBe(2);
    for (const one of asked) expect(one).toContain("You log in as somebody else");
    expect(complaints).toEqual([]);
    await page.context().close();
  }, 45_000);
});
