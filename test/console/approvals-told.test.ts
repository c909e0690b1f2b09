/** What a request for approval tells: what it changes and takes, what became of it, how many. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";

import { chromiumPath } from "#test/support/instances/browser.ts";
import {
  ConsoleWorld,
  expectStateAccessible,
  keepPicture,
  rootPassword,
} from "#test/support/instances/console-world.ts";
import { Instance } from "#test/support/instances/instance.ts";
import { makeCas } from "#test/support/instances/issue-page.ts";
import { issueFor, makeCaAt } from "#test/support/instances/listed-cas.ts";
import { newCsr } from "#test/support/instances/relying-party.ts";
import { shareSecondPerson } from "#test/support/instances/second-person.ts";
import { freePort } from "#test/support/servers/free-port.ts";
import { expectSoon } from "#test/support/until.ts";

const second = shareSecondPerson();
let world: ConsoleWorld;
let ca: string;

beforeAll(async () => {
  if (chromiumPath === undefined) return;
  const port = await freePort();
  const origin = `https://localhost:${port}`;
  const webauthn = { enabled: true, rp_id: "localhost", origins: [origin], step_up_operations: [] };
  world = await ConsoleWorld.start({
    server: { port, public_url: origin },
    auth: { ...second.auth, webauthn },
    approvals: {
      enabled: true,
      thresholds: { "revocation.bulk": 1, "ca.rotate": 1, "ca.retire": 1 },
    },
  });
  ca = await makeCas(world);
  const csr = await newCsr(world.instance.home, "www.example.com");
  await world.instance.admin("POST", `/api/ca/${ca}/issue`, { csr });
}, 60_000);
afterAll(() => world?.stop());

/** Asked for by root; gives the request that waits. */
async function parked(path: string, members: object): Promise<string> {
  const authorization = `Basic ${Buffer.from(`root:${rootPassword}`).toString("base64")}`;
  const answer = await world.instance.fetch(path, {
    method: "POST",
    headers: { authorization, "content-type": "application/json" },
    body: JSON.stringify(members),
  });
  expect(answer.status).toBe(202);
  return String(answer.headers.get("x-pki-approval-id"));
}

const rotation = (label: string) =>
  parked(`/api/ca/${ca}/rotate`, { new_label: label, key_type: "ecdsa-p384" });
const bulk = () =>
  parked(`/api/ca/${ca}/revocations:bulk`, { reason: "superseded", all: true, confirm_count: 1 });
/** By the second person. */
async function decide(id: string, decision: string): Promise<void> {
  const path = `/api/approvals/${id}/${decision}`;
  const { status } = await second.send(world.instance, "POST", path, { comment: "as agreed" });
  expect(status).toBe(200);
}

const fact = (page: Page, name: string) =>
  page.getByRole("complementary").locator("dt", { hasText: name }).locator("+ dd");
const sideBar = (page: Page) => page.getByRole("navigation", { name: "Pages", exact: true });

describe.skipIf(chromiumPath === undefined)("a request for approval", () => {
  test("says what it changes beside how things are, why, and that a passkey may be asked for", async () => {
    const id = await bulk();
    const { page, complaints, close } = await world.root(`/console/approvals/${id}`);
    const row = page.getByRole("row", { name: /^Certificates of example-issuing/ });
    await row.getByRole("cell", { name: "1 valid" }).waitFor();
    await row.getByRole("cell", { name: "1 revoked for good, reason superseded" }).waitFor();
    await expectSoon(() => fact(page, "Why").textContent(), "reason superseded");
    await expectStateAccessible(page);
    await keepPicture(page, "approvals-difference");
    const dialog = page.getByRole("dialog");
    await page.goto(`${world.origin}/console/approvals/${id}?dialog=approve`);
    await dialog.getByText("You may be asked to confirm it with your passkey.").waitFor();
    await expectStateAccessible(page);
    const approve = dialog.getByRole("button", { name: /^Approve/ });
    await expectSoon(() => approve.isDisabled(), true);
    await dialog.getByText("You made it: somebody else must approve.").waitFor();
    await page.goto(`${world.origin}/console/approvals/${id}?dialog=retry`);
    await dialog.getByText("It is pending: only what has failed is executed again.").waitFor();
    await expectSoon(
      () => dialog.getByRole("button", { name: "Execute again" }).isDisabled(),
      true,
    );
    await decide(id, "reject");
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("says what became of it and when, once it is decided", async () => {
    const [rejected, approved] = [await bulk(), await rotation("turned")];
    const withdrawn = await rotation("not-turned");
    const { page, complaints, close } = await world.root(`/console/approvals/${rejected}`);
    await expectSoon(
      () => fact(page, "Lapses").textContent(),
      expect.stringContaining("in 2 days"),
    );
    await decide(rejected, "reject");
    await fact(page, "Rejected").waitFor();
    await page.goto(`${world.origin}/console/approvals/${withdrawn}`);
    await page.getByRole("link", { name: "Withdraw" }).click();
    await page.getByLabel("Comment").fill("not needed");
    await page.getByRole("button", { name: "Withdraw the request" }).click();
    await fact(page, "Withdrawn").waitFor();
    await page.goto(`${world.origin}/console/approvals/${approved}`);
    await page.getByRole("rowheader", { name: "Key of example-issuing" }).waitFor();
    await decide(approved, "approve");
    await fact(page, "Executed").waitFor();
    await expectSoon(() => page.getByText("Lapse").count(), 0);
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("is never shown in the place of another that is still asked for", async () => {
    const [first, second] = [await rotation("calm-successor"), await rotation("other-successor")];
    const { page, complaints, close } = await world.root(`/console/approvals/${first}`);
    const panel = page.getByRole("complementary");
    await panel.getByText("calm-successor").first().waitFor();
    const held = Promise.withResolvers<void>();
    await page.route(`**/api/approvals/${second}`, async (route) => {
      await held.promise;
      await route.continue();
    });
    await page.locator(`a[href*="${second}"]`).first().click();
    await page.waitForURL((url) => url.pathname.endsWith(second));
    // A decision now would be on the other one.
    await panel.waitFor({ state: "hidden" });
    await expectSoon(() => page.getByRole("link", { name: "Approve", exact: true }).count(), 0);
    held.resolve();
    await panel.getByText("other-successor").first().waitFor();
    await expectSoon(() => panel.getByText("calm-successor").count(), 0);
    expect(complaints).toEqual([]);
    await close();
    for (const id of [first, second]) await decide(id, "reject");
  }, 60_000);

  test("is told in whole in the list, however long it is", async () => {
    const label = `a-${"very-".repeat(9)}long-one`;
    const id = await rotation(label);
    const { page, complaints, close } = await world.root("/console/approvals?status=pending");
    const cell = page.getByRole("row").filter({ hasText: label }).getByRole("cell").first();
    await cell.waitFor();
    const { clipped, wraps } = await cell.evaluate((element) => ({
      clipped: element.scrollWidth > element.clientWidth,
      wraps: getComputedStyle(element).whiteSpace,
    }));
    expect({ clipped, wraps }).toEqual({ clipped: false, wraps: "normal" });
    await decide(id, "reject");
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("names no key as the oldest of a lineage of which one could not be read", async () => {
    const root = await makeCaAt(world.instance, "/api/ca/init-root", "long-root");
    const below = `/api/ca/${root.id}/issue-intermediate`;
    const oldest = await makeCaAt(world.instance, below, "first-key");
    await issueFor(world.instance, oldest, "chained.example.com");
    for (const new_label of ["second-key", "third-key"]) {
      await decide(await parked(`/api/ca/${oldest.id}/rotate`, { new_label }), "approve");
    }
    const id = await parked(`/api/ca/${oldest.id}/retire`, { force: true });
    const { page, complaints, close } = await world.root("/console/");
    const broken = { status: 503, json: { error: "It broke.", code: "overloaded" } };
    const asked = `**/api/ca/${oldest.id}/rotation`;
    await page.route(asked, (route) => route.fulfill(broken));
    await page.goto(`${world.origin}/console/approvals/${id}`);
    await page.getByText("Not all that belongs here could be read. It broke.").waitFor();
    await page.getByRole("rowheader", { name: "Oldest superseded key of" }).waitFor();
    await expectSoon(() => page.getByRole("rowheader", { name: "second-key" }).count(), 0);
    await page.unroute(asked);
    await page.getByRole("button", { name: "Try again" }).click();
    await page.getByRole("rowheader", { name: "first-key" }).waitFor();
    await page.getByRole("cell", { name: "1 valid" }).waitFor();
    await expectStateAccessible(page);
    await decide(id, "reject");
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);
});

describe.skipIf(chromiumPath === undefined)("the frame of the console", () => {
  test("says beside Approvals how many wait for the caller, and nothing where none does", async () => {
    const other = await second.createToken(world.instance, ["admin"], "platform");
    const { page, complaints, close } = await world.bearer(other, "/console/");
    await page.getByRole("status").filter({ hasText: "live" }).waitFor();
    const link = sideBar(page).getByRole("link", { name: /^Approvals/ });
    await page.getByRole("link", { name: "0 waiting for your approval" }).waitFor();
    await expectSoon(() => link.textContent(), "Approvals");
    const ids = [await bulk(), await rotation("counted")];
    const two = sideBar(page).getByRole("link", { name: "Approvals 2 pending", exact: true });
    await two.waitFor();
    await page.getByRole("link", { name: "2 wait for your approval." }).waitFor();
    await expectStateAccessible(page);
    const maker = await world.root("/console/");
    await maker.page.getByText(/^Needs you$/).waitFor();
    await maker.quiet();
    await maker.page.getByRole("link", { name: "0 waiting for your approval" }).waitFor();
    await expectSoon(() => maker.page.getByText("wait for your approval.").count(), 0);
    await maker.close();
    for (const id of ids) await decide(id, "reject");
    await sideBar(page).getByRole("link", { name: "Approvals", exact: true }).waitFor();
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("says below which instance it is, by name and id", async () => {
    const { page, complaints, close } = await world.root("/console/");
    const { id, name } = await world.instance.admin<{ id: string; name: string }>(
      "GET",
      "/api/instance",
    );
    expect(name).toBe(new URL(world.origin).host);
    const footer = page.getByRole("contentinfo");
    await footer.getByTitle(`Instance ${id}`).getByText(name).waitFor();
    // The host it was reached by is the same, and not said again.
    await expectSoon(() => footer.getByText(`at ${name}`).count(), 0);
    expect((await world.instance.fetch("/api/instance")).status).toBe(401);
    // Without an address of its own it does not tell everybody how the machine is called.
    const plain = await Instance.start({});
    const told = await plain.admin<object>("GET", "/api/instance");
    expect(Object.keys(told)).toEqual(["id"]);
    await plain.dispose();
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);
});
