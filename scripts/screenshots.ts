/**
 * Writes a picture of every page of the console, light and dark, wide and narrow, of a throw-away
 * instance: `bun run demo -- --screenshots [folder]`.
 */

import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Page } from "playwright-core";

import { chromiumPath } from "#test/support/instances/browser.ts";
import { type Shown, shownWorld } from "#test/support/instances/shown.ts";
import { pages } from "#web/routes.tsx";

const looks = [
  { width: 1280, theme: "light" },
  { width: 1280, theme: "dark" },
  { width: 360, theme: "light" },
  { width: 360, theme: "dark" },
] as const;
const folder = resolve(process.argv[2] ?? "dist/screenshots");
if (chromiumPath === undefined) {
  console.error("Pictures need a browser: apt-get install chromium");
  process.exit(2);
}
mkdirSync(folder, { recursive: true });
const shown = await shownWorld();
try {
  for (const view of [...views(shown), ...further(shown)]) await pictures(view);
} finally {
  await shown.world.stop();
  await shown.world.browser.close();
}
console.log(folder);

/** Every page of the table, as it is when it is opened. */
function views({ ca }: Shown): readonly View[] {
  return pages.map(({ segment, name }) => {
    const query = segment === "issue" || segment === "revoke" ? `?ca=${ca}` : "";
    return [name.toLowerCase().replaceAll(" ", "-"), `/console/${segment}${query}`];
  });
}

/** What is seen after a click or two. */
function further({ ca, serial, approval }: Shown): readonly View[] {
  return [
    ["sign-in", undefined],
    ["certificates-panel", `/console/certificates/${ca}/${serial}?ca=${ca}`],
    ["approvals-request", `/console/approvals/${approval}?status=pending`],
    [
      "issue-preview",
      `/console/issue?ca=${ca}`,
      async (page) => {
        await page.getByLabel("Names").fill("new.example.com,");
        await page.getByText("It would be issued.").waitFor();
      },
    ],
  ];
}

/** All four at once: most of the time is spent waiting. */
async function pictures([name, path, act]: View): Promise<void> {
  const taken = looks.map(async (look) => {
    const { world } = shown;
    const { page, quiet, close } =
      path === undefined ? await world.stranger("/console/", look) : await world.root(path, look);
    await page.locator("h1").first().waitFor();
    await act?.(page);
    await quiet();
    await page.screenshot({ path: join(folder, `${name}-${look.width}-${look.theme}.png`) });
    await close();
  });
  await Promise.all(taken);
}

/** A name for its files, an address, undefined for somebody who is out, and what is done there. */
type View = readonly [name: string, path: string | undefined, act?: (page: Page) => Promise<void>];
