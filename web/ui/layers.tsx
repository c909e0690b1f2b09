/** What lies beside a list or over a page: the panel of a row, and dialogs. */

import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { hrefWith, visit } from "#web/address.ts";
import { useAddress } from "#web/console.ts";
import { nameWindow } from "./heading.tsx";
import { isFocusLost, isShown } from "./focus.ts";

interface PanelProps {
  readonly title: ComponentChildren;
  /** Where closing it leads. */
  readonly closeHref: string;
  readonly actions?: ComponentChildren;
  readonly children: ComponentChildren;
}

/** Beside the list, or a page of its own where there is no room; `Esc` closes it. */
export function Panel({ title, closeHref, actions, children }: PanelProps) {
  const id = useId();
  const panel = useRef<HTMLElement>(null);
  const row = useRef<HTMLElement | undefined>(undefined);
  useEffect(nameWindow);
  // Its title is in the document until it is taken out of there.
  useEffect(() => () => void requestAnimationFrame(nameWindow), []);
  useEffect(() => {
    // Remembered while it is drawn: once the panel is closed no row is the current one.
    row.current = document.querySelector<HTMLElement>(currentRow) ?? row.current;
  });
  useEffect(() => {
    if (panel.current !== null) showTop(panel.current, row.current);
    return () => requestAnimationFrame(() => isFocusLost() && row.current?.focus());
  }, []);
  return (
    <aside ref={panel} class="panel" aria-labelledby={id} tabIndex={-1}>
      <header>
        <h2 id={id}>{title}</h2>
        <a class="button plain" href={closeHref} data-escape="">
          <span aria-hidden="true">×</span>
          <span class="unseen">Close the panel</span>
        </a>
      </header>
      {actions && <div class="buttons">{actions}</div>}
      {children}
    </aside>
  );
}

/** Where there is little room the list is hidden, and with it the row that had the focus. */
function showTop(panel: HTMLElement, row: HTMLElement | undefined): void {
  if (document.querySelector("dialog[open]") !== null) return;
  if (panel.getBoundingClientRect().top < 0) panel.scrollIntoView({ block: "start" });
  if (row !== undefined && !isShown(row) && isFocusLost()) panel.focus({ preventScroll: true });
}

const currentRow = 'a.row[aria-current="true"]';

interface DialogProps {
  readonly title: string;
  /** Nothing but what it asks for ends a dialog without one. */
  readonly onClose?: (() => void) | undefined;
  readonly wide?: boolean;
  readonly children: ComponentChildren;
}

/** A modal window; `Esc` and the cross close it, where that is possible at all. */
export function Dialog({ title, onClose, wide = false, children }: DialogProps) {
  const window = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const back = document.activeElement;
    window.current?.showModal();
    // The cross is first in the dialog, and what one came for is the first field.
    window.current?.querySelector<HTMLElement>("form :is(input, select, textarea)")?.focus();
    return () => {
      if (back instanceof HTMLElement) back.focus();
    };
  }, []);
  const pressed = (event: KeyboardEvent) => {
    if (event.key !== "Escape" || event.isComposing) return;
    // The browser would close it at the second `Esc`, whatever it was told.
    event.preventDefault();
    event.stopPropagation();
    onClose?.();
  };
  useEffect(() => {
    // Behind its last control the focus is on the page itself, as far as scripts can tell.
    const outside = (event: KeyboardEvent) => {
      const top = [...document.querySelectorAll("dialog[open]")].at(-1);
      if (event.target === document.body && top === window.current) pressed(event);
    };
    document.addEventListener("keydown", outside);
    return () => document.removeEventListener("keydown", outside);
  });
  return (
    <dialog
      ref={window}
      class={wide ? "wide" : undefined}
      aria-labelledby={id}
      onKeyDown={pressed}
      onCancel={(event) => {
        event.preventDefault();
        onClose?.();
      }}
      // However else a browser closes it.
      onClose={({ currentTarget }) => currentTarget.isConnected && currentTarget.showModal()}
    >
      <header>
        <h2 id={id}>{title}</h2>
        {onClose && (
          <button type="button" class="button plain" aria-label="Close" onClick={onClose}>
            <span aria-hidden="true">×</span>
          </button>
        )}
      </header>
      {children}
    </dialog>
  );
}

/** The dialog that the address names by `dialog=…`, and how it is closed. */
export function useDialog(): { readonly open: string | undefined; readonly close: () => void } {
  const address = useAddress();
  const close = () => visit(hrefWith(address, { dialog: undefined }));
  return { open: address.query.dialog, close };
}
