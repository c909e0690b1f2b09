/** A file that is read slowly takes nothing away from what is typed or chosen meanwhile. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";

import { chromiumPath } from "#test/support/instances/browser.ts";
import { ConsoleWorld } from "#test/support/instances/console-world.ts";
import { makeCas } from "#test/support/instances/issue-page.ts";
import { csr } from "#test/support/worlds/issuance.ts";
import { expectSoon } from "#test/support/until.ts";

let world: ConsoleWorld;
let ca: string;

beforeAll(async () => {
  if (chromiumPath === undefined) return;
  world = await ConsoleWorld.start();
  ca = await makeCas(world);
}, 60_000);
afterAll(() => world?.stop());

/** Has files whose name begins with `slow` wait until the event of that name lets them go. */
const slowDown = (page: Page) =>
  page.evaluate(() => {
    for (const how of ["text", "arrayBuffer"] as const) {
      const real: () => Promise<unknown> = Blob.prototype[how];
      Object.defineProperty(Blob.prototype, how, {
        value: async function (this: Blob) {
          if (this instanceof File && this.name.startsWith("slow")) {
            await new Promise((go) => addEventListener("let-go", go, { once: true }));
          }
          return await real.call(this);
        },
      });
    }
  });

/** Until what waits for the file has run, too. */
const letGo = (page: Page) =>
  page.evaluate(async () => {
    dispatchEvent(new Event("let-go"));
    await new Promise((drawn) => setTimeout(drawn, 200));
  });

const file = (name: string, text: string) => ({
  name,
  mimeType: "text/plain",
  buffer: Buffer.from(text),
});
const request = (name: string) => csr({ dns: [name] });

describe.skipIf(chromiumPath === undefined)("a file that is read slowly in the console", () => {
  test("leaves the request that is pasted, or chosen, meanwhile", async () => {
    const at = `/console/issue?ca=${ca}&profile=server&from=csr`;
    const { page, complaints, quiet, close } = await world.root(at);
    await quiet();
    await slowDown(page);
    const field = page.getByLabel("Certification request");
    const picked = page.getByLabel("Or its file");
    await picked.setInputFiles(file("slow.csr", request("slow.example.com")));
    const typed = request("typed.example.com");
    await field.fill(typed);
    await letGo(page);
    expect((await field.inputValue()).trim()).toBe(typed.trim());
    await picked.setInputFiles(file("slow-again.csr", request("slow.example.com")));
    const second = request("second.example.com");
    await picked.setInputFiles(file("second.csr", second));
    await page.waitForFunction(inField, second.trim());
    await letGo(page);
    expect((await field.inputValue()).trim()).toBe(second.trim());
    // Alone it is taken, however slow.
    const last = request("last.example.com");
    await picked.setInputFiles(file("slow-last.csr", last));
    await letGo(page);
    await page.waitForFunction(inField, last.trim());
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("leaves the list that is typed, or chosen, meanwhile", async () => {
    const at = `/console/issue/many?ca=${ca}&profile=server`;
    const { page, complaints, quiet, close } = await world.root(at);
    await quiet();
    await slowDown(page);
    const field = page.getByLabel("List, CSV with a header");
    const picked = page.getByLabel("Or its file");
    await picked.setInputFiles(file("slow.csv", "ref,names\nslow,slow.example.com\n"));
    const typed = "ref,names\ntyped,typed.example.com\n";
    await field.fill(typed);
    await letGo(page);
    await expectSoon(() => field.inputValue(), typed);
    await picked.setInputFiles(file("slow-again.csv", "ref,names\nslow,slow.example.com\n"));
    const second = "ref,names\nsecond,second.example.com\n";
    await picked.setInputFiles(file("second.csv", second));
    await page.waitForFunction(inField, second.trim());
    await letGo(page);
    await expectSoon(() => field.inputValue(), second);
    await picked.setInputFiles(file("slow-third.csv", "ref,names\nslow,slow.example.com\n"));
    // More than is taken says so, and is the last that was chosen.
    await picked.evaluate((input: HTMLInputElement) => {
      const chosen = new DataTransfer();
      chosen.items.add(new File([new Uint8Array(33_554_433)], "large.csv"));
      input.files = chosen.files;
      input.dispatchEvent(new Event("change", { bubbles: true }));
    });
    await letGo(page);
    await expectSoon(() => field.inputValue(), second);
    const last = "ref,names\nlast,last.example.com\n";
    await picked.setInputFiles(file("slow-last.csv", last));
    await letGo(page);
    await page.waitForFunction(inField, last.trim());
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);
});

/** In the page. */
function inField(text: string): boolean {
  return [...document.querySelectorAll("textarea")].some(({ value }) => value.trim() === text);
}
