/**
 * Passkeys in a real browser with an authenticator: adding one, confirming with it, and what
 * happens without.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Browser, Page } from "playwright-core";

import { type Authenticator, plugAuthenticator } from "#test/support/instances/authenticator.ts";
import {
  chromiumPath,
  closeProfiles,
  freshPage,
  shareBrowser,
} from "#test/support/instances/browser.ts";
import { freePort } from "#test/support/servers/free-port.ts";
import { Instance } from "#test/support/instances/instance.ts";
import { expectSoon } from "#test/support/until.ts";

const password = "correct horse battery staple";
let instance: Instance;
let browser: Browser;

beforeAll(async () => {
  if (chromiumPath === undefined) return;
  const port = await freePort();
  const origin = `https://localhost:${port}`;
  const webauthn = {
    enabled: true,
    rp_id: "localhost",
    origins: [origin],
    step_up_operations: ["session.end"],
  };
  instance = await Instance.start({
    config: {
      server: { port, public_url: origin },
      root_user: { password },
      auth: { webauthn },
    },
  });
  browser = await shareBrowser();
}, 60_000);

afterAll(async () => {
  if (browser !== undefined) await closeProfiles(browser);
  await instance?.dispose();
});

interface Visit extends Authenticator {
  readonly page: Page;
  readonly complaints: readonly string[];
}

/** A person at the console, with an authenticator that knows them. */
async function visit(host = "localhost"): Promise<Visit> {
  const { page, complaints } = await freshPage(browser);
  const { devices, authenticatorId } = await plugAuthenticator(page);
  await page.goto(`https://${host}:${new URL(instance.url).port}/console/people/passkeys`);
  await page.getByLabel("User name").fill("root");
  await page.getByLabel("Password", { exact: true }).fill(password);
  await page.getByRole("button", { name: "Log in" }).first().click();
  await page.getByRole("heading", { name: "Passkeys" }).waitFor();
  return { page, complaints, devices, authenticatorId };
}

async function add(page: Page, name: string): Promise<void> {
  await page.getByLabel("Name of a new passkey").fill(name);
  await page.getByRole("button", { name: "Add a passkey" }).click();
}

const confirmation = (page: Page) =>
  page.getByRole("dialog", { name: "Confirm with your passkey" });
const confirm = (page: Page) => confirmation(page).getByRole("button", { name: "Confirm" }).click();
const cell = (page: Page, name: string) => page.getByRole("cell", { name, exact: true });

async function endAnother(page: Page): Promise<void> {
  await page.getByRole("link", { name: "Sessions" }).click();
  await page.getByRole("link", { name: "End", exact: true }).first().click();
  await page.getByRole("button", { name: "End the session" }).click();
}

describe.skipIf(chromiumPath === undefined)("the console with passkeys", () => {
  test("adds one, and repeats by itself what it then confirms", async () => {
    const victim = await visit();
    const { page, complaints, devices, authenticatorId } = await visit();
    await endAnother(page);
    await confirm(page);
    // There is nothing to confirm with yet, and the window says where to get it.
    await confirmation(page).getByText("no_credential").waitFor();
    await confirmation(page).getByRole("link", { name: "Add a passkey" }).click();
    await page.getByText("You have no passkey.").waitFor();
    await add(page, "laptop");
    await cell(page, "laptop").waitFor();
    await cell(page, "never").waitFor();

    await endAnother(page);
    const ended = page.waitForResponse(
      (answer) => answer.request().method() === "DELETE" && answer.status() === 200,
    );
    await confirm(page);
    await ended;
    await confirmation(page).waitFor({ state: "hidden" });
    await page.getByRole("link", { name: "Passkeys" }).click();
    await cell(page, "laptop").waitFor();
    await expectSoon(() => cell(page, "never").count(), 0);
    const { credentials } = await devices.send("WebAuthn.getCredentials", { authenticatorId });
    expect(credentials[0]).toMatchObject({ rpId: "localhost", isResidentCredential: true });
    expect([...complaints, ...victim.complaints]).toEqual([]);
    await victim.page.context().close();
    await page.context().close();
  }, 60_000);

  test("lets a session without the passkey add none, and remove none", async () => {
    const { page, complaints } = await visit();
    await add(page, "thief");
    await confirm(page);
    await confirmation(page).getByText("no_passkey").waitFor();
    await confirmation(page).getByRole("button", { name: "Cancel" }).click();
    await page.getByText("step_up_required").waitFor();
    await cell(page, "laptop").waitFor();
    await page.getByRole("link", { name: "Remove" }).click();
    await page.getByRole("button", { name: "Remove the passkey" }).click();
    await confirmation(page).waitFor();
    await page.keyboard.press("Escape");
    const asked = page.getByRole("dialog", { name: "Remove this passkey" });
    await asked.getByText("step_up_required").waitFor();
    await asked.getByRole("button", { name: "Cancel" }).click();
    await cell(page, "laptop").waitFor();
    await expectSoon(() => cell(page, "thief").count(), 0);
    expect(complaints).toEqual([]);
    await page.context().close();
  }, 60_000);
});
