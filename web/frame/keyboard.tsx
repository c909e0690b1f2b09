/** Keys that work everywhere: to the search, to a page, out of what is open, and their list. */

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { hrefOf, parseAddress, visit } from "#web/address.ts";
import { type PageRow, pages } from "#web/routes.tsx";
import { Dialog } from "#web/ui/layers.tsx";

interface Keyboard {
  readonly show: () => void;
  readonly dialog: ComponentChildren;
}

/** Listens while the frame is drawn; gives the dialog that lists the keys. */
export function useKeyboard(): Keyboard {
  const [helping, setHelping] = useState(false);
  const going = useRef(false);
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const wasGoing = going.current;
      going.current = false;
      if (event.key === "Escape") leave();
      if (isTyping(event.target) || document.querySelector("dialog[open]") !== null) return;
      const page = wasGoing ? pages.find(({ key }) => key === event.key) : undefined;
      if (page !== undefined) visit(pageHref(page));
      else if (event.key === "g") going.current = true;
      else if (event.key === "?") setHelping(true);
      else if (event.key === "/") document.getElementById("search")?.focus();
      else return;
      event.preventDefault();
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, []);
  const dialog = helping && (
    <Dialog title="Keyboard" onClose={() => setHelping(false)}>
      <dl>
        <dt>
          <kbd>/</kbd>
        </dt>
        <dd>search</dd>
        <dt>
          <kbd>t</kbd>
        </dt>
        <dd>figures as a table, or drawn</dd>
        {pages.map(({ key, name }) => (
          <>
            <dt>
              <kbd>g</kbd> <kbd>{key}</kbd>
            </dt>
            <dd>{name}</dd>
          </>
        ))}
        <dt>
          <kbd>Esc</kbd>
        </dt>
        <dd>close what is open</dd>
      </dl>
    </Dialog>
  );
  return { show: () => setHelping(true), dialog };
}

/** Whoever looks at one tenant goes on with it. */
function pageHref({ segment }: PageRow): string {
  const { tenant } = parseAddress(location.pathname, location.search).query;
  return hrefOf(segment === "" ? [] : [segment], { tenant });
}

/** Closes the panel beside a list; a dialog closes itself. */
function leave(): void {
  if (document.querySelector("dialog[open]") !== null) return;
  const close = document.querySelector("a[data-escape]");
  if (close instanceof HTMLAnchorElement) close.click();
  else if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
}

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
