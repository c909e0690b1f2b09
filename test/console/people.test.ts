/** People in the console: tokens and their secrets, tenants and their quotas, grants, rights. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";

import { chromiumPath } from "#test/support/instances/browser.ts";
import {
  ConsoleWorld,
  expectStateAccessible,
  expectTree,
  keepPicture,
} from "#test/support/instances/console-world.ts";
import { createChain } from "#test/support/instances/first-certificate.ts";
import { hostile } from "#test/support/instances/hostile.ts";
import { plainText } from "#web/ui/plain.ts";
import { expectSoon } from "#test/support/until.ts";
import { copyText } from "#test/support/instances/issue-page.ts";

let world: ConsoleWorld;
let issuing: string;

beforeAll(async () => {
  if (chromiumPath === undefined) return;
  world = await ConsoleWorld.start();
  issuing = (await createChain(world.instance, "ecdsa-p256")).intermediateId;
}, 60_000);
afterAll(() => world?.stop());

const mint = (name: string) =>
  world.instance.admin<{ readonly id: string; readonly secret: string }>("POST", "/api/tokens", {
    name,
    roles: ["issuer"],
  });

const asked = (secret: string) =>
  world.instance.fetch("/api/me", { headers: { authorization: `Token ${secret}` } });

describe.skipIf(chromiumPath === undefined)("people in the console", () => {
  test("see their own session in a row as high as any other, and how else it ends", async () => {
    const { page, complaints, close } = await world.root("/console/people/sessions");
    const row = page.getByRole("row", { name: /\(you\)/ }).first();
    await row.getByRole("button", { name: "Log out here" }).waitFor();
    const height = async () => (await row.boundingBox())?.height;
    expect(await height()).toBe(36);
    await page.evaluate(() => document.documentElement.setAttribute("data-density", "dense"));
    expect(await height()).toBe(28);
    await page.getByText("pkid sessions list").first().waitFor();
    await expectStateAccessible(page);
    await keepPicture(page, "people-sessions");
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("make an API token whose secret is shown once, and revoke it", async () => {
    const { page, complaints, close } = await world.root("/console/people/tokens");
    await page.getByText("No API token yet.").waitFor();
    await expectTree(page, "people-tokens-empty");
    await page.getByRole("link", { name: "New API token" }).first().click();
    await page.getByLabel("Name", { exact: true }).fill("deploy bot");
    await expectStateAccessible(page);
    await page.getByRole("button", { name: "Make the token" }).click();
    await page.getByText("Nobody can show it again").waitFor();
    const secret = await copyText(page.getByTitle("Copy secret"));
    expect(secret).toMatch(/^pki_pat_/);
    expect((await asked(secret)).status).toBe(200);
    await page.getByRole("button", { name: "I have kept it" }).click();
    await page.getByRole("complementary").getByRole("heading", { name: "deploy bot" }).waitFor();
    expect(await page.content()).not.toContain(secret);
    await page.getByRole("link", { name: "deploy bot" }).waitFor();
    await expectTree(page, "people-token");
    await expectStateAccessible(page);
    await keepPicture(page, "people-token");
    await page.getByRole("link", { name: "Revoke", exact: true }).click();
    await page.getByRole("button", { name: "Revoke deploy bot" }).click();
    await page.getByText("It is revoked.").waitFor();
    expect((await asked(secret)).status).toBe(401);
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("revoke an API token that is older than any page of the list reaches", async () => {
    const oldest = await mint("the oldest");
    for (const name of ["a newer one", "the newest"]) await mint(name);
    const { page, complaints, close } = await world.root("/console/");
    // As where a page held one.
    let broken = true;
    await page.route(/\/api\/tokens\?/, async (route) => {
      const url = new URL(route.request().url());
      const refused = { error: "It broke.", code: "internal" };
      if (broken && url.searchParams.has("cursor")) {
        return await route.fulfill({ status: 500, json: refused });
      }
      url.searchParams.set("limit", "1");
      await route.continue({ url: url.href });
    });
    await page.goto(`${world.origin}/console/people/tokens/${oldest.id}?dialog=revoke`);
    const panel = page.getByRole("complementary");
    await panel.getByText("It broke.").waitFor();
    await expectSoon(() => page.getByRole("dialog").count(), 0);
    broken = false;
    await panel.getByRole("button", { name: "Try again" }).click();
    await page.getByRole("button", { name: "Revoke the oldest" }).click();
    await panel.getByText("It is revoked.").waitFor();
    expect((await asked(oldest.secret)).status).toBe(401);
    await page.goto(`${world.origin}/console/people/tokens/${crypto.randomUUID()}`);
    await panel.getByText("It is not among those that you may see.").waitFor();
    await expectStateAccessible(page);
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("keep what was typed when the server refuses it, and see which field it is", async () => {
    const { page, complaints, close } = await world.root("/console/people/tenants?dialog=new");
    await page.getByLabel("Slug").fill("Not A Slug");
    await page.getByRole("button", { name: "Make the tenant" }).click();
    const slug = page.getByLabel("Slug");
    await page.locator('[aria-invalid="true"]').waitFor();
    await expectSoon(() => slug.getAttribute("aria-invalid"), "true");
    await expectSoon(() => slug.inputValue(), "Not A Slug");
    await page.getByRole("alert").getByText("invalid_field").waitFor();
    await slug.fill("acme");
    await page.getByRole("button", { name: "Make the tenant" }).click();
    await page.getByRole("complementary").getByRole("heading", { name: "acme" }).waitFor();
    await page.getByRole("link", { name: "Quotas" }).click();
    await page.getByLabel("Certificates a day").fill("10");
    await page.getByRole("button", { name: "Set the quotas" }).click();
    await page.getByText("Issued today: 0 of 10").waitFor();
    await expectStateAccessible(page);
    await page.getByRole("link", { name: "Suspend" }).click();
    await page.getByRole("button", { name: "Suspend acme" }).click();
    await page.getByRole("link", { name: "Let it issue again" }).waitFor();
    await page.getByRole("cell", { name: "suspended" }).waitFor();
    await page.getByText("Valid now: 0 of unlimited").waitFor();
    await expectTree(page, "people-tenant");
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("grant rights on one CA, see why somebody has them, and take them back", async () => {
    const { page, complaints, close } = await world.root(`/console/people/grants?ca=${issuing}`);
    await page.getByRole("link", { name: "Grant", exact: true }).click();
    await page.getByLabel("Subject or group").fill("alice");
    await page.getByRole("button", { name: "Grant", exact: true }).click();
    await page.getByRole("cell", { name: "user alice" }).waitFor();
    await page.getByLabel("Subject", { exact: true }).fill("alice");
    await page.getByRole("button", { name: "Ask" }).click();
    await page.getByText("ca-issuer").nth(1).waitFor();
    await expectStateAccessible(page);
    await page.getByRole("link", { name: "Take back" }).click();
    await page.getByRole("button", { name: "Take ca-issuer back" }).click();
    await page.getByText("Nobody has a grant on this CA").waitFor();
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("see as disabled, with the reason, what they may not do", async () => {
    const secret = await world.instance.token(["auditor"], { scope: "platform" });
    const { page, complaints, close } = await world.bearer(secret, "/console/people/tenants");
    const button = page.getByRole("button", { name: "New tenant" });
    await button.waitFor();
    await expectSoon(() => button.isDisabled(), true);
    await page.getByText("Needs tenant:manage on the whole platform.").waitFor();
    await expectStateAccessible(page);
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("read as a fact what is switched off, or not theirs to see, and nothing is asked", async () => {
    const secret = await world.instance.token(["auditor"], { scope: "platform" });
    const { page, complaints, quiet, close } = await world.bearer(secret, "/console/people/tokens");
    const asked: string[] = [];
    page.on("request", (request) => asked.push(new URL(request.url()).pathname));
    await page.locator(".notice", { hasText: "Needs token:manage." }).waitFor();
    for (const [path, words] of [
      ["API tokens", "Needs token:manage."],
      ["Sessions", "Needs session:manage on the whole platform."],
      ["Passkeys", "You use an API token, which has no passkeys"],
    ] as const) {
      await page.getByRole("navigation").getByRole("link", { name: path, exact: true }).click();
      await page.locator(".notice", { hasText: words }).waitFor();
      await quiet();
      await expectSoon(() => page.getByRole("alert").count(), 0);
      await expectStateAccessible(page);
    }
    await page.getByRole("link", { name: "Grants", exact: true }).click();
    await page.getByLabel("Certificate authority").selectOption(issuing);
    await page.locator(".notice", { hasText: "Needs grant:manage." }).first().waitFor();
    await expectSoon(() => page.getByRole("alert").count(), 0);
    expect(asked.filter((path) => /tokens|sessions|webauthn/.test(path))).toEqual([]);
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("read that passkeys are switched off, and are offered none", async () => {
    const { page, complaints, quiet, close } = await world.root("/console/people/passkeys");
    await page.getByText("Passkeys are switched off here").waitFor();
    await quiet();
    await expectSoon(() => page.getByRole("alert").count(), 0);
    await expectSoon(() => page.getByRole("button", { name: "Add a passkey" }).count(), 0);
    await expectStateAccessible(page);
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("see hostile names as what they are", async () => {
    for (const name of hostile(100)) {
      await world.instance.admin("POST", "/api/tokens", { name, roles: ["auditor"] });
    }
    const { page, complaints, close } = await world.root("/console/people/tokens");
    for (const name of hostile(100)) {
      // A mark of direction is written out, so that it turns nothing around.
      await page
        .getByRole("link", { name: plainText(name), exact: true })
        .first()
        .waitFor();
    }
    expect(await page.evaluate("window.hacked")).toBeUndefined();
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);
});
