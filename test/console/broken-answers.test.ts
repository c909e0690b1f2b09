/** Every part of the console where the server answers nothing it was asked: it says so, and why. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Locator, Page, Route } from "playwright-core";

import { chromiumPath } from "#test/support/instances/browser.ts";
import { otherParts, partsOfCas, placesWorld } from "#test/support/instances/places.ts";
import { until } from "#test/support/until.ts";

let world: Awaited<ReturnType<typeof placesWorld>>;

beforeAll(async () => {
  if (chromiumPath === undefined) return;
  world = await placesWorld();
}, 60_000);
afterAll(() => world?.shown.world.stop());

const refused = { error: "Too much to do.", code: "overloaded", request_id: "r-broken" };

const ways: readonly { name: string; sentence: string; answer: (route: Route) => Promise<void> }[] =
  [
    {
      name: "refuses with a reason",
      sentence: refused.error,
      answer: (route) => route.fulfill({ status: 503, json: refused }),
    },
    {
      name: "answers what is no JSON",
      sentence: "The server answered 502 without saying why.",
      answer: (route) => route.fulfill({ status: 502, body: "<h1>Bad gateway</h1>" }),
    },
    {
      name: "is gone",
      sentence: "The server does not answer.",
      answer: (route) => route.abort(),
    },
  ];

describe.skipIf(chromiumPath === undefined)("a server that", () => {
  test.each(ways)(
    "$name is told of on every page, and none waits for ever",
    async ({ sentence, answer }) => {
      const { page, complaints, close } = await world.shown.world.root(nowhere);
      const none = page.getByRole("heading", { name: "There is no such page" });
      await none.waitFor();
      const silent: string[] = [];
      for (const { path } of [...partsOfCas(world.ids), ...otherParts(world.ids)]) {
        await page.route(asked, answer);
        await go(page, path);
        const isSaid = await comes(shown(page).getByText(sentence).first().waitFor());
        const waiting = page.locator("main").getByText("Asking…");
        const isOver = await comes(until(async () => (await waiting.count()) === 0));
        if (!isSaid || !isOver) {
          silent.push(`${path}: ${await page.locator("main").textContent()}`);
        }
        await page.unroute(asked);
        await go(page, nowhere);
        await none.waitFor();
      }
      expect(silent).toEqual([]);
      expect(complaints).toEqual([]);
      await close();
    },
    180_000,
  );
});

/** The page itself, without what the frame says above it of any page. */
const shown = (page: Page): Locator => page.locator("main > :not(.frame-notice)");

const comes = (what: Promise<unknown>): Promise<boolean> =>
  what.then(
    () => true,
    () => false,
  );

const nowhere = "/console/no-such-page";
const asked = /\/(api|openapi\.json|metrics)/;

/** As a link of the page would, until the page listens: what it shows comes before that. */
const go = (page: Page, path: string) =>
  page.waitForFunction(
    ([to, isNowhere]) => {
      const isThere = document.body.textContent.includes("There is no such page") === isNowhere;
      if (!isThere) {
        history.replaceState(undefined, "", to);
        dispatchEvent(new PopStateEvent("popstate"));
      }
      return isThere;
    },
    [path, path === nowhere] as const,
  );
