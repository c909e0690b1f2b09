/** Why a control cannot be used, as whoever does not see the page is told, and moving about. */

import type { Locator, Page } from "playwright-core";

/** Within the page, as a link of it would: an API token lives there and nowhere else. */
export const go = (page: Page, address: string): Promise<void> =>
  page.evaluate((href) => {
    history.pushState(null, "", href);
    dispatchEvent(new PopStateEvent("popstate"));
  }, `/console/${address}`);

/** What the control is described by, at one moment. */
export async function reasonOf(control: Locator): Promise<string> {
  const texts = await control.evaluate((element) =>
    (element.getAttribute("aria-describedby") ?? "")
      .split(" ")
      .map((id) => document.getElementById(id)?.textContent ?? ""),
  );
  return texts.join(" ").replace("◐ ", "").trim();
}

export interface DisabledControl {
  readonly control: string;
  /** What it is described by; empty where that is nothing. */
  readonly reason: string;
}

/**
 * The controls in the page that are disabled. The ends of a list say by themselves that there is no
 * more of it, so they are left out.
 */
export const disabledIn = (page: Page): Promise<readonly DisabledControl[]> =>
  page.evaluate(`[...document.querySelectorAll(":is(button, input, select, textarea):disabled")]
    .filter((control) => control.checkVisibility() && control.closest(".pager") === null)
    .map((control) => ({
      control: control.outerHTML,
      reason: (control.getAttribute("aria-describedby") ?? "").split(" ")
        .map((id) => document.getElementById(id)?.textContent ?? "").join(" ").trim(),
    }))`);
