/**
 * What needs a passkey asks for it in place, and then goes on with what was typed: a revocation,
 * many certificates at once, a new CA.
 */

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";

import { plugAuthenticator } from "#test/support/instances/authenticator.ts";
import { chromiumPath } from "#test/support/instances/browser.ts";
import {
  ConsoleWorld,
  expectStateAccessible,
  signIn,
  type Visit,
} from "#test/support/instances/console-world.ts";
import { makeCas } from "#test/support/instances/issue-page.ts";
import { newCsr } from "#test/support/instances/relying-party.ts";
import { freePort } from "#test/support/servers/free-port.ts";
import { expectSoon } from "#test/support/until.ts";

let world: ConsoleWorld;
let ca: string;
let csr: string;
let serial: string;
let visit: Visit;

beforeAll(async () => {
  if (chromiumPath === undefined) return;
  const port = await freePort();
  const origin = `https://localhost:${port}`;
  const step_up_operations = ["cert.revoke", "cert.issue_bulk", "ca.issue_intermediate"];
  world = await ConsoleWorld.start({
    server: { port, public_url: origin },
    auth: {
      webauthn: { enabled: true, rp_id: "localhost", origins: [origin], step_up_operations },
    },
  });
  ca = await makeCas(world);
  csr = await newCsr(world.instance.home, "www.example.com");
  const path = `/api/ca/${ca}/issue`;
  ({ serial } = await world.instance.admin<{ serial: string }>("POST", path, { csr }));
  visit = await withPasskey();
}, 60_000);
// What a session has confirmed lately it is not asked again.
beforeEach(async () => {
  if (chromiumPath === undefined) return;
  await visit.page.goto(`${world.origin}/console/`);
  await visit.page.getByRole("button", { name: "Log out" }).click();
  await signIn(visit.page);
});
afterAll(() => world?.stop());

/** Root with a passkey and what holds it. */
async function withPasskey(): Promise<Visit> {
  const visit = await world.stranger("/console/people/passkeys");
  const { page } = visit;
  await plugAuthenticator(page);
  await signIn(page);
  await page.getByLabel("Name of a new passkey").fill("laptop");
  await page.getByRole("button", { name: "Add a passkey" }).click();
  await page.getByRole("cell", { name: "laptop" }).waitFor();
  return visit;
}

const asked = (page: Page) => page.getByRole("dialog", { name: "Confirm with your passkey" });

/** The first no leaves all as it was; what is done again is asked again, and then confirmed. */
async function confirmedAtLast(page: Page, act: () => Promise<void>): Promise<void> {
  await act();
  await asked(page).waitFor();
  await expectStateAccessible(page);
  await page.keyboard.press("Escape");
  await page.getByRole("alert").getByText("step_up_required").waitFor();
  await act();
  await asked(page).getByRole("button", { name: "Confirm" }).click();
  await asked(page).waitFor({ state: "hidden" });
}

describe.skipIf(chromiumPath === undefined)("a passkey is asked for in place", () => {
  test("by a revocation, whose reason stays chosen until it is confirmed", async () => {
    const { page } = visit;
    await page.goto(`${world.origin}/console/certificates/${ca}/${serial}?ca=${ca}&dialog=revoke`);
    const dialog = page.getByRole("dialog", { name: "Revoke www.example.com" });
    const reason = dialog.getByLabel("Reason");
    await reason.selectOption({ label: "No longer used" });
    await confirmedAtLast(page, async () => {
      await expectSoon(() => reason.locator("option:checked").textContent(), "No longer used");
      await dialog.getByRole("button", { name: "Revoke www.example.com" }).click();
    });
    await dialog.waitFor({ state: "hidden" });
    const path = `/api/ca/${ca}/certificates/${serial}`;
    const shown = await world.instance.admin<Record<string, unknown>>("GET", path);
    expect(shown).toMatchObject({ status: "revoked" });
    expect(JSON.stringify(shown)).toContain("cessationOfOperation");
    expect(visit.complaints).toEqual([]);
  }, 60_000);

  test("by a new CA, whose form stays filled in until it is confirmed", async () => {
    const { page } = visit;
    await page.goto(`${world.origin}/console/authorities/${ca}?dialog=intermediate`);
    const dialog = page.getByRole("dialog", { name: "Issue a CA below example-issuing" });
    await dialog.getByLabel("Label").fill("example-below");
    await dialog.getByLabel("Common name").fill("Example Below");
    await confirmedAtLast(page, async () => {
      await expectSoon(() => dialog.getByLabel("Common name").inputValue(), "Example Below");
      await dialog.getByRole("button", { name: "Issue the CA" }).click();
    });
    await page.getByRole("link", { name: "Open example-below" }).waitFor();
    expect(visit.complaints).toEqual([]);
  }, 60_000);

  test("by issuing many, whose list goes on where it was", async () => {
    const { page } = visit;
    await page.goto(`${world.origin}/console/issue/many?ca=${ca}`);
    const list = page.getByLabel("List, CSV with a header");
    const text = `ref,csr\none,"${csr}"\ntwo,"${csr}"\n`;
    await list.fill(text);
    await page.getByRole("button", { name: "Check 2 rows" }).click();
    await asked(page).getByRole("button", { name: "Confirm" }).click();
    await page.getByText("2 of 2 would be issued").waitFor();
    await expectSoon(() => list.inputValue(), text);
    // It has just been confirmed.
    await page.getByRole("button", { name: "Issue 2 certificates" }).click();
    await page.getByText("2 issued").waitFor();
    await expectSoon(() => list.inputValue(), text);
    expect(visit.complaints).toEqual([]);
  }, 60_000);

  test("by an operation that is tried out, which is asked again once it is confirmed", async () => {
    const { page } = visit;
    const path = `/api/ca/${ca}/issue`;
    const other = await world.instance.admin<{ serial: string }>("POST", path, { csr });
    await page.goto(`${world.origin}/console/manual/interface/cert.revoke`);
    await page.getByLabel("id", { exact: true }).fill(ca);
    await page.getByLabel("Body, JSON").fill(JSON.stringify({ serial: other.serial }));
    await page.getByRole("button", { name: "POST it" }).click();
    await asked(page).getByRole("button", { name: "Cancel" }).click();
    await page.getByText('"code": "step_up_required"').waitFor();
    await page.getByRole("button", { name: "POST it" }).click();
    await asked(page).getByRole("button", { name: "Confirm" }).click();
    await page.getByRole("status").getByText("200").waitFor();
    const of = `/api/ca/${ca}/certificates/${other.serial}`;
    expect(await world.instance.admin<object>("GET", of)).toMatchObject({ status: "revoked" });
    expect(visit.complaints).toEqual([]);
  }, 60_000);
});
