/** Where the focus is, for whatever takes away what had it. */

/** Nothing has it: what had it is gone, hidden or disabled. */
export function isFocusLost(): boolean {
  const { activeElement: active, body } = document;
  return active === null || active === body || !isShown(active);
}

/** A browser takes the focus from what is hidden only when it next draws. */
export const isShown = (element: Element): boolean => element.getClientRects().length > 0;
