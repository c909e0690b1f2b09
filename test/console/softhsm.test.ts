/** The console where the keys of CAs are in an HSM: it issues, revokes, and says where they are. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";

import { chromiumPath } from "#test/support/instances/browser.ts";
import { ConsoleWorld, expectStateAccessible } from "#test/support/instances/console-world.ts";
import { newHome } from "#test/support/instances/instance.ts";
import { makeCas } from "#test/support/instances/issue-page.ts";
import { createHsmToken, type SoftHsmToken, softHsmModule } from "#test/support/keys/soft-token.ts";

let world: ConsoleWorld;
let token: SoftHsmToken;
let ca: string;

const missing = chromiumPath === undefined || !existsSync(softHsmModule);

beforeAll(async () => {
  if (missing) return;
  token = await createHsmToken();
  world = await ConsoleWorld.start(token.config, newHome(), token.env);
  ca = await makeCas(world);
}, 60_000);
afterAll(async () => {
  await world?.stop();
  token?.remove();
});

describe.skipIf(missing)("the console of a CA whose key is in an HSM", () => {
  test("issues with a key made in the page, and revokes", async () => {
    const { page, complaints, close } = await world.root(`/console/issue?ca=${ca}&profile=server`);
    await page.getByLabel("Names").fill("hsm.example.com ");
    await page.getByText("It would be issued.").waitFor();
    await page.getByRole("button", { name: "Issue", exact: true }).click();
    await page.getByRole("heading", { name: "hsm.example.com" }).waitFor();
    await page.getByRole("link", { name: "Everything about this certificate" }).click();
    const panel = page.getByRole("complementary");
    await panel.getByRole("link", { name: "Revoke" }).click();
    const dialog = page.getByRole("dialog", { name: "Revoke hsm.example.com" });
    await dialog.getByLabel("Reason").selectOption("keyCompromise");
    await dialog.getByRole("button", { name: "Revoke hsm.example.com" }).click();
    await dialog.waitFor({ state: "hidden" });
    await panel.getByText("revoked").first().waitFor();
    const path = `/api/ca/${ca}/certificates?status=revoked`;
    const { items } = await world.instance.admin<{ items: readonly object[] }>("GET", path);
    expect(items).toMatchObject([{ reason: "keyCompromise" }]);
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("says that the keys are in the HSM, which one it is, and that none can leave it", async () => {
    const { page, complaints, close } = await world.root("/console/operations/keys");
    await page.getByText("in the HSM").first().waitFor();
    await page
      .getByText(/SoftHSM/)
      .first()
      .waitFor();
    await page.getByRole("cell", { name: "pkcs11" }).first().waitFor();
    await expectStateAccessible(page);
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);
});
