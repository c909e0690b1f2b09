/** The overview in the console: what needs a person, and figures that say whose they are. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";

import { answerTo, chromiumPath } from "#test/support/instances/browser.ts";
import {
  ConsoleWorld,
  expectAccessible,
  keepPicture,
} from "#test/support/instances/console-world.ts";
import { createChain } from "#test/support/instances/first-certificate.ts";
import { newCsr } from "#test/support/instances/relying-party.ts";

let world: ConsoleWorld;
let ca: string;

beforeAll(async () => {
  if (chromiumPath === undefined) return;
  world = await ConsoleWorld.start();
  ca = (await createChain(world.instance, "ecdsa-p256")).intermediateId;
  await world.instance.admin("POST", "/api/tenants", { slug: "shop", name: "Shop" });
}, 60_000);
afterAll(() => world?.stop());

const hour = 3_600_000;
const fromNow = (ms: number): string => new Date(Date.now() + ms).toISOString();

describe.skipIf(chromiumPath === undefined)("what needs a person", () => {
  test("names failing jobs, responders near their end and a paused clock", async () => {
    const { page, complaints, close } = await world.root("/console/operations/backup");
    await page.route("**/api/jobs", async (route) => {
      const told = await (await answerTo(route)).json();
      told.clock = { behind_until: fromNow(hour) };
      told.jobs[0] = { ...told.jobs[0], last_failure: "disk full", last_failure_at: fromNow(0) };
      told.jobs[1].late = true;
      await route.fulfill({ json: told });
    });
    await page.route("**/api/crls?*", async (route) => {
      const told = await (await answerTo(route)).json();
      const responder = { serial: "1", not_before: fromNow(-99 * hour), not_after: fromNow(hour) };
      told.items[0].responder = responder;
      await route.fulfill({ json: told });
    });
    await page.getByRole("link", { name: "Overview" }).first().click();
    await page.getByRole("link", { name: /^The job .* failed: disk full/ }).waitFor();
    await page.getByRole("link", { name: /^The job .* is late/ }).waitFor();
    await page.getByRole("link", { name: /^The OCSP responder of .* ends in/ }).waitFor();
    const clock = page.getByRole("region", { name: "Clock" });
    await clock.getByText(/nothing is issued until it has passed/).waitFor();
    expect(await clock.getByRole("button", { name: "Confirm the time" }).isDisabled()).toBe(true);
    await clock.getByText("pkid monitor clock-accept").first().waitFor();
    await expectAccessible(page);
    await keepPicture(page, "overview-needs");
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("leads from what ends soon to all of it, whichever CA has issued it", async () => {
    const { intermediateId } = await createChain(world.instance, "ecdsa-p256", "second");
    for (const issuer of [ca, intermediateId]) {
      const csr = await newCsr(world.instance.home, "soon.example.com");
      await world.instance.admin("POST", `/api/ca/${issuer}/issue`, { csr, validity_days: 2 });
    }
    const { page, complaints, close } = await world.root("/console/?tenant=default");
    await page.getByRole("link", { name: /^2 end within \d+ days/ }).click();
    await page.getByText("2 found in").waitFor();
    expect(await page.getByRole("cell", { name: "soon.example.com" }).count()).toBe(2);
    await page.getByText(/^Expires before: \d{4}-\d\d-\d\d \d\d:\d\d UTC/).waitFor();
    expect(new URL(page.url()).searchParams.get("tenant")).toBe("default");
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("has plots whose bars are named, and tables one key away, which is remembered", async () => {
    const { page, complaints, close } = await world.root("/console/");
    const card = page.getByRole("region", { name: "Inventory, by status" });
    await card.getByRole("figure").getByText("revoked", { exact: true }).waitFor();
    await page
      .getByRole("region", { name: "Time of a signature" })
      .getByText("nothing yet")
      .waitFor();
    await keepPicture(page, "overview-plots");
    await page.keyboard.press("t");
    await card.getByRole("cell", { name: "revoked" }).waitFor();
    await page.reload();
    await card.getByRole("cell", { name: "revoked" }).waitFor();
    await expectAccessible(page);
    await page.keyboard.press("t");
    await card.getByRole("figure").waitFor();
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("is of the tenant that is chosen, with its figures", async () => {
    const { page, complaints, quiet, close } = await world.root("/console/?tenant=shop");
    await page.getByText("There is no certificate authority of shop yet.").waitFor();
    await page.getByText("pkid ca init-root").first().waitFor();
    await quiet();
    expect(await page.getByRole("region", { name: "Inventory, by status" }).count()).toBe(0);
    await expectAccessible(page);
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("offers the first root only to who may make it", async () => {
    const secret = await world.instance.token(["auditor"], { tenant_id: "shop" });
    const { page, complaints, close } = await world.bearer(secret, "/console/?tenant=shop");
    await page.getByText("There is no certificate authority of shop yet.").waitFor();
    expect(await page.getByRole("button", { name: "Make a root" }).isDisabled()).toBe(true);
    await page.getByText(/^Needs ca:manage/).waitFor();
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);
});
