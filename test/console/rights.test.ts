/** What one may not see says which capability it needs, and is not asked for when that is known. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";

import { chromiumPath } from "#test/support/instances/browser.ts";
import { ConsoleWorld } from "#test/support/instances/console-world.ts";
import { makeCas } from "#test/support/instances/issue-page.ts";
import { expectSoon } from "#test/support/until.ts";

let world: ConsoleWorld;

beforeAll(async () => {
  if (chromiumPath === undefined) return;
  world = await ConsoleWorld.start({
    acme: { enabled: true, ca_label: "example-issuing", base_url: "https://pki.example" },
  });
  await makeCas(world);
}, 60_000);

afterAll(() => world?.stop());

describe.skipIf(chromiumPath === undefined)("an auditor in the console", () => {
  test("reads what a page needs, of which nothing was asked", async () => {
    const secret = await world.instance.token(["auditor"], { scope: "platform" });
    const visit = await world.bearer(secret, "/console/operations/preflight");
    const { page, complaints, quiet, close } = visit;
    const asked: string[] = [];
    page.on("request", (request) => asked.push(new URL(request.url()).pathname));
    await page.getByText("Needs ca:manage on the whole platform.").first().waitFor();
    for (const [part, capability] of [
      ["Configuration", "ca:manage"],
      ["Keys", "hsm:manage"],
      ["Preflight", "ca:manage"],
    ] as const) {
      await page.getByRole("link", { name: part, exact: true }).click();
      await page
        .locator(".notice", { hasText: `Needs ${capability}` })
        .first()
        .waitFor();
      await quiet();
      await expectSoon(() => page.getByRole("alert").count(), 0);
    }
    expect(asked.filter((path) => /preflight|config|kek/.test(path))).toEqual([]);
    expect(complaints).toEqual([]);
    await close();
  }, 45_000);

  test("reads what a refusal of the server would have needed", async () => {
    const secret = await world.instance.token(["approver"], { scope: "platform" });
    const { page, complaints, close } = await world.bearer(secret, "/console/events");
    const alert = page.getByRole("alert").first();
    await alert.waitFor();
    await expectSoon(
      () => alert.textContent(),
      expect.stringContaining("You may not do this. Needs audit:read."),
    );
    expect(complaints).toEqual([]);
    await close();
  }, 45_000);
});
