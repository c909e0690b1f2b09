/** What is shown in a dialog once a CA has been made: what it is, what to know, where it is. */

import type { ComponentChildren } from "preact";
import { type Ca, caHref } from "./ca.ts";

interface MadeProps {
  readonly ca: Ca;
  readonly warnings?: readonly string[] | undefined;
  readonly children: ComponentChildren;
}

/** Leads on to the CA. */
export const Made = ({ ca, warnings = [], children }: MadeProps) => (
  <>
    <div class="notice good" role="status">
      <p>
        <span aria-hidden="true">✓ </span>
        {children}
      </p>
    </div>
    <Warnings words={warnings} />
    <div class="buttons">
      <a class="button primary" href={caHref(ca.id)}>
        Open {ca.label}
      </a>
    </div>
  </>
);

/** What is taken, and worth knowing. */
export const Warnings = ({ words }: { readonly words: readonly string[] }) =>
  words.length === 0 ? null : (
    <ul class="notice warn bare">
      {words.map((word) => (
        <li key={word}>
          <span aria-hidden="true">◐ </span>
          {word}
        </li>
      ))}
    </ul>
  );
