/** What the console says where an authority may not be made or changed, or needs somebody else. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Locator, Page } from "playwright-core";

import { chromiumPath } from "#test/support/instances/browser.ts";
import {
  ConsoleWorld,
  expectStateAccessible,
  expectTree,
} from "#test/support/instances/console-world.ts";
import { reasonOf } from "#test/support/instances/reasons.ts";
import { expectSoon } from "#test/support/until.ts";

let world: ConsoleWorld;
let root: Made;
let issuing: Made;

beforeAll(async () => {
  if (chromiumPath === undefined) return;
  world = await ConsoleWorld.start({
    approvals: { enabled: true, thresholds: { "ca.rotate": 1 } },
  });
  const permitted = { dns: ["example.test"] };
  root = await make({ label: "strict", max_path_len: 1, name_constraints: { permitted } });
  issuing = await make({ label: "strict-issuing" }, root);
}, 60_000);

afterAll(() => world?.stop());

interface Made {
  readonly id: string;
  readonly label: string;
}

const dialog = (page: Page): Locator => page.getByRole("dialog");

const make = (
  { label, ...more }: Readonly<Record<string, unknown>>,
  parent?: Made,
): Promise<Made> =>
  world.instance.admin(
    "POST",
    parent === undefined ? "/api/ca/init-root" : `/api/ca/${parent.id}/issue-intermediate`,
    { label, subject: { cn: `Example ${label}` }, key_type: "ecdsa-p256", ...more },
  );

/** Somebody who may read and no more. */
const auditor = async (path: string) =>
  world.bearer(await world.instance.token(["auditor"], { scope: "platform" }), path);

const invalid = (field: Locator): Promise<string | null> => field.getAttribute("aria-invalid");

describe.skipIf(chromiumPath === undefined)("authorities that may not be changed", () => {
  test("whoever only reads sees everything, and why nothing can be pressed", async () => {
    const { page, complaints, close } = await auditor("/console/authorities");
    await page.getByRole("link", { name: "strict-issuing" }).waitFor();
    const create = page.getByRole("button", { name: "Create a root" });
    await expectSoon(() => create.isDisabled(), true);
    await page.getByText("Needs ca:manage", { exact: false }).first().waitFor();
    await expectStateAccessible(page);
    await page.getByRole("link", { name: "strict-issuing" }).click();
    await page.getByRole("heading", { name: "strict-issuing" }).waitFor();
    await page.getByRole("link", { name: "Rollover" }).click();
    await page.getByRole("cell", { name: "0 certificates" }).waitFor();
    await page.getByText("strict", { exact: true }).waitFor();
    await page.getByText("Needs ca:manage on this CA.").first().waitFor();
    await expectTree(page, "authorities-auditor");
    await expectStateAccessible(page);
    await expectSoon(() => page.getByRole("button", { name: "Rotate the key" }).isDisabled(), true);
    await close();
    const address = `/console/authorities/${issuing.id}?dialog=intermediate`;
    const again = await auditor(address);
    await dialog(again.page).getByText("Needs ca:manage on this CA.").waitFor();
    const send = dialog(again.page).getByRole("button", { name: "Issue the CA" });
    await expectSoon(() => send.isDisabled(), true);
    expect([...complaints, ...again.complaints]).toEqual([]);
    await again.close();
  }, 60_000);

  test("what the server refuses is marked at its field, and nothing typed is lost", async () => {
    const { page, complaints, close } = await world.root("/console/authorities?dialog=root");
    await dialog(page).getByLabel("Label").fill("strict");
    const create = dialog(page).getByRole("button", { name: "Create the root" });
    await create.click();
    await dialog(page).locator('[aria-invalid="true"]').first().waitFor();
    await expectSoon(() => invalid(dialog(page).getByLabel("Common name")), "true");
    await dialog(page).getByLabel("Common name").fill("Second");
    await create.click();
    await dialog(page).getByRole("alert").getByText("already_exists").waitFor();
    await expectSoon(() => invalid(dialog(page).getByLabel("Label")), "true");
    await expectSoon(() => dialog(page).getByLabel("Common name").inputValue(), "Second");
    await expectStateAccessible(page);
    await page.goto(`${world.origin}/console/authorities/${issuing.id}?dialog=intermediate`);
    await dialog(page).getByLabel("Label").fill("too-deep");
    await dialog(page).getByLabel("Common name").fill("Too deep");
    const issue = dialog(page).getByRole("button", { name: "Issue the CA" });
    await issue.click();
    await dialog(page).getByText("leaves no room for it.").first().waitFor();
    await expectSoon(() => invalid(dialog(page).getByLabel("CAs below it at most")), "true");
    await page.goto(`${world.origin}/console/authorities/${root.id}?dialog=intermediate`);
    await dialog(page).getByLabel("Label").fill("elsewhere");
    await dialog(page).getByLabel("Common name").fill("Elsewhere");
    await dialog(page).getByText("Name constraints: which names").click();
    const domains = dialog(page).getByLabel("Permitted: DNS domains");
    await domains.fill("other.test");
    await issue.click();
    await dialog(page).getByText("lies outside what the issuer permits").waitFor();
    await expectSoon(() => domains.inputValue(), "other.test");
    await domains.fill("not a domain");
    await issue.click();
    await dialog(page).getByText("must be a domain").first().waitFor();
    await dialog(page).getByLabel("Valid for (days)").fill("36000");
    await domains.fill("example.test");
    await issue.click();
    await dialog(page).getByText("by the issuer's own life").first().waitFor();
    await expectSoon(() => invalid(dialog(page).getByLabel("Valid for (days)")), "true");
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("what is missing is said at each field when it is sent, and nothing is asked", async () => {
    const { page, complaints, close } = await world.root("/console/authorities?dialog=root");
    const sent: string[] = [];
    page.on("request", (request) => sent.push(`${request.method()} ${request.url()}`));
    const create = dialog(page).getByRole("button", { name: "Create the root" });
    const [label, name] = ["Label", "Common name"].map((word) => dialog(page).getByLabel(word));
    if (label === undefined || name === undefined) throw new Error("both are named");
    await expectSoon(() => invalid(label), "false");
    await dialog(page).getByLabel("Organisation").fill("Example");
    await create.click();
    await dialog(page).getByText("Type a label.").waitFor();
    await expectSoon(() => reasonOf(name), "Type a common name.");
    expect(await label.evaluate((field) => field === document.activeElement)).toBe(true);
    await expectStateAccessible(page);
    await label.pressSequentially("told");
    await label.press("Enter");
    await dialog(page).getByText("Type a label.").waitFor({ state: "detached" });
    expect(await name.evaluate((field) => field === document.activeElement)).toBe(true);
    await expectSoon(() => dialog(page).getByLabel("Organisation").inputValue(), "Example");
    expect(sent.filter((one) => one.startsWith("POST"))).toEqual([]);
    await name.fill("Told");
    await create.click();
    await dialog(page).getByText("told is made.").waitFor();
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("a root waits for the list of tenants, which its button states", async () => {
    const { page, complaints, close } = await world.root("/console/");
    const late = Promise.withResolvers<void>();
    await page.route(/\/api\/tenants\?/, async (route) => {
      await late.promise;
      await route.continue();
    });
    await page.goto(`${world.origin}/console/authorities?dialog=root`);
    await dialog(page).getByLabel("Label").fill("patient");
    await dialog(page).getByLabel("Common name").fill("Patient");
    const create = dialog(page).getByRole("button", { name: "Create the root" });
    await expectSoon(() => reasonOf(create), "No tenant is loaded yet.");
    await expectSoon(() => create.isDisabled(), true);
    await expectSoon(() => dialog(page).getByLabel("Tenant", { exact: true }).count(), 0);
    late.resolve();
    await create.click();
    await dialog(page).getByText("patient is made.").waitFor();
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("what takes two is said before, and leads to the request that waits", async () => {
    const path = `/console/authorities/${issuing.id}?tab=rollover&dialog=rotate`;
    const { page, complaints, close } = await world.root(path);
    await dialog(page).getByText("somebody else must approve").waitFor();
    await dialog(page).getByRole("button", { name: "Give strict-issuing a new key" }).click();
    await dialog(page).getByText("must approve it.").waitFor();
    const send = dialog(page).getByRole("button", { name: "Give strict-issuing a new key" });
    await expectSoon(() => send.isDisabled(), true);
    await expectStateAccessible(page);
    await dialog(page).getByRole("link", { name: "Open the request" }).click();
    await page.waitForURL(/\/console\/approvals\/apr_/);
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("an authority of a suspended tenant says that it is suspended", async () => {
    const name = `<img src=x onerror=window.hit=1>\u202e${"A".repeat(100)}`;
    const tenant = await world.instance.admin<{ id: string }>("POST", "/api/tenants", {
      slug: "still",
      name,
    });
    const { id } = await make({ label: "stilled", tenant_id: tenant.id });
    const still = { status: "suspended" };
    await world.instance.admin("PUT", `/api/tenants/${tenant.id}/status`, still);
    const { page, complaints, close } = await world.root(`/console/authorities/${id}`);
    await page.getByText("The tenant is suspended.").first().waitFor();
    const below = page.getByRole("button", { name: "Issue a CA below it" });
    await expectSoon(() => below.isDisabled(), true);
    await expectSoon(
      () => page.locator("main").textContent(),
      expect.stringContaining("<img src=x"),
    );
    await expectSoon(() => page.locator("main").textContent(), expect.stringContaining("[U+202E]"));
    expect(await page.evaluate("window.hit")).toBeUndefined();
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("an address that names no authority says so", async () => {
    const { page, complaints, close } = await world.root("/console/authorities/nobody");
    await page.getByRole("alert").getByText("not_found").waitFor();
    await expectStateAccessible(page);
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);
});
