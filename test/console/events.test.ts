/** Events in the console: the chain, an event with its hash made in the page, proof and export. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import fc from "fast-check";

import { eventHash } from "#core/audit/chain.ts";
import { chromiumPath } from "#test/support/instances/browser.ts";
import {
  ConsoleWorld,
  expectStateAccessible,
  expectTree,
  keepPicture,
} from "#test/support/instances/console-world.ts";
import { createChain } from "#test/support/instances/first-certificate.ts";
import { hashOf } from "#web/pages/events/canonical.ts";
import { expectSoon } from "#test/support/until.ts";
import { copyText } from "#test/support/instances/issue-page.ts";

let world: ConsoleWorld;

beforeAll(async () => {
  if (chromiumPath === undefined) return;
  world = await ConsoleWorld.start();
  await createChain(world.instance, "ecdsa-p256");
}, 60_000);
afterAll(() => world?.stop());

test("the page hashes an event as the server does, whatever stands in it (AUD-2)", async () => {
  const text = fc.string({ unit: "binary" });
  const event = fc.record({
    seq: fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
    prevHash: text,
    id: text,
    timestamp: text,
    actor: text,
    actorName: text,
    actorRoles: text,
    action: text,
    result: fc.constant("success"),
    tenant: text,
    caId: text,
    serial: text,
    target: text,
    targetName: text,
    detail: text,
    ip: text,
  });
  await fc.assert(
    fc.asyncProperty(event, async (one) => {
      const shown = {
        seq: one.seq,
        prev_hash: one.prevHash,
        id: one.id,
        timestamp: one.timestamp,
        actor: one.actor,
        actor_name: one.actorName,
        actor_roles: one.actorRoles,
        action: one.action,
        result: "success",
        tenant: one.tenant,
        ca_id: one.caId,
        serial: one.serial,
        target: one.target,
        target_name: one.targetName,
        detail: one.detail,
        ip: one.ip,
        request_id: "",
        hash: "",
      } as const;
      expect(await hashOf(shown)).toBe(eventHash(one));
    }),
  );
});

describe.skipIf(chromiumPath === undefined)("events in the console", () => {
  test("are searched, opened with their neighbours, and verified", async () => {
    const { page, complaints, close } = await world.root("/console/events");
    await page.getByRole("cell", { name: "ca.issue_intermediate" }).waitFor();
    await page.getByLabel("Add a filter").selectOption("action");
    await page.getByLabel("What", { exact: true }).selectOption("ca.init_root");
    await page.getByText("What: ca.init_root").waitFor();
    await expectSoon(() => new URL(page.url()).search, "?action=ca.init_root");
    await page.getByRole("link", { name: "Remove What" }).click();
    await page.getByRole("link", { name: "2", exact: true }).click();
    const panel = page.getByRole("complementary");
    await panel.getByText("● valid").waitFor();
    await expectSoon(() => panel.getByText("● linked").count(), 2);
    await expectStateAccessible(page);
    await keepPicture(page, "events-event");
    await page.keyboard.press("Escape");
    await panel.waitFor({ state: "hidden" });
    await page.goBack();
    await panel.waitFor();
    await page.getByRole("link", { name: "Verify now" }).click();
    await page.getByText(/events, no gap, no broken link/).waitFor();
    await expectStateAccessible(page);
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("of one CA say so in a chip, until today with today, and show all where none fits", async () => {
    const { items } = await world.instance.admin<{ items: { id: string }[] }>("GET", "/api/ca");
    const ca = items[0]?.id ?? "";
    const today = new Date().toISOString().slice(0, 10);
    const { page, complaints, close } = await world.root(`/console/events?ca=${ca}&to=${today}`);
    await page.getByRole("link", { name: "Remove CA" }).waitFor();
    await page.getByRole("row").nth(1).waitFor();
    await page.getByRole("link", { name: "Remove CA" }).click();
    await page.getByText(`pkid audit list --until`).first().waitFor();
    await page.goto(`${world.origin}/console/events?actor=nobody`);
    await page.getByText("No event is as the filters say.").waitFor();
    await page.getByRole("link", { name: "Show all", exact: true }).click();
    await page.getByRole("cell", { name: "ca.init_root" }).first().waitFor();
    await expectSoon(() => new URL(page.url()).search, "");
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("show a serial in groups of hexadecimal digits, which a click copies", async () => {
    const { items } = await world.instance.admin<{ items: { seq: number; serial: string }[] }>(
      "GET",
      "/api/events?limit=100",
    );
    const event = items.find(({ serial }) => serial !== undefined && serial !== "");
    if (event === undefined) throw new Error("no event names a serial");
    const { page, complaints, close } = await world.root(`/console/events/${event.seq}`);
    const copy = page.getByRole("complementary").getByRole("button", { name: /copy serial/ });
    await expectSoon(() => copy.textContent(), expect.stringMatching(/^[0-9a-f]{4} [0-9a-f]{4} /i));
    const copied = await copyText(copy);
    expect(copied).toBe(BigInt(event.serial).toString(16).padStart(copied.length, "0"));
    expect((await copy.textContent())?.replaceAll(" ", "")).toStartWith(copied);
    const title = await page.getByRole("complementary").getByRole("heading").first().textContent();
    expect(await page.title()).toBe(`${title} · Events · pkid`);
    await page.keyboard.press("Escape");
    await page.waitForFunction(() => document.title === "Events · pkid");
    await expectStateAccessible(page);
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("are exported as a file that verifies elsewhere", async () => {
    const { page, complaints, close } = await world.root("/console/events?dialog=export");
    await page.getByRole("cell", { name: "ca.init_root" }).first().waitFor();
    await expectStateAccessible(page);
    const saved = page.waitForEvent("download");
    await page.getByRole("dialog").getByRole("button", { name: "Export", exact: true }).click();
    const path = await (await saved).path();
    const { code, stdout } = await world.instance.cli("audit", "verify", "--from-file", path);
    expect({ code, stdout }).toMatchObject({ code: 0 });
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("are exported with the days of the list, which says that its other filters are not", async () => {
    const today = new Date().toISOString().slice(0, 10);
    const list = `/console/events?from=${today}&to=${today}`;
    const { page, close } = await world.root(`${list}&action=ca.*&dialog=export`);
    const dialog = page.getByRole("dialog");
    await dialog.getByText("not only those that the filters of the list leave").waitFor();
    await expectStateAccessible(page);
    const asked = page.waitForRequest((request) => request.url().includes("/events/export"));
    await dialog.getByRole("button", { name: "Export", exact: true }).click();
    const { searchParams } = new URL((await asked).url());
    expect(searchParams.get("from")).toBe(today);
    expect((searchParams.get("to") ?? "") > today).toBe(true);
    await page.goto(`${world.origin}${list}&dialog=export`);
    await dialog.getByRole("button", { name: "Export", exact: true }).waitFor();
    await expectSoon(() => dialog.getByText("not only those").count(), 0);
    await close();
  }, 60_000);

  test("say that there is none of a number, and none to who may not read them", async () => {
    const { page, close } = await world.root("/console/events/999999");
    await page.getByRole("heading", { name: "No such event" }).waitFor();
    await expectTree(page, "events-none", "aside");
    await close();
    const secret = await world.instance.token(["approver"], { scope: "platform" });
    const other = await world.bearer(secret, "/console/events");
    await other.page.getByRole("alert").getByText("forbidden").waitFor();
    await other.page.getByText("Needs audit:read on the whole platform.").first().waitFor();
    expect(other.complaints).toEqual([]);
    await other.close();
  }, 60_000);

  test("before a number are what the API answers with `before_seq`", async () => {
    const path = "/api/events?before_seq=4&limit=2";
    const { items, total } = await world.instance.admin<{
      items: { seq: number }[];
      total: number;
    }>("GET", path);
    expect(items.map(({ seq }) => seq)).toEqual([3, 2]);
    expect(total).toBeGreaterThan(3);
  });
});
