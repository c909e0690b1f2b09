/** Revoking many in the console: the plan, the number that confirms it, and what came of it. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";

import { chromiumPath } from "#test/support/instances/browser.ts";
import {
  ConsoleWorld,
  expectStateAccessible,
  expectTree,
  keepPicture,
} from "#test/support/instances/console-world.ts";
import { createChain } from "#test/support/instances/first-certificate.ts";
import { newCsr } from "#test/support/instances/relying-party.ts";
import { expectSoon } from "#test/support/until.ts";

let world: ConsoleWorld;
let ca: string;

beforeAll(async () => {
  if (chromiumPath === undefined) return;
  world = await ConsoleWorld.start();
  const chain = await createChain(world.instance, "ecdsa-p256");
  ca = chain.intermediateId;
  for (const name of ["a.example.test", "b.example.test", "c.example.test", "d.other.test"]) {
    await issue(name, chain.folder);
  }
}, 60_000);
afterAll(() => world?.stop());

async function issue(name: string, folder: string): Promise<void> {
  const csr = await newCsr(folder, name);
  await world.instance.admin("POST", `/api/ca/${ca}/issue`, { csr });
}

const statusOf = (status: string) =>
  world.instance.admin<{ total: number }>("GET", `/api/ca/${ca}/certificates?status=${status}`);

describe.skipIf(chromiumPath === undefined)("revoking many in the console", () => {
  test("shows what would be revoked, and does it when its number is typed", async () => {
    const { page, complaints, close } = await world.root(`/console/revoke?ca=${ca}`);
    await page.getByLabel("Names like").fill("*.example.test");
    await page.getByRole("button", { name: "Look what that is" }).click();
    const plan = page.getByRole("region", { name: "Plan" });
    await plan.getByText("3", { exact: true }).first().waitFor();
    await plan.getByRole("link", { name: "a.example.test" }).waitFor();
    expect(await statusOf("revoked")).toMatchObject({ total: 0 });
    await expectTree(page, "revoke-plan");
    await expectStateAccessible(page);
    await keepPicture(page, "revoke");
    const button = plan.getByRole("button", { name: "Revoke 3 certificates" });
    await page.getByLabel("Type 3 to confirm").fill("4");
    await expectSoon(() => button.isDisabled(), true);
    await page.getByLabel("Type 3 to confirm").fill("3");
    await button.click();
    await page.getByText("3 revoked").waitFor();
    await page.getByText(/CRL number/).waitFor();
    await expectStateAccessible(page);
    expect(await statusOf("revoked")).toMatchObject({ total: 3 });
    await expectSoon(() => new URL(page.url()).searchParams.get("op"), expect.stringMatching(/.+/));
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("refuses an empty selection, and changes nothing when the number has drifted", async () => {
    const { page, complaints, close } = await world.root(`/console/revoke?ca=${ca}`);
    await page.getByRole("button", { name: "Look what that is" }).click();
    await page.getByRole("alert").getByText("empty_selection").waitFor();
    await page.getByLabel("Reason").selectOption("certificateHold");
    await page.getByLabel("Names like").fill("*.other.test");
    await page.getByRole("button", { name: "Look what that is" }).click();
    await page.getByLabel("Type 1 to confirm").fill("1");
    await issue("e.other.test", `${world.instance.home}/ecdsa-p256`);
    await page.getByRole("button", { name: "Revoke 1 certificates" }).click();
    await page.getByText("There are 2 now, and nothing was changed: look again.").waitFor();
    await expectSoon(() => page.getByLabel("Names like").inputValue(), "*.other.test");
    expect(await statusOf("held")).toMatchObject({ total: 0 });
    await expectStateAccessible(page);
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("marks the field that is refused, and takes days and a profile of those there are", async () => {
    const at = `/console/revoke?ca=${ca}&issued_after=yesterday`;
    const { page, complaints, close } = await world.root(at);
    const from = page.getByLabel("Issued from");
    await page.getByRole("button", { name: "Look what that is" }).click();
    await page.locator('[aria-invalid="true"]').waitFor();
    await expectSoon(() => from.getAttribute("aria-invalid"), "true");
    await expectSoon(() => from.inputValue(), "yesterday");
    await from.fill("");
    await from.fill("2026-01-01");
    await expectSoon(() => from.getAttribute("type"), "date");
    await page.getByLabel("Profile").selectOption("client");
    await page.getByRole("button", { name: "Look what that is" }).click();
    const plan = page.getByRole("region", { name: "Plan" });
    await plan.getByText("profile=client").waitFor();
    await expectStateAccessible(page);
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("is of those who manage the CA", async () => {
    const secret = await world.instance.token(["issuer"], { scope: "platform" });
    const { page, complaints, close } = await world.bearer(secret, `/console/revoke?ca=${ca}`);
    const look = page.getByRole("button", { name: "Look what that is" });
    await look.waitFor();
    await expectSoon(() => look.isDisabled(), true);
    await page.getByText("Needs ca:manage on this CA.").waitFor();
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);
});
