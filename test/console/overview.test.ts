/** The overview in the console: what needs a person, and figures that say whose they are. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";

import type { Answers } from "#api/answers.ts";
import { chromiumPath } from "#test/support/instances/browser.ts";
import {
  ConsoleWorld,
  expectStateAccessible,
  keepPicture,
} from "#test/support/instances/console-world.ts";
import { createChain } from "#test/support/instances/first-certificate.ts";
import { newCsr } from "#test/support/instances/relying-party.ts";
import { expectSoon } from "#test/support/until.ts";

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
const plotsRefused = [
  "Requests a second",
  "Issued and revoked, 30 days",
  "Not revoked, by time left",
  "Inventory, by status",
];
const fromNow = (ms: number): string => new Date(Date.now() + ms).toISOString();

describe.skipIf(chromiumPath === undefined)("what needs a person", () => {
  test("names failing jobs, responders near their end and a paused clock", async () => {
    const { page, complaints, close } = await world.root("/console/operations/backup");
    await page.route("**/api/jobs", async (route) => {
      const told = await world.instance.admin<Answers["job.list"]>("GET", "/api/jobs");
      const failed = { last_failure: "disk full", last_failure_at: fromNow(0) };
      const jobs = told.jobs.map((job, at) => ({
        ...job,
        ...(at === 0 ? failed : {}),
        late: at === 1,
      }));
      await route.fulfill({ json: { ...told, clock: { behind_until: fromNow(hour) }, jobs } });
    });
    await page.route("**/api/crls?*", async (route) => {
      const told = await world.instance.admin<Answers["crl.list"]>("GET", "/api/crls");
      const responder = { serial: "1", not_before: fromNow(-99 * hour), not_after: fromNow(hour) };
      const items = told.items.map((one, at) => (at === 0 ? { ...one, responder } : one));
      await route.fulfill({ json: { ...told, items } });
    });
    await page.getByRole("link", { name: "Overview" }).first().click();
    await page.getByRole("link", { name: /^The job .* failed: disk full/ }).waitFor();
    await page.getByRole("link", { name: /^The job .* is late/ }).waitFor();
    await page.getByRole("link", { name: /^The OCSP responder of .* ends in/ }).waitFor();
    const clock = page.getByRole("link", { name: /^The clock .* nothing is issued until/ });
    await clock.waitFor();
    await expectStateAccessible(page);
    await keepPicture(page, "overview-needs");
    await clock.click();
    const told = page.getByRole("region", { name: "Clock" });
    await told.getByText(/nothing is issued until it has passed/).waitFor();
    await expectSoon(
      () => told.getByRole("button", { name: "Confirm the time" }).isDisabled(),
      true,
    );
    await told.getByText("pkid monitor clock-accept").first().waitFor();
    await expectStateAccessible(page);
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
    await expectSoon(() => page.getByRole("cell", { name: "soon.example.com" }).count(), 2);
    await page.getByText(/^Expires before: \d{4}-\d\d-\d\d \d\d:\d\d UTC/).waitFor();
    await expectSoon(() => new URL(page.url()).searchParams.get("tenant"), "default");
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("has plots whose bars are named, and tables one key away, as the address says", async () => {
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
    await expectSoon(() => new URL(page.url()).searchParams.get("view"), "table");
    await page.reload();
    await card.getByRole("cell", { name: "revoked" }).waitFor();
    await expectStateAccessible(page);
    await keepPicture(page, "overview-tables");
    await page.goBack();
    await card.getByRole("figure").waitFor();
    await page.goForward();
    await card.getByRole("cell", { name: "revoked" }).waitFor();
    await card.getByRole("button", { name: "Picture" }).click();
    await card.getByRole("figure").waitFor();
    await expectSoon(() => new URL(page.url()).searchParams.has("view"), false);
    // Whoever is sent the address sees the same, whatever they looked at last.
    const other = await world.root("/console/?view=table");
    await other.page
      .getByRole("region", { name: "Inventory, by status" })
      .getByRole("cell", { name: "revoked" })
      .waitFor();
    expect([...complaints, ...other.complaints]).toEqual([]);
    await other.close();
    await close();
  }, 60_000);

  test("draws what was done each day of all one may read, by one question, as all others", async () => {
    for (let made = 0; made < 51; made++) {
      await world.instance.admin("POST", "/api/tenants", { slug: `of-${made}`, name: "One" });
    }
    const { page, complaints, quiet, close } = await world.root("/console/operations/backup");
    await quiet();
    const asked: string[] = [];
    page.on("request", (request) => asked.push(new URL(request.url()).pathname));
    await page.goto(new URL("/console/", page.url()).href);
    const card = page.getByRole("region", { name: "Issued and revoked, 30 days" });
    await card.getByRole("img", { name: /issued: (\d+, ){29}\d+; revoked:/ }).waitFor();
    await quiet();
    const counted = (path: string) => asked.filter((one) => one === path).length;
    expect(counted("/api/inventory/days")).toBe(1);
    expect(counted("/api/monitor/expiring")).toBe(1);
    expect(counted("/api/approvals")).toBe(1);
    expect(asked.filter((path) => path.endsWith("/usage"))).toEqual([]);
    await page.keyboard.press("t");
    const today = new Date().toISOString().slice(0, 10);
    await card.getByRole("row", { name: new RegExp(`^${today} [1-9]\\d* 0$`) }).waitFor();
    expect(complaints).toEqual([]);
    await close();
  }, 120_000);

  test.each([
    ["", 1280],
    ["?view=table", 1280],
    ["", 360],
  ] as const)(
    "keeps its place while answers come: %p, %d px",
    async (query, width) => {
      const { page, complaints, quiet, close } = await world.root("/console/operations/backup");
      const clock = {
        behind_until: fromNow(hour),
        ahead_from: fromNow(0),
        ahead_to: fromNow(hour),
      };
      let release = () => {};
      const released = new Promise<void>((resolve) => {
        release = resolve;
      });
      for (const late of ["**/api/inventory/*", "**/api/monitor/expiring*"]) {
        await page.route(late, async (route) => {
          await released;
          await route.continue();
        });
      }
      await page.route("**/api/jobs", async (route) => {
        const told = await world.instance.admin<Answers["job.list"]>("GET", "/api/jobs");
        await released;
        await route.fulfill({ json: { ...told, clock } });
      });
      await page.setViewportSize({ width, height: 800 });
      await page.goto(new URL(`/console/${query}`, page.url()).href);
      // In a narrow window what needs a person takes all the room it needs.
      const within = width < 720 ? ".plots" : "body";
      const places = async () =>
        await page.locator("#attention, .plots h2").evaluateAll(
          (all, from) =>
            all.map((one) => {
              const top = one.closest(from)?.getBoundingClientRect().top ?? 0;
              return `${one.textContent} ${Math.round(one.getBoundingClientRect().top - top)}`;
            }),
          within,
        );
      await page.getByText("Asking…").nth(2).waitFor();
      await page.locator(".plots h2").nth(4).waitFor();
      const before = await places();
      expect(before).toHaveLength(6);
      release();
      await page.getByRole("link", { name: /^The clock stands before/ }).waitFor();
      await page.getByRole("link", { name: /^The clock went far ahead/ }).waitFor();
      await page.getByText("Asking…").first().waitFor({ state: "detached" });
      await quiet();
      expect(await places()).toEqual(before);
      expect(complaints).toEqual([]);
      await close();
    },
    60_000,
  );

  test("draws a plot whose figures could not be had as soon as they are asked for again", async () => {
    const { page, complaints, close } = await world.root("/console/operations/backup");
    const failed = { error: "Too much to do.", code: "overloaded", request_id: "r-1" };
    const figures = /\/(api\/(inventory|monitor)\/|metrics$)/;
    await page.route(figures, (route) => route.fulfill({ status: 503, json: failed }));
    await page.addInitScript(withoutLooks);
    await page.goto(new URL("/console/", page.url()).href);
    const card = (name: string) => page.locator(".plots").getByRole("region", { name });
    for (const name of plotsRefused) {
      await card(name).getByText(failed.error).waitFor();
      await card(name).getByRole("button", { name: "Try again" }).waitFor();
    }
    await expectStateAccessible(page);
    await keepPicture(page, "overview-refused");
    await page.unroute(figures);
    for (const name of plotsRefused) {
      await card(name).getByRole("button", { name: "Try again" }).click();
      await card(name).getByRole("alert").waitFor({ state: "detached" });
      await card(name).getByRole("figure").waitFor();
    }
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("draws a figure that stands alone as a point, and two as a line", async () => {
    const { page, complaints, close } = await world.root("/console/");
    const picture = page.getByRole("region", { name: "Requests a second" }).getByRole("figure");
    await picture.locator("circle.series-0").waitFor({ timeout: 15_000 });
    await keepPicture(page, "overview-point");
    await expectSoon(() => picture.locator("circle").count(), 2);
    await expectSoon(() => picture.locator("polyline").count(), 0);
    const box = await picture.locator("circle.series-0").boundingBox();
    expect([box?.width, box?.height].every((side) => side !== undefined && side > 3)).toBe(true);
    await picture.locator("polyline.series-0").waitFor({ timeout: 15_000 });
    await expectSoon(() => picture.locator("circle").count(), 0);
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("is of the tenant that is chosen, with its figures", async () => {
    const { page, complaints, quiet, close } = await world.root("/console/?tenant=shop");
    await page.getByText("There is no certificate authority of shop yet.").waitFor();
    await page.getByText("pkid ca init-root").first().waitFor();
    await quiet();
    await expectSoon(() => page.getByRole("region", { name: "Inventory, by status" }).count(), 0);
    await expectStateAccessible(page);
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("offers the first root only to who may make it", async () => {
    const secret = await world.instance.token(["auditor"], { tenant_id: "shop" });
    const { page, complaints, close } = await world.bearer(secret, "/console/?tenant=shop");
    await page.getByText("There is no certificate authority of shop yet.").waitFor();
    await expectSoon(() => page.getByRole("button", { name: "Make a root" }).isDisabled(), true);
    await page.getByText(/^Needs ca:manage/).waitFor();
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);
});

/** In the page: nothing looks at the rate every five seconds, which would ask again by itself. */
function withoutLooks(): void {
  const real = globalThis.setInterval;
  const other = (again: () => void, everyMs: number) =>
    everyMs === 5_000 ? 0 : real(again, everyMs);
  globalThis.setInterval = Object.assign(other, real);
}
