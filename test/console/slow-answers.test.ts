/** A server that takes its time to answer, while what it is asked for changes all the time. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";

import { chromiumPath } from "#test/support/instances/browser.ts";
import { ConsoleWorld } from "#test/support/instances/console-world.ts";
import { issueFor, type MadeCa, makeCaAt } from "#test/support/instances/listed-cas.ts";

let world: ConsoleWorld;
let ca: MadeCa;

beforeAll(async () => {
  if (chromiumPath === undefined) return;
  world = await ConsoleWorld.start();
  const root = await makeCaAt(world.instance, "/api/ca/init-root", "root");
  ca = await makeCaAt(world.instance, `/api/ca/${root.id}/issue-intermediate`, "issuing");
}, 60_000);

afterAll(() => world?.stop());

describe.skipIf(chromiumPath === undefined)("an answer that takes longer than events do", () => {
  test("is waited for, and asked for again once it has come", async () => {
    const { page, complaints, quiet, close } = await world.root("/console/");
    await quiet();
    let asked = 0;
    await page.route(`**/api/ca/${ca.id}/certificates?*`, async (route) => {
      asked += 1;
      await Bun.sleep(650);
      await route.continue();
    });
    await page.goto(`${world.origin}/console/certificates?ca=${ca.id}`);
    let issued = 0;
    let isOver = false;
    const issuing = (async () => {
      while (!isOver) await issueFor(world.instance, ca, `n${issued++}.example.test`);
    })();
    await page.getByRole("row").filter({ hasText: ".example.test" }).first().waitFor();
    isOver = true;
    await issuing;
    await page.getByText(`of ${issued.toLocaleString("en")}`, { exact: false }).waitFor();
    expect(asked).toBeLessThan(issued);
    expect(complaints).toEqual([]);
    await close();
  }, 120_000);
});
