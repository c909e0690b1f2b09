/** Documentation in the console: the manual with this instance's addresses, and every operation. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import fc from "fast-check";

import { chromiumPath } from "#test/support/instances/browser.ts";
import {
  ConsoleWorld,
  expectStateAccessible,
  expectTree,
  keepPicture,
} from "#test/support/instances/console-world.ts";
import { operationsIn } from "#web/pages/documentation/openapi.ts";
import { expectSoon } from "#test/support/until.ts";
import { copyText } from "#test/support/instances/issue-page.ts";

let world: ConsoleWorld;

beforeAll(async () => {
  if (chromiumPath === undefined) return;
  world = await ConsoleWorld.start();
}, 60_000);
afterAll(() => world?.stop());

test("any JSON is read as a description, and what is none of one is passed over", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(Array.isArray(operationsIn(value))).toBe(true);
      expect(Array.isArray(operationsIn({ paths: { "/a": value } }))).toBe(true);
      expect(Array.isArray(operationsIn({ paths: { "/a": { get: value } } }))).toBe(true);
    }),
  );
});

describe.skipIf(chromiumPath === undefined)("documentation in the console", () => {
  test("shows the manual, chapter by chapter, and finds words in it", async () => {
    const { page, complaints, close } = await world.root("/console/manual/chapters/backup");
    await page.getByRole("heading", { level: 1 }).waitFor();
    await expectStateAccessible(page);
    await keepPicture(page, "documentation-manual");
    await page.getByLabel("Search the manual").fill("drill");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "“drill” in the manual" }).waitFor();
    await expectStateAccessible(page);
    await page.getByLabel("Search the manual").fill("no such words anywhere");
    await page.keyboard.press("Enter");
    await page.getByText("The manual does not say that anywhere.").waitFor();
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("describes every operation, and asks one as who one is", async () => {
    const { page, complaints, close } = await world.root("/console/manual/interface/auth.me");
    await page.getByRole("button", { name: "GET it" }).click();
    await page.getByText('"is_root": true').waitFor();
    await expectTree(page, "documentation-operation", "article");
    await expectStateAccessible(page);
    await page.getByLabel("Operations that contain").fill("tenants");
    await page.getByRole("link", { name: "POST /api/tenants", exact: true }).click();
    await page.getByText("may change it").waitFor();
    await page.getByLabel("Body, JSON").fill('{"slug":"tried"}');
    await page.getByRole("button", { name: "POST it" }).click();
    await page.getByText('"slug": "tried"').waitFor();
    await page.getByLabel("Body, JSON").fill('{"slug":');
    await page.getByRole("button", { name: "POST it" }).click();
    await page.getByText('"code": "malformed_json"').waitFor();
    await expectStateAccessible(page);
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("hides a secret that is answered once until it is asked for, and copies it unseen", async () => {
    const at = "/console/manual/interface/token.create";
    const { page, complaints, close } = await world.root(at);
    const body = { name: "tried", roles: ["auditor"], scope: "platform" };
    await page.getByLabel("Body, JSON").fill(JSON.stringify(body));
    await page.getByRole("button", { name: "POST it" }).click();
    const answer = page.locator("article pre").last();
    await answer.getByText('"name": "tried"').waitFor();
    await expectSoon(
      () => answer.textContent(),
      expect.stringContaining('"secret": "••••••••••••"'),
    );
    // Its beginning is no secret: it stands in every list.
    expect(/pki_pat_[\w-]{12}/.test(await page.content())).toBe(false);
    const secret = await copyText(page.getByRole("button", { name: "copy secret" }));
    expect(secret).toMatch(/^pki_pat_/);
    await expectStateAccessible(page);
    await keepPicture(page, "documentation-secret");
    const show = page.getByRole("button", { name: "Show what is secret" });
    await show.click();
    await expectSoon(() => answer.textContent(), expect.stringContaining(`"secret": "${secret}"`));
    await show.click();
    expect(await page.content()).not.toContain(secret);
    await page.getByLabel("Body, JSON").fill("{}");
    await page.getByRole("button", { name: "POST it" }).click();
    await answer.getByText('"code"').waitFor();
    await expectSoon(() => show.count(), 0);
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("hides a secret also in an answer that is longer than a page can show", async () => {
    const at = "/console/manual/interface/token.create";
    const { page, complaints, close } = await world.root(at);
    const long = { id: "1", secret: "pki_pat_never", roles: Array(20_000).fill("auditor") };
    await page.route("**/api/tokens", (route) => route.fulfill({ status: 201, json: long }));
    await page.getByRole("button", { name: "POST it" }).click();
    const answer = page.locator("article pre").last();
    await answer.getByText('"auditor"').waitFor();
    await expectSoon(
      () => answer.textContent(),
      expect.stringContaining('"secret":"••••••••••••"'),
    );
    expect(await page.content()).not.toContain(long.secret);
    await expectStateAccessible(page);
    await page.getByRole("button", { name: "Show what is secret" }).click();
    await expectSoon(
      () => answer.textContent(),
      expect.stringContaining(`"secret":"${long.secret}"`),
    );
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("listens to a stream until it is stopped, behind the event that a header names", async () => {
    const { page, complaints, close } = await world.root("/console/manual/interface/event.stream");
    await page.getByLabel("last-event-id (may be left out)").fill("0");
    await page.getByRole("button", { name: "GET it" }).click();
    // The very first event of the chain, long before the one that the stream begins with.
    await page.getByText(/^id: 1$/m).waitFor();
    await expectStateAccessible(page);
    await page.getByRole("button", { name: "Stop" }).click();
    await page.getByRole("button", { name: "GET it" }).waitFor();
    await page.getByText(/^id: 1$/m).waitFor();
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("says which header cannot be sent, and what broke off", async () => {
    const { page, complaints, close } = await world.root("/console/manual/interface/event.stream");
    const header = page.getByLabel("last-event-id (may be left out)");
    await header.fill("日本");
    await page.getByRole("button", { name: "GET it" }).click();
    await page.getByText("what is typed for last-event-id cannot stand in a header").waitFor();
    await expectSoon(() => page.getByText("The server does not answer.").count(), 0);
    await expectStateAccessible(page);
    await header.fill("0");
    await page.evaluate(breakOff);
    await page.getByRole("button", { name: "GET it" }).click();
    await page.getByText("It broke off; this is what came until then.").waitFor();
    await page.getByText("data: first").waitFor();
    await expectStateAccessible(page);
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("sends a file where the body is no JSON, and saves octets that come back", async () => {
    const init = { label: "tried-root", subject: { cn: "Tried Root" }, key_type: "ecdsa-p256" };
    const { id } = await world.instance.admin<{ id: string }>("POST", "/api/ca/init-root", init);
    const { page, complaints, close } = await world.root("/console/manual/interface/crl.read");
    await page.getByLabel("id", { exact: true }).fill(id);
    await page.getByRole("button", { name: "GET it" }).click();
    await page.getByText("octets of application/pkix-crl").waitFor();
    const saved = page.waitForEvent("download");
    await page.getByRole("button", { name: "Save what came" }).click();
    const crl = readFileSync(await (await saved).path());
    expect(crl[0]).toBe(0x30);
    await page.goto(`${world.origin}/console/manual/interface/ocsp.post`);
    await page.getByLabel("id", { exact: true }).fill(id);
    await page
      .getByLabel("Body, a file")
      .setInputFiles({ name: "no.ocsp", mimeType: "", buffer: Buffer.from("no request") });
    await page.getByRole("button", { name: "POST it" }).click();
    await page.getByText("octets of application/ocsp-response").waitFor();
    await page.goto(`${world.origin}/console/manual/interface/auth.login`);
    await page.getByText("This sends the browser elsewhere").waitFor();
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("says what is not there, and asks again for what did not come", async () => {
    const { page, close } = await world.root("/console/manual/chapters/no-such");
    await page.getByText("There is no chapter “no-such”.").waitFor();
    const failed = { error: "Too much to do.", code: "overloaded", request_id: "r-1" };
    await page.route("**/openapi.json", (route) => route.fulfill({ status: 503, json: failed }));
    await page.goto(`${world.origin}/console/manual/interface/no.such`);
    await page.getByText(failed.error).waitFor();
    await expectStateAccessible(page);
    await page.unroute("**/openapi.json");
    await page.getByRole("button", { name: "Ask again" }).click();
    await page.getByText("There is no operation “no.such”.").waitFor();
    await page.getByLabel("Operations that contain").fill("no such path");
    await page.getByText("No operation has that.").waitFor();
    await close();
  }, 60_000);
});

/** In the page: the next stream is cut after its first part. */
function breakOff(): void {
  const real = globalThis.fetch;
  const cut = async () => {
    globalThis.fetch = real;
    const body = new ReadableStream({
      start: (controller) => controller.enqueue(new TextEncoder().encode("data: first\n\n")),
      pull: (controller) => controller.error(new TypeError("network error")),
    });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  };
  globalThis.fetch = Object.assign(cut, real);
}
