/** What one may not do is shown disabled with its reason, wherever its address leads. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";

import { chromiumPath } from "#test/support/instances/browser.ts";
import { ConsoleWorld, expectStateAccessible } from "#test/support/instances/console-world.ts";
import { makeCas } from "#test/support/instances/issue-page.ts";
import { go, reasonOf } from "#test/support/instances/reasons.ts";
import { expectSoon } from "#test/support/until.ts";

let world: ConsoleWorld;
let issuing: string;
/** Of a platform-wide issuer, who manages nothing. */
let issuer: string;
let admin: string;

beforeAll(async () => {
  if (chromiumPath === undefined) return;
  world = await ConsoleWorld.start({
    acme: { enabled: true, ca_label: "example-issuing", base_url: "https://pki.example" },
  });
  issuing = await makeCas(world);
  issuer = await world.instance.token(["issuer"], { scope: "platform" });
  admin = await world.instance.token(["admin"], { scope: "platform" });
}, 60_000);

afterAll(() => world?.stop());

/** Each dialog by its address, its button, and what it needs. */
const dialogs = () =>
  [
    ["people/tokens?dialog=new", "Make the token", "Needs token:manage in this tenant."],
    ["enrolment/credentials?dialog=new", "Make the credential", "Needs ca:manage."],
    ["people/tenants?dialog=new", "Make the tenant", "Needs tenant:manage on the whole platform."],
    [
      "people/tenants/default?dialog=quotas",
      "Set the quotas",
      "Needs tenant:manage on the whole platform.",
    ],
    ["people/tenants/default?dialog=status", /^Suspend/, "Needs tenant:manage on the whole"],
    ["people/tenants/default?dialog=delete", /^Delete/, "Needs tenant:manage on the whole"],
    [`people/grants?ca=${issuing}&dialog=grant`, "Grant", "Needs grant:manage on this CA."],
    ["people/sessions?dialog=end-1", "End the session", "Needs session:manage on the whole"],
    ["operations/blocked?dialog=block", "Block the key", "Needs ca:manage on the whole platform."],
    ["events?dialog=export", "Export", undefined],
    ["authorities?dialog=root", "Create the root", "Needs ca:manage"],
  ] as const;

describe.skipIf(chromiumPath === undefined)("a dialog that its address opens", () => {
  test("says what whoever may not send it would need, and sends nothing", async () => {
    const { page, complaints, quiet, close } = await world.bearer(issuer, "/console/people");
    const sent: string[] = [];
    page.on("request", (request) => request.method() !== "GET" && sent.push(request.url()));
    for (const [address, name, needs] of dialogs()) {
      await go(page, address);
      const button = page.getByRole("dialog").getByRole("button", { name, exact: true });
      await button.waitFor();
      // Which tenant is meant is known a moment later.
      await quiet();
      expect([address, await button.isEnabled()]).toEqual([address, needs === undefined]);
      if (needs !== undefined)
        await expectSoon(() => reasonOf(button), expect.stringContaining(needs));
    }
    await expectStateAccessible(page);
    expect(sent.filter((url) => !url.endsWith("/preview"))).toEqual([]);
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("says what is still missing, and then lets it be sent", async () => {
    const { page, complaints, close } = await world.bearer(admin, "/console/people");
    await go(page, "people/tokens?dialog=new");
    const dialog = page.getByRole("dialog");
    const make = dialog.getByRole("button", { name: "Make the token" });
    await expectSoon(() => reasonOf(make), "Type a name first.");
    await expectSoon(() => make.isDisabled(), true);
    await dialog.getByLabel("Name", { exact: true }).fill("deploy-bot");
    await expectSoon(() => reasonOf(make), "");
    await make.click();
    await page.getByText("The secret, this once").waitFor();
    await go(page, "people/tenants?dialog=new");
    const tenant = dialog.getByRole("button", { name: "Make the tenant" });
    await expectSoon(() => reasonOf(tenant), "Type a slug first.");
    await dialog.getByLabel("Slug").fill("shop");
    await tenant.click();
    await page.waitForURL(/people\/tenants\/[^?]+$/);
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);
});

describe.skipIf(chromiumPath === undefined)("the parts of operations", () => {
  test("offer no checks and no rotation to whoever lacks the right", async () => {
    const { page, complaints, close } = await world.bearer(issuer, "/console/operations/preflight");
    const check = page.getByRole("button", { name: "Check again" });
    await check.waitFor();
    await expectSoon(() => check.isDisabled(), true);
    await expectSoon(() => reasonOf(check), "Needs ca:manage on the whole platform.");
    await expectSoon(() => page.getByLabel("look outside too").isDisabled(), true);
    await go(page, "operations/keys");
    const rotate = page.getByRole("button", { name: "Rotate the KEK", exact: true });
    await rotate.waitFor();
    await expectSoon(() => reasonOf(rotate), "Needs hsm:manage on the whole platform.");
    expect(complaints).toEqual([]);
    await close();
  }, 45_000);

  test("keep in the address what is looked for, and add nothing to the way back", async () => {
    const { page, complaints, close } = await world.bearer(admin, "/console/operations/preflight");
    const before = await page.evaluate(() => history.length);
    await page.getByLabel("look outside too").check();
    await page.waitForURL(/[?&]outside=true$/);
    await page.getByRole("button", { name: "Check again" }).click();
    expect(await page.evaluate(() => history.length)).toBe(before);
    await go(page, "operations/settings?defaults=true&q=webauthn");
    const key = page.getByLabel("Keys that contain");
    await expectSoon(() => key.inputValue(), "webauthn");
    await page.getByRole("cell", { name: "auth.webauthn.enabled" }).waitFor();
    await key.fill("acme.enabled");
    await page.waitForURL(/q=acme.enabled/);
    await page.getByRole("cell", { name: "acme.enabled" }).waitFor();
    await expectSoon(() => page.getByRole("cell", { name: "auth.webauthn.enabled" }).count(), 0);
    await go(page, "manual/interface?q=kek");
    await expectSoon(() => page.getByLabel("Operations that contain").inputValue(), "kek");
    await page.getByRole("link", { name: "/api/kek/rotate" }).click();
    await page.waitForURL(/kek.rotate\?q=kek$/);
    expect(complaints).toEqual([]);
    await close();
  }, 45_000);
});

describe.skipIf(chromiumPath === undefined)("credentials of enrolment", () => {
  test("are withheld without asking from whom no grant could show them", async () => {
    const visit = await world.bearer(issuer, "/console/people");
    const { page, complaints, quiet, close } = visit;
    const asked: string[] = [];
    page.on("request", (request) => asked.push(new URL(request.url()).pathname));
    await go(page, "enrolment/credentials");
    await page.locator(".notice", { hasText: "Needs ca:manage." }).first().waitFor();
    await quiet();
    expect(asked).not.toContain("/api/acme/eab");
    await expectSoon(() => page.getByRole("alert").count(), 0);
    expect(complaints).toEqual([]);
    await close();
  }, 45_000);

  test("are shown to whoever manages them", async () => {
    const { page, complaints, close } = await world.bearer(admin, "/console/enrolment/credentials");
    await page.getByText("No credential fits.").waitFor();
    expect(complaints).toEqual([]);
    await close();
  }, 45_000);
});

describe.skipIf(chromiumPath === undefined)("a page with nothing on it", () => {
  test("says what to do next, with the link and the line that do it", async () => {
    const empty = await ConsoleWorld.start();
    const auditor = await empty.instance.token(["auditor"], { scope: "platform" });
    const { page, complaints, close } = await empty.bearer(auditor, "/console/certificates");
    const line = page.locator(".empty code, .empty .copy", { hasText: "pkid " }).first();
    const authorities = page.locator(".empty").getByRole("link", { name: "Go to the authorities" });
    for (const address of ["certificates", "issue", "revoke"]) {
      await go(page, address);
      await line.waitFor();
      await authorities.waitFor();
    }
    await go(page, "operations/publication");
    const root = page.locator(".empty").getByRole("button", { name: "Create a root" });
    await line.waitFor();
    await expectSoon(() => reasonOf(root), expect.stringContaining("Needs ca:manage"));
    await go(page, "approvals");
    await page.getByRole("link", { name: "See what takes two here" }).waitFor();
    await line.waitFor();
    await go(page, "certificates");
    await authorities.click();
    await page.waitForURL("**/console/authorities");
    expect(complaints).toEqual([]);
    await close();
    await empty.stop();
  }, 60_000);

  test("offers the first CA below one to whoever may make it, and says why to others", async () => {
    for (const [secret, may] of [
      [admin, true],
      [issuer, false],
    ] as const) {
      const { page, complaints, close } = await world.bearer(secret, "/console/people");
      await go(page, `authorities/${issuing}`);
      const below = page.getByRole("region", { name: "CAs below it" });
      await below.getByText("There is none yet.").waitFor();
      await below.getByText("pkid ca issue-intermediate").waitFor();
      if (may) await below.getByRole("link", { name: "Issue the first" }).click();
      else await below.getByText("Needs ca:manage on this CA.").waitFor();
      if (may)
        await page.getByRole("dialog").getByRole("button", { name: "Issue the CA" }).waitFor();
      expect(complaints).toEqual([]);
      await close();
    }
  }, 60_000);
});
