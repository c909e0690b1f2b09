/** What strangers choose, on every page that it leads to: it is text there, and nothing else. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";

import { chromiumPath } from "#test/support/instances/browser.ts";
import type { ConsoleWorld, Visit } from "#test/support/instances/console-world.ts";
import { hostile } from "#test/support/instances/hostile.ts";
import {
  csrOf,
  expectInert,
  hostileWorld,
  image,
  isLawful,
} from "#test/support/instances/hostile-world.ts";
import { pages } from "#web/routes.tsx";
import { plainText } from "#web/ui/plain.ts";

let world: ConsoleWorld;
let ca: string;

beforeAll(async () => {
  if (chromiumPath === undefined) return;
  ({ world, ca } = await hostileWorld());
  await plant();
}, 60_000);
afterAll(() => world?.stop());

describe.skipIf(chromiumPath === undefined)("hostile texts in the console", () => {
  test("are text wherever a page leads to them", async () => {
    const visits = [await world.root("/console/")];
    while (visits.length < tabsMax) visits.push(await world.root("/console/"));
    const seen = await crawled(visits, [
      ...pages.map(({ segment }) => `/console/${segment}`),
      `/console/issue?ca=${ca}&profile=plain`,
      `/console/people/grants?ca=${ca}`,
      `/console/certificates?ca=*&q=${encodeURIComponent("<")}`,
    ]);
    // A mark of direction is written out, so that it turns nothing around.
    const beginnings = hostile(40).map((text) => plainText(text.trim()));
    expect([...beginnings, ...planted].filter((text) => !seen.includes(text))).toEqual([]);
    expect(visits.flatMap(({ complaints }) => complaints)).toEqual([]);
    await Promise.all(visits.map(({ close }) => close()));
  }, 180_000);
});

/** What is planted beside the texts themselves, so that they are known to be reached. */
const planted = [
  "Hostile tenant",
  "hostile comment",
  "hostile credential",
  "hostile reason",
  ...["tenant", "comment", "credential", "reason"].map((what) => `${what} [U+202E]gnp.exe`),
];

/** Puts the texts wherever the interface takes words. */
async function plant(): Promise<void> {
  const { instance } = world;
  for (const text of hostile(64).filter(isLawful)) {
    await instance.admin("POST", `/api/ca/${ca}/issue`, {
      csr: await csrOf(text),
      profile: "plain",
    });
  }
  for (const [at, text] of hostile(90).entries()) {
    await instance.admin("POST", "/api/tokens", { name: text, roles: ["auditor"] });
    const name = `Hostile tenant ${text}`.slice(0, 90);
    await instance.admin("POST", "/api/tenants", { slug: `t${at}`, name });
    await instance.admin("POST", "/api/acme/eab", {
      name: `hostile credential ${text}`.slice(0, 90),
      description: text,
      any_identifier: true,
    });
    const csr = await csrOf(isLawful(text) ? text.slice(0, 64) : image);
    const path = `/api/ca/${ca}/issue`;
    const request = { csr, profile: "vouched" };
    const { approval_id } = await instance.admin<{ approval_id: string }>("POST", path, request);
    // One request stands for all of its kind, so its comment has every text.
    const comment = `hostile comment ${hostile(60).toReversed().join(" comment ")}`;
    await instance.admin("POST", `/api/approvals/${approval_id}/reject`, { comment });
    await instance.admin("POST", "/api/blocked-keys", { csr, reason: `hostile reason ${text}` });
  }
}

/**
 * Opens these and follows the links to what they lead to, one of each kind, in several tabs at
 * once; gives all the text that was seen.
 */
async function crawled(visits: readonly Visit[], begin: readonly string[]): Promise<string> {
  const known = new Set(begin.map(kindOf));
  const seen: string[] = [];
  for (let round = begin; round.length > 0; ) {
    const waiting = [...round];
    const found: (readonly string[])[] = round.map(() => []);
    const tab = async (visit: Visit) => {
      for (let path = waiting.shift(); path !== undefined; path = waiting.shift()) {
        await open(visit.page, path, round === begin);
        seen.push(await expectInert(visit));
        found[round.indexOf(path)] = await links(visit.page);
      }
    };
    await Promise.all(visits.map(tab));
    round = newKinds(known, found.flat());
  }
  expect(known.size).toBeGreaterThan(30);
  return seen.join("\n");
}

/** From outside, or as a link of the page does. */
async function open(page: Page, path: string, fromOutside: boolean): Promise<void> {
  if (fromOutside) await page.goto(world.origin + path);
  else {
    await page.evaluate(`history.pushState(null, "", ${JSON.stringify(path)});
      dispatchEvent(new PopStateEvent("popstate"));`);
  }
}

function newKinds(known: Set<string>, paths: readonly string[]): readonly string[] {
  const isNew = (path: string) => known.size !== known.add(kindOf(path)).size;
  return paths.filter(isNew);
}

const links = (page: Page): Promise<readonly string[]> =>
  page.evaluate(`[...document.querySelectorAll("main a[href^='/console/']")]
    .map((one) => one.getAttribute("href"))`);

/** Addresses that differ by what they name, or by what they select, show the same kind of thing. */
function kindOf(path: string): string {
  const { pathname, searchParams } = new URL(path, "https://localhost");
  const segments = pathname
    .split("/")
    .map((one, at) => (at < 4 && /^[a-z-]*$/.test(one) ? one : "*"));
  return [segments.join("/"), searchParams.get("dialog"), searchParams.get("tab")].join(" ");
}

/** Most of a visit is waiting for the page to be quiet. */
const tabsMax = 6;
