/** Overview and operations in the console: what needs a person, and all that is looked at. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { chromiumPath } from "#test/support/instances/browser.ts";
import {
  ConsoleWorld,
  expectStateAccessible,
  expectTree,
  keepPicture,
  rootPassword,
} from "#test/support/instances/console-world.ts";
import { createChain } from "#test/support/instances/first-certificate.ts";
import { expectSoon } from "#test/support/until.ts";

let world: ConsoleWorld;

beforeAll(async () => {
  if (chromiumPath === undefined) return;
  world = await ConsoleWorld.start({
    log: { level: "info", format: "json" },
    secret: { kek_label: "sealing" },
  });
}, 60_000);
afterAll(() => world?.stop());

describe.skipIf(chromiumPath === undefined)("the overview", () => {
  test("says what to do first where nothing is there, and what needs a person then", async () => {
    const { page, complaints, close } = await world.root("/console/");
    await page.getByText("There is no certificate authority yet.").waitFor();
    await expectStateAccessible(page);
    await createChain(world.instance, "ecdsa-p256");
    await page.reload();
    await page.getByRole("heading", { name: "Needs you" }).waitFor();
    // The tests' password is one that everybody knows.
    await page.getByText(/Preflight config.default_secrets/).waitFor();
    await page.getByRole("heading", { name: "Inventory, by status" }).waitFor();
    await expectStateAccessible(page);
    await keepPicture(page, "overview");
    const card = page.getByRole("region", { name: "Inventory, by status" });
    await card.getByRole("button", { name: "Table" }).click();
    await card.getByRole("cell", { name: "good" }).waitFor();
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);
});

describe.skipIf(chromiumPath === undefined)("operations in the console", () => {
  test("show preflight with its remedies, and run it again", async () => {
    const { page, complaints, close } = await world.root("/console/operations");
    await page.getByText(/\d+ failed, \d+ to look at/).waitFor();
    await page.getByRole("heading", { name: /config.default_secrets/ }).waitFor();
    await expectStateAccessible(page);
    await keepPicture(page, "operations-preflight");
    const again = page.waitForResponse((answer) => answer.url().endsWith("/api/preflight"));
    await page.getByRole("button", { name: "Check again" }).click();
    expect((await again).status()).toBe(200);
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("show keys, ledger, lists, backups and jobs, and sign a list when told to", async () => {
    const { page, complaints, close } = await world.root("/console/operations/keys");
    await page.getByRole("cell", { name: "issuing-ecdsa-p256" }).first().waitFor();
    await page.getByRole("link", { name: "Rotate the KEK sealing" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText(/^\d+ values? (and|or) keys?$/).waitFor();
    await dialog.getByText("1, then 2").waitFor();
    await expectStateAccessible(page);
    await dialog.getByRole("button", { name: "Rotate the KEK sealing" }).click();
    await dialog.waitFor({ state: "hidden" });
    await page.getByText("retired").waitFor();
    await expectStateAccessible(page);
    await page.getByRole("link", { name: "Sign ledger" }).first().click();
    await page.getByRole("cell", { name: "ca certificate" }).first().waitFor();
    await expectStateAccessible(page);
    const saved = page.waitForEvent("download");
    await page.getByRole("button", { name: "With what was signed" }).click();
    const file = readFileSync(await (await saved).path(), "utf8");
    expect(Object.keys(JSON.parse(file))).toContain("sign_operations");
    await page.getByRole("link", { name: "Publication" }).click();
    const row = page.getByRole("row", { name: /issuing-ecdsa-p256/ });
    await row.getByRole("button", { name: "Sign now" }).click();
    await row.getByRole("button", { name: "Sign now" }).waitFor();
    await row.getByRole("time").first().waitFor();
    await page.getByRole("columnheader", { name: "OCSP responder ends" }).waitFor();
    await page.getByText("OCSP answers are signed when they are asked for.").waitFor();
    await expectStateAccessible(page);
    await page.getByRole("link", { name: "Backup" }).click();
    await page.getByText("No backup was ever made.").waitFor();
    await expectTree(page, "operations-backup");
    await page.getByRole("link", { name: "Jobs" }).click();
    await page.getByRole("cell", { name: "crl.renew" }).waitFor();
    // Nobody asks for it: no event tells of a job.
    await page.waitForResponse((answer) => answer.url().endsWith("/api/jobs"));
    await expectStateAccessible(page);
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("ask again for a file that did not come, unless asking again cannot help", async () => {
    const { page, complaints, close } = await world.root("/console/operations/ledger");
    const answers = [
      { status: 503, json: { error: "Too much to do.", code: "overloaded" } },
      { status: 409, json: { error: "There is none.", code: "state_conflict" } },
    ];
    await page.route("**/api/hsm/combined-audit-log", async (route) => {
      const answer = answers.shift();
      await (answer === undefined ? route.continue() : route.fulfill(answer));
    });
    const again = page.getByRole("button", { name: "Try again" });
    const button = page.getByRole("button", { name: "With what was signed" });
    await button.click();
    await page.getByText("Too much to do.").waitFor();
    await expectStateAccessible(page);
    await again.click();
    await page.getByText("There is none.").waitFor();
    await expectSoon(() => again.count(), 0);
    answers.push({ status: 502, json: { error: "It broke.", code: "internal" } });
    await button.click();
    await page.getByText("It broke.").waitFor();
    const saved = page.waitForEvent("download");
    await again.click();
    await (await saved).path();
    await page.getByRole("alert").waitFor({ state: "detached" });
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("show the configuration in force with where it comes from, and no secret", async () => {
    const { page, complaints, close } = await world.root("/console/operations/settings");
    await page.getByRole("cell", { name: "log.format" }).waitFor();
    const log = page.getByRole("region", { name: "Log" });
    await log.getByText(/^info \(.*pkid.yaml/).waitFor();
    const limits = page.getByRole("region", { name: "Load limits" });
    await limits.getByText("no (default)").first().waitFor();
    await limits.getByText(/\d+ with 429, \d+ with 503/).waitFor();
    const row = page.getByRole("row", { name: /^log.format/ });
    await expectSoon(() => row.textContent(), expect.stringContaining("pkid.yaml"));
    await expectSoon(
      () => page.getByRole("row", { name: /^root_user.password/ }).textContent(),
      expect.stringContaining("***"),
    );
    expect(await page.content()).not.toContain(rootPassword);
    await page.getByLabel("defaults too").check();
    await page.getByRole("cell", { name: "crl.shards" }).waitFor();
    await expectStateAccessible(page);
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("still show what is in force when the configuration cannot be read any more", async () => {
    const file = join(world.instance.home, "pkid.yaml");
    const kept = readFileSync(file);
    writeFileSync(file, "log: [\n");
    const found = await world.instance.admin<{ settings: { path: string; origin: string }[] }>(
      "GET",
      "/api/config",
    );
    writeFileSync(file, kept);
    expect(found.settings).toContainEqual(
      expect.objectContaining({
        path: "log.format",
        value: "json",
        origin: "unknown: the configuration cannot be read now",
        waits: false,
      }),
    );
  }, 60_000);

  test("are of those who manage CAs everywhere", async () => {
    const secret = await world.instance.token(["auditor"], { scope: "platform" });
    for (const path of ["/api/config", "/api/jobs", "/api/backup"]) {
      const answer = await world.instance.fetch(path, {
        headers: { authorization: `Token ${secret}` },
      });
      expect([path, answer.status]).toEqual([path, 403]);
    }
    const { page, complaints, close } = await world.bearer(secret, "/console/operations");
    await page.getByText("Needs ca:manage on the whole platform.").first().waitFor();
    await expectSoon(() => page.getByRole("alert").count(), 0);
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);
});
