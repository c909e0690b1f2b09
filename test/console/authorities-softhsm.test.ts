/** Authorities in the console whose keys are in a PKCS#11 token, and those that cannot be there. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import type { Locator, Page } from "playwright-core";

import { chromiumPath } from "#test/support/instances/browser.ts";
import { ConsoleWorld, expectStateAccessible } from "#test/support/instances/console-world.ts";
import { newHome } from "#test/support/instances/instance.ts";
import { createHsmToken, softHsmModule, type SoftHsmToken } from "#test/support/keys/soft-token.ts";
import { expectSoon } from "#test/support/until.ts";

const usable = chromiumPath !== undefined && existsSync(softHsmModule);
let hsmToken: SoftHsmToken;
let world: ConsoleWorld;

beforeAll(async () => {
  if (!usable) return;
  hsmToken = await createHsmToken();
  world = await ConsoleWorld.start(hsmToken.config, newHome(), hsmToken.env);
}, 60_000);

afterAll(async () => {
  await world?.stop();
  hsmToken?.remove();
});

const dialog = (page: Page): Locator => page.getByRole("dialog");

/** Fills the name in, on the dialog of a root. */
async function named(page: Page, label: string): Promise<void> {
  await page.goto(`${world.origin}/console/authorities?dialog=root`);
  await dialog(page).getByLabel("Label").fill(label);
  await dialog(page).getByLabel("Common name").fill(`Example ${label}`);
}

/** Sends it, and goes on to the page of the CA. */
async function created(page: Page, label: string): Promise<void> {
  await dialog(page).getByRole("button", { name: "Create the root" }).click();
  await dialog(page)
    .getByRole("link", { name: `Open ${label}` })
    .click();
  await page.getByRole("heading", { name: label }).waitFor();
}

describe.skipIf(!usable)("authorities with keys in a token", () => {
  test("say where each key is, before it is made and after", async () => {
    const { page, complaints, close } = await world.root("/console/authorities");
    await named(page, "held-root");
    await dialog(page).getByText("The key is made in the HSM.").waitFor();
    await created(page, "held-root");
    await page.getByText("ecdsa-p384 · HSM").waitFor();
    await page.getByText("pkcs11:object=").waitFor();
    await expectStateAccessible(page);
    await page.getByRole("link", { name: "Issue a CA below it" }).click();
    await dialog(page).getByLabel("Label").fill("held-issuing");
    await dialog(page).getByLabel("Common name").fill("Held Issuing");
    await dialog(page).getByLabel("Key type").selectOption("ecdsa-p256");
    await dialog(page).getByText("ecdsa-sha384, by held-root").waitFor();
    await dialog(page).getByRole("button", { name: "Issue the CA" }).click();
    await dialog(page).getByRole("link", { name: "Open held-issuing" }).click();
    await page.getByText("ecdsa-p256 · HSM").waitFor();
    await page.getByRole("link", { name: "Rollover" }).click();
    await page.getByRole("link", { name: "Rotate the key" }).click();
    await dialog(page).getByRole("button", { name: "Give held-issuing a new key" }).click();
    await dialog(page).getByText("Nothing depends on the old key").waitFor();
    await dialog(page).getByRole("button", { name: "Close" }).click();
    await page.getByRole("link", { name: "Retire held-issuing" }).click();
    await dialog(page).getByRole("button", { name: "Retire held-issuing" }).click();
    await dialog(page).getByText("Its certificate is revoked").waitFor();
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("are post-quantum in software, and hybrid in both", async () => {
    const { page, complaints, close } = await world.root("/console/authorities");
    await named(page, "late-root");
    await dialog(page).getByLabel("Algorithm").selectOption("pqc");
    await dialog(page).getByText("no token of today holds").waitFor();
    await expectSoon(() => dialog(page).getByLabel("Key type").inputValue(), "ml-dsa-65");
    await created(page, "late-root");
    await page.getByText("ml-dsa-65 · software").waitFor();
    await page.getByRole("link", { name: "Issue a CA below it" }).click();
    const hybrid = dialog(page).getByRole("option", { name: /issuer has no second key/ });
    await expectSoon(() => hybrid.isDisabled(), true);
    await named(page, "twin-root");
    await dialog(page).getByLabel("Algorithm").selectOption("hybrid");
    await dialog(page).getByText("the second in software").waitFor();
    await dialog(page).getByText("ecdsa-sha384 and ml-dsa-65, by itself").waitFor();
    await created(page, "twin-root");
    await page.getByText("ecdsa-p384 + ml-dsa-65 · HSM").waitFor();
    await page.goto(`${world.origin}/console/authorities`);
    await page.getByRole("row").filter({ hasText: "held-root" }).getByText("· HSM").waitFor();
    await page.getByRole("row").filter({ hasText: "late-root" }).getByText("· software").waitFor();
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);
});
