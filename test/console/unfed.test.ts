/** Whoever may not read events: what is shown moves all the same, and a tab behind is quiet. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";

import { chromiumPath } from "#test/support/instances/browser.ts";
import { ConsoleWorld } from "#test/support/instances/console-world.ts";

let world: ConsoleWorld;

beforeAll(async () => {
  if (chromiumPath === undefined) return;
  world = await ConsoleWorld.start();
}, 60_000);

afterAll(() => world?.stop());

describe.skipIf(chromiumPath === undefined)("the console without the feed", () => {
  test("asks for lists and the bell again every 15 seconds, while it is seen", async () => {
    const secret = await world.instance.token(["approver"]);
    const visit = await world.stranger("/console/approvals");
    const { page, complaints, quiet, close } = visit;
    await page.clock.install();
    await page.reload();
    await page.getByText("Use an API token").click();
    await page.getByLabel("API token", { exact: true }).fill(secret);
    await page.getByRole("button", { name: "Log in" }).last().click();
    await page.getByRole("status").filter({ hasText: "not live" }).waitFor();
    await page.getByText("No request was ever made.").waitFor();
    await quiet();
    const list = page.waitForRequest(/approvals\?limit=50$/);
    const bell = page.waitForRequest(/approvals\?decidable=true&limit=1$/);
    await page.clock.fastForward(15_000);
    await Promise.all([list, bell]);
    await quiet();
    const asked: string[] = [];
    page.on("request", (request) => asked.push(request.url()));
    await page.evaluate(
      `Object.defineProperty(document, "hidden", { value: true, writable: true })`,
    );
    await page.clock.fastForward(60_000);
    await quiet();
    expect(asked).toEqual([]);
    const seen = page.waitForRequest(/approvals\?limit=50$/);
    await page.evaluate(
      `document.hidden = false; document.dispatchEvent(new Event("visibilitychange"))`,
    );
    await seen;
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("asks for the groups of a search that are drawn, and not before their answers came", async () => {
    const secret = await world.instance.token(["approver"]);
    const visit = await world.stranger("/console/certificates?ca=*&q=x.example");
    const { page, complaints, quiet, close } = visit;
    let asked = 0;
    let held = Promise.resolve();
    await page.route(/\/api\/ca\?/, (route) => route.fulfill({ json: listed(manyCas) }));
    await page.route(/\/api\/ca\/[^/]+\/certificates\?/, async (route) => {
      asked++;
      await held;
      await route.fulfill({ json: listed([oneCertificate]) });
    });
    await page.clock.install();
    await page.reload();
    await page.getByText("Use an API token").click();
    await page.getByLabel("API token", { exact: true }).fill(secret);
    await page.getByRole("button", { name: "Log in" }).last().click();
    await page.getByText("60 found in 60 CAs.").waitFor();
    await page.getByRole("status").filter({ hasText: "not live" }).waitFor();
    // From here on time goes by as the test wants it.
    await page.clock.pauseAt(Number(await page.evaluate("Date.now() + 1000")));
    await quiet();
    asked = 0;
    await page.clock.fastForward(15_000);
    await quiet();
    expect(asked).toBe(50);
    const release = Promise.withResolvers<void>();
    held = release.promise;
    const first = page.waitForRequest(/certificates\?/);
    await page.clock.fastForward(15_000);
    await first;
    await page.clock.fastForward(15_000);
    await page.clock.fastForward(15_000);
    release.resolve();
    await quiet();
    expect(asked).toBe(100);
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);
});

const listed = (items: readonly object[]) => ({ items, total: items.length, has_more: false });

const manyCas = Array.from({ length: 60 }, (_, at) => ({
  id: `ca-${at}`,
  tenant_id: "default",
  label: `many-${at}`,
  provider: "software",
  key_type: "ecdsa-p256",
  algorithm: "classical",
  public_key_fingerprint: `SHA256:${at}`,
  subject: `CN=Many ${at}`,
  status: "active",
  created_at: "2026-01-01T00:00:00.000000Z",
}));

const oneCertificate = {
  serial: "17",
  common_name: "x.example",
  subject: "CN=x.example",
  sans: ["dns:x.example"],
  profile: "server",
  status: "good",
  not_before: "2026-01-01T00:00:00.000000Z",
  not_after: "2099-01-01T00:00:00.000000Z",
  superseded: false,
  requested_by: "root",
  created_at: "2026-01-01T00:00:00.000000Z",
  ct_status: "none",
  sct_count: 0,
  public_key_fingerprint: "SHA256:17",
};
