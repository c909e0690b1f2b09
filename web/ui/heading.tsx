/** The head of a page: its name, what can be done on it, and the title of the window. */

import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { plainText } from "./plain.ts";

interface HeadingProps {
  readonly name: string;
  /** Where the page stands, outermost first: each leads there. */
  readonly above?: readonly { readonly name: string; readonly href: string }[];
  /** Buttons at the right. */
  readonly children?: ComponentChildren;
}

/** One on each page. */
export function Heading({ name, above = [], children }: HeadingProps) {
  useEffect(() => {
    document.title = `${plainText(name)} · pkid`;
  }, [name]);
  return (
    <div class="heading">
      <h1>
        {above.map((place) => (
          <span key={place.href}>
            <a href={place.href}>{place.name}</a>
            <span class="quiet" aria-hidden="true">
              {" › "}
            </span>
          </span>
        ))}
        {name}
      </h1>
      {children && <div class="buttons">{children}</div>}
    </div>
  );
}
