/** Enrolment in the console: directories with what clients are told, credentials, what they do. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";

import { chromiumPath } from "#test/support/instances/browser.ts";
import {
  ConsoleWorld,
  expectStateAccessible,
  expectTree,
  keepPicture,
} from "#test/support/instances/console-world.ts";
import { createChain } from "#test/support/instances/first-certificate.ts";
import { enrol } from "#test/support/instances/places.ts";
import { freePort } from "#test/support/servers/free-port.ts";
import { expectSoon } from "#test/support/until.ts";

let world: ConsoleWorld;
let base: string;

beforeAll(async () => {
  if (chromiumPath === undefined) return;
  const port = await freePort();
  base = `https://localhost:${port}`;
  world = await ConsoleWorld.start({
    server: { port, public_url: base },
    acme: { enabled: true, ca_label: "issuing-ecdsa-p256", require_eab: true },
  });
  await createChain(world.instance, "ecdsa-p256");
}, 60_000);
afterAll(() => world?.stop());

describe.skipIf(chromiumPath === undefined)("enrolment in the console", () => {
  test("tells each client this instance's address, to copy", async () => {
    const { page, complaints, close } = await world.root("/console/enrolment");
    await page.getByText(`${base}/acme/directory`).first().waitFor();
    await page.getByRole("link", { name: "Caddy" }).click();
    await page.getByText(`acme_ca ${base}/acme/directory`).waitFor();
    await expectStateAccessible(page);
    await expectTree(page, "enrolment-directories");
    await keepPicture(page, "enrolment");
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("makes a credential whose key is shown once, and revokes it", async () => {
    const { page, complaints, close } = await world.root("/console/enrolment/credentials");
    await page.getByRole("link", { name: "New credential" }).first().click();
    await page.getByLabel("Name", { exact: true }).fill("web farm");
    await page.getByRole("button", { name: "Make the credential" }).click();
    // One without any name it may ask for is refused, and what was typed stays.
    await page.getByRole("alert").getByText("missing_field").waitFor();
    await expectStateAccessible(page);
    await page.getByLabel("DNS names below").fill("example.com, example.org");
    await page.getByRole("button", { name: "Make the credential" }).click();
    await page.getByText("Nobody can show it again").waitFor();
    const key = String(await page.getByTitle("Copy key", { exact: true }).textContent());
    await page.getByRole("button", { name: "I have kept it" }).click();
    const panel = page.getByRole("complementary");
    await panel.getByText("example.com, example.org").waitFor();
    expect(await page.content()).not.toContain(key.slice(0, 43));
    await expectStateAccessible(page);
    await page.getByRole("link", { name: "Revoke", exact: true }).click();
    await page.getByRole("button", { name: "Revoke web farm" }).click();
    await page.getByText("It is revoked.").waitFor();
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("says of accounts, orders and plans that there are none yet", async () => {
    const { page, complaints, close } = await world.root("/console/enrolment/accounts");
    await page.getByText("No client has made an account yet.").waitFor();
    await page.getByRole("link", { name: "Set up a client" }).waitFor();
    await page.getByText("pkid acme eab create").waitFor();
    await page.getByRole("link", { name: "Orders" }).click();
    await page.getByText("No client has ordered a certificate yet.").waitFor();
    await page.goto(`${world.origin}/console/enrolment/orders?status=invalid`);
    await page.getByText("No order fits.").waitFor();
    await page.getByRole("link", { name: "Show all orders" }).waitFor();
    for (const [part, noun] of Object.entries(unknowns)) {
      await page.goto(`${world.origin}/console/enrolment/${part}/nobody`);
      await page.getByText(`There is no ${noun} with this id that you may see.`).waitFor();
    }
    await expectStateAccessible(page);
    await page.getByRole("link", { name: "Replacements" }).click();
    await page.getByText("Nothing is planned.").waitFor();
    await expectStateAccessible(page);
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("shows no directory of a tenant that is not one's own", async () => {
    await world.instance.admin("POST", "/api/tenants", { slug: "other" });
    const request = { tenant_id: "other" };
    const secret = await world.instance.token(["admin"], request);
    const answer = await world.instance.fetch("/api/acme/directories", {
      headers: { authorization: `Token ${secret}` },
    });
    expect(await answer.json()).toMatchObject({ items: [], total: 0 });
    const { page, complaints, close } = await world.bearer(secret, "/console/enrolment");
    await page.getByText("Nothing enrols by itself here that you may see").waitFor();
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("pages through what an account is to prove, beside the list of accounts", async () => {
    const count = 60;
    const names = Array.from({ length: count }, (_, at) => `n${100 + at}.example.com`);
    const { account } = await enrol(world, names);
    const at = `/console/enrolment/accounts/${account}`;
    const { page, complaints, close } = await world.root(at);
    const panel = page.getByRole("complementary");
    const pager = panel.getByRole("navigation", { name: "Pages of the proofs" });
    const proved = (name: string) => panel.getByRole("listitem").filter({ hasText: name });
    await pager.getByText(`1–50 of ${count}`).waitFor();
    await expectSoon(() => proved(".example.com").count(), 50);
    await expectStateAccessible(page);
    await pager.getByRole("button", { name: "Next" }).click();
    await pager.getByText(`51–60 of ${count}`).waitFor();
    await proved("n159.example.com").waitFor();
    await expectSoon(() => proved(".example.com").count(), 10);
    await keepPicture(page, "enrolment-proofs");
    await page.reload();
    await proved("n159.example.com").getByRole("link", { name: "End" }).click();
    await page.getByRole("dialog").waitFor();
    await page.getByRole("button", { name: "End the authorization" }).click();
    await pager.getByText(`51–59 of ${count - 1}`).waitFor();
    // The list beside it is at its first page, and leads to panels at theirs.
    const row = page.getByRole("row").getByRole("link", { name: account });
    await expectSoon(() => row.getAttribute("href"), at);
    await pager.getByRole("button", { name: "Back" }).click();
    await pager.getByText(`1–50 of ${count - 1}`).waitFor();
    await proved("n100.example.com").waitFor();
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);
});

/** Parts with panels, and what each is of. */
const unknowns = { accounts: "account", orders: "order", credentials: "credential" };
