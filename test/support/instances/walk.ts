/** Walks parts of the console by the keyboard, and looks where they lead. */

import { expect } from "bun:test";

import { expectAccessible } from "./console-world.ts";
import { expectWalk } from "./focus.ts";
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
    await expectWalk(page, isFirst(place, parts) ? "beginning" : "main");
    const links: readonly string[] = await page.evaluate(`
      [...document.querySelectorAll("main .tabs a, main a[href*='dialog=']")]
        .map((one) => one.getAttribute("href"))`);
    for (const link of links) led.add(wordsOf(link));
  });
  expect([...led].filter((words) => !known.has(words))).toEqual([]);
  expect(complaints).toEqual([]);
}

/** The first segment of an address of the console. */
export const segmentOf = (path: string): string => kindOf(path).part.split(/[/ ]/)[0] ?? "";

const isFirst = (place: Place, parts: readonly Place[]): boolean =>
  parts.find(({ path }) => segmentOf(path) === segmentOf(place.path)) === place;

function wordsOf(path: string): string {
  const { part, dialog } = kindOf(path);
  return dialog === undefined ? part : `${part}: ${dialog}`;
}
