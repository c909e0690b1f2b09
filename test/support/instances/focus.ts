/** Where the keyboard is on a page, and whether whoever uses it can see that. */

import { expect } from "bun:test";
import type { Locator, Page } from "playwright-core";

import { expectAccessible, type Visit } from "./console-world.ts";
import type { Place } from "./places.ts";

/**
 * `seen` where the focus has an outline within the window, `end` where nothing has it; else what
 * has it. A control that is drawn by what it stands in shows it there.
 */
export const stop = (page: Page): Promise<string> => page.evaluate(lookAtFocus);

export const focused = (one: Locator): Promise<boolean> =>
  one.evaluate((element) => element === document.activeElement);

/**
 * To the end of the page, from its beginning or from its main part, beside which all pages have the
 * same: the focus is seen at every stop, and held nowhere.
 */
export async function expectWalk(page: Page, from: "beginning" | "main"): Promise<void> {
  await page.evaluate("document.body.focus(), document.activeElement.blur()");
  if (from === "main") await page.evaluate(`document.getElementById("main").focus()`);
  let stops = 0;
  for (; stops < stopsMax; stops++) {
    await page.keyboard.press("Tab");
    const seen = await stop(page);
    if (seen === "end") break;
    expect({ at: page.url(), seen }).toEqual({ at: page.url(), seen: "seen" });
  }
  // Behind the last one comes the window itself, and then the first again.
  expect(stops).toBeGreaterThan(from === "main" ? 3 : 15);
  expect(stops).toBeLessThan(stopsMax);
}

/** Within the open dialog all the way round, forwards and back, and seen at every stop. */
export async function expectTrap(page: Page): Promise<void> {
  expect(await page.evaluate(isWithin)).toBe(true);
  for (const key of ["Tab", "Shift+Tab"]) {
    let ends = 0;
    for (let stops = 0; ends < 1 && stops < stopsMax; stops++) {
      await page.keyboard.press(key);
      const seen = await stop(page);
      if (seen === "end") ends++;
      else expect({ at: page.url(), seen }).toEqual({ at: page.url(), seen: "seen" });
      expect(await page.evaluate(isWithin)).toBe(true);
    }
    // Round once: the window itself comes between the last control and the first.
    expect({ at: page.url(), ends }).toEqual({ at: page.url(), ends: 1 });
  }
}

/**
 * What is open is accessible, holds the focus, and is closed by Esc, also in the address; or by
 * nothing but one button, where Esc would lose something for good.
 */
export async function expectDialog(
  { page, quiet }: Visit,
  { endedBy }: Pick<Place, "endedBy">,
): Promise<void> {
  const dialog = page.locator("dialog[open]");
  const opened = await dialog.waitFor().then(
    () => true,
    () => false,
  );
  expect({ at: page.url(), opened }).toEqual({ at: page.url(), opened: true });
  await quiet();
  await expectAccessible(page, "dialog[open]");
  await expectTrap(page);
  await page.keyboard.press("Escape");
  if (endedBy !== undefined) {
    await page.keyboard.press("Escape");
    await page.keyboard.press("Escape");
    expect(await dialog.isVisible()).toBe(true);
    await page.getByRole("button", { name: endedBy }).click();
  }
  await dialog.waitFor({ state: "detached" });
  expect(new URL(page.url()).searchParams.get("dialog")).toBeNull();
}

/** The window itself stands for nothing beneath the dialog. */
const isWithin = `(() => {
  const { activeElement: focus } = document;
  return focus === null || focus === document.body || focus.closest("dialog[open]") !== null;
})()`;

const lookAtFocus = `(() => {
  const focus = document.activeElement;
  if (focus === null || focus === document.body) return "end";
  const drawn = [focus, focus.parentElement].some((one) => {
    const { outlineStyle, outlineWidth } = getComputedStyle(one);
    return outlineStyle !== "none" && parseFloat(outlineWidth) >= 2;
  });
  const { top, bottom, left, right } = focus.getBoundingClientRect();
  const within = bottom > 0 && right > 0 && top < innerHeight && left < innerWidth;
  return drawn && within ? "seen" : focus.outerHTML.slice(0, 200);
})()`;

/** The list of all operations is the longest. */
export const stopsMax = 400;
