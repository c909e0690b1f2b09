/** The live feed in the browser: the header says how it is, and what was missed is told. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Browser, Page } from "playwright-core";

import {
  chromiumPath,
  closeProfiles,
  freshPage,
  shareBrowser,
} from "#test/support/instances/browser.ts";
import { rootPassword, signIn } from "#test/support/instances/console-world.ts";
import { Instance, newHome } from "#test/support/instances/instance.ts";
import { freePort } from "#test/support/servers/free-port.ts";
import { until } from "#test/support/until.ts";

const home = newHome();
let config: Readonly<Record<string, unknown>>;
let instance: Instance;
let browser: Browser;

beforeAll(async () => {
  if (chromiumPath === undefined) return;
  config = { root_user: { password: rootPassword }, server: { port: await freePort() } };
  [instance, browser] = await Promise.all([Instance.start({ home, config }), shareBrowser()]);
}, 60_000);

afterAll(async () => {
  if (browser !== undefined) await closeProfiles(browser);
  await instance?.dispose();
});

/** The console, which keeps what it reads of the feed for the test. */
async function visit() {
  const { page, complaints } = await freshPage(browser);
  await page.addInitScript(`
    globalThis.heard = "";
    const fetching = globalThis.fetch;
    globalThis.fetch = async (...asked) => {
      const answer = await fetching(...asked);
      if (!answer.ok || !String(asked[0]).includes("/events/stream")) return answer;
      const decoder = new TextDecoder();
      const transform = (octets, reader) => {
        if (globalThis.mute) return;
        globalThis.heard += decoder.decode(octets, { stream: true });
        reader.enqueue(octets);
      };
      return new Response(answer.body.pipeThrough(new TransformStream({ transform })), answer);
    };`);
  await page.goto(`https://localhost:${new URL(instance.url).port}/console/`);
  const heard = async () => {
    const text: string = await page.evaluate("heard");
    return [...text.matchAll(/"seq":(\d+).*?"action":"([^"]+)"/g)].map(([, seq, action]) => [
      Number(seq),
      action,
    ]);
  };
  const shows = (words: string) => page.getByRole("status").filter({ hasText: words }).waitFor();
  return { page, complaints, heard, shows };
}

describe.skipIf(chromiumPath === undefined)("the feed of the console", () => {
  test("with a token is live, lost while the server is down, and live again without a gap", async () => {
    const secret = await instance.token(["auditor"], { scope: "platform" });
    const { page, complaints, heard, shows } = await visit();
    await page.getByText("Use an API token").click();
    await page.getByLabel("API token").fill(secret);
    await page.getByRole("button", { name: "Log in" }).last().click();
    await shows("live");
    await instance.token(["issuer"]);
    await until(async () => (await heard()).length > 0);
    await instance.kill();
    await shows("connection lost");
    instance = await Instance.start({ home, config });
    await instance.token(["issuer"]);
    await shows("live");
    const minted = async () => (await heard()).filter(([, action]) => action === "token.create");
    await until(async () => (await minted()).length === 2);
    // What the browser dropped when the connection broke it was told once more.
    const seqs = [...new Set((await heard()).map(([seq]) => Number(seq)))];
    const first = seqs[0] ?? 0;
    expect(seqs).toEqual(seqs.map((_, n) => first + n));
    expect(complaints).toEqual([]);
    await page.context().close();
  }, 60_000);

  test("is told what happened while its session was gone, once somebody has logged in again", async () => {
    const { page, complaints, heard, shows } = await visit();
    await signIn(page);
    await shows("live");
    await instance.kill();
    instance = await Instance.start({ home, config });
    await instance.token(["issuer"]);
    await page.getByRole("dialog").waitFor();
    await page.getByLabel("User name").fill("root");
    await page.getByLabel("Password", { exact: true }).fill(rootPassword);
    await page.getByRole("dialog").getByRole("button", { name: "Log in" }).first().click();
    await until(async () => (await heard()).some(([, action]) => action === "token.create"));
    await shows("live");
    expect(complaints).toEqual([]);
    await page.context().close();
  }, 60_000);

  test("is lost when nothing comes any more, without the end of the connection, and goes on behind what was told", async () => {
    const { page, complaints, heard, shows } = await visit();
    await page.clock.install();
    await signIn(page);
    await shows("live");
    const seqs = async () => (await heard()).map(([seq]) => Number(seq));
    await instance.token(["issuer"]);
    await until(async () => (await seqs()).length > 0);
    const before = await seqs();
    await page.evaluate("mute = true");
    await instance.token(["issuer"]);
    await page.clock.fastForward(40_000);
    await shows("live");
    await page.clock.fastForward(6000);
    await shows("connection lost");
    await page.evaluate("mute = false");
    await page.clock.runFor(15_000);
    await shows("live");
    await until(async () => (await seqs()).length > before.length);
    const first = before[0] ?? 0;
    const told = await seqs();
    expect(told).toEqual(told.map((_, n) => first + n));
    expect(complaints).toEqual([]);
    await page.context().close();
  }, 60_000);

  test("is let go in a tab that nobody sees, and goes on without a gap or a second telling", async () => {
    const { page, complaints, heard, shows } = await visit();
    await signIn(page);
    await shows("live");
    const seqs = async () => (await heard()).map(([seq]) => Number(seq));
    await instance.token(["issuer"]);
    await until(async () => (await seqs()).length > 0);
    await see(page, false);
    await shows("paused");
    const before = await seqs();
    await instance.token(["issuer"]);
    await instance.token(["auditor"]);
    // What is not asked for is not told.
    expect(await seqs()).toEqual(before);
    await see(page, true);
    await shows("live");
    await until(async () => (await seqs()).length >= before.length + 2);
    await instance.token(["issuer"]);
    await until(async () => (await seqs()).length >= before.length + 3);
    const first = before[0] ?? 0;
    const told = await seqs();
    expect(told).toEqual(told.map((_, n) => first + n));
    // Who only looks away for a moment keeps the connection.
    let asked = 0;
    page.on("request", (request) => {
      if (request.url().includes("/events/stream")) asked++;
    });
    await see(page, false);
    await see(page, true);
    await instance.token(["issuer"]);
    await until(async () => (await seqs()).length > told.length);
    expect(asked).toBe(0);
    expect(complaints).toEqual([]);
    await page.context().close();
  }, 60_000);

  test("leaves connections for a seventh tab, where a browser has six", async () => {
    const { page, complaints, shows } = await visit();
    await signIn(page);
    await shows("live");
    const tabs = [page];
    while (tabs.length < 7) {
      const before = tabs.at(-1);
      if (before !== undefined) await see(before, false);
      const tab = await page.context().newPage();
      await tab.goto(page.url());
      await tab.getByRole("status").filter({ hasText: "live" }).waitFor();
      tabs.push(tab);
    }
    await see(page, true);
    await shows("live");
    expect(complaints).toEqual([]);
    await page.context().close();
  }, 60_000);
});

/** Has the page believe that its tab is in front, or behind another; a test has no window. */
async function see(page: Page, visible: boolean): Promise<void> {
  await page.evaluate(`
    Object.defineProperty(document, "visibilityState", {
      value: "${visible ? "visible" : "hidden"}", configurable: true,
    });
    document.dispatchEvent(new Event("visibilitychange"));`);
}
