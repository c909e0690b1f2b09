/** Visits parts and dialogs of the console and checks focus, accessibility, reasons and links. */

import { expect } from "bun:test";
import type { Page } from "playwright-core";

import { expectAccessible } from "./console-world.ts";
import { expectDialog, expectWalk } from "./focus.ts";
import {
  dialogsOfCas,
  type Ids,
  inTabs,
  kindOf,
  otherDialogs,
  otherParts,
  partsOfCas,
  type Place,
} from "./places.ts";
import { disabledIn } from "./reasons.ts";
import type { Shown } from "./shown.ts";

/**
 * The focus is seen at every stop of each and held nowhere, and no tab or link leads to a part or a
 * dialog that is in no table.
 */
export async function expectParts(
  { shown, ids }: { readonly shown: Shown; readonly ids: Ids },
  parts: readonly Place[],
): Promise<void> {
  const tables = [partsOfCas, otherParts, dialogsOfCas, otherDialogs];
  const known = new Set(tables.flatMap((table) => table(ids)).map(({ path }) => wordsOf(path)));
  const led = new Set<string>();
  const complaints = await inTabs(shown, parts, async ({ page, quiet }, place) => {
    await quiet();
    await expectAccessible(page);
    await expectReasons(page);
    await expectWalk(page, isFirst(place, parts) ? "beginning" : "main");
    const links: readonly string[] = await page.evaluate(`
      [...document.querySelectorAll("main .tabs a, main a[href*='dialog=']")]
        .map((one) => one.getAttribute("href"))`);
    for (const link of links) led.add(wordsOf(link));
  });
  expect([...led].filter((words) => !known.has(words))).toEqual([]);
  expect(complaints).toEqual([]);
}

/**
 * Each dialog is accessible, has a reason on every disabled control, shows and keeps the focus, and
 * closes by Esc.
 */
export async function expectDialogs(shown: Shown, dialogs: readonly Place[]): Promise<void> {
  const complaints = await inTabs(shown, dialogs, async (visit, dialog) => {
    await visit.page.locator("dialog[open]").waitFor();
    await visit.quiet();
    await expectReasons(visit.page);
    await expectDialog(visit, dialog);
  });
  expect(complaints).toEqual([]);
}

/** Every disabled control of the page is described by its reason. */
async function expectReasons(page: Page): Promise<void> {
  const controls = await disabledIn(page);
  const path = page.url();
  const silent = controls.filter(({ reason }) => reason === "");
  expect({ path, silent }).toEqual({ path, silent: [] });
}

/** The first segment of an address of the console. */
export const segmentOf = (path: string): string => kindOf(path).part.split(/[/ ]/)[0] ?? "";

const isFirst = (place: Place, parts: readonly Place[]): boolean =>
  parts.find(({ path }) => segmentOf(path) === segmentOf(place.path)) === place;

function wordsOf(path: string): string {
  const { part, dialog } = kindOf(path);
  return dialog === undefined ? part : `${part}: ${dialog}`;
}
