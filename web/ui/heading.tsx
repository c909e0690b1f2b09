/** The head of a page: its name, what can be done on it, and the title of the window. */

import { type ComponentChildren, createContext } from "preact";
import { useContext, useEffect } from "preact/hooks";
import { plainText } from "./plain.ts";

interface HeadingProps {
  readonly name: string;
  /** Where the page stands, outermost first: each leads there. */
  readonly above?: readonly { readonly name: string; readonly href: string }[];
  /** Buttons at the right. */
  readonly children?: ComponentChildren;
}

/** One on each page; below the name of a page that has parts, that of the part. */
export function Heading({ name, above = [], children }: HeadingProps) {
  useEffect(nameWindow, [name]);
  const Level = useContext(LevelContext);
  return (
    <div class="heading" data-page={name}>
      <Level>
        {above.map((place) => (
          <span key={place.href}>
            <a href={place.href}>{place.name}</a>
            <span class="quiet" aria-hidden="true">
              {" › "}
            </span>
          </span>
        ))}
        {name}
      </Level>
      {children && <div class="buttons">{children}</div>}
    </div>
  );
}

/**
 * Gives the window the name of the panel that is open, if one is, and of the page. They are read
 * off the document, where both are at once, whichever of them was drawn last.
 */
export function nameWindow(): void {
  const panel = document.querySelector(".panel > header > h2")?.textContent;
  const pages = [...document.querySelectorAll<HTMLElement>(".heading[data-page]")];
  const names = [panel, pages.at(-1)?.dataset.page].filter((name) => name !== undefined);
  if (names.length > 0) document.title = [...names.map(plainText), "pkid"].join(" · ");
}

/** What the heading of a page is: the second where the page's own name stands above it. */
export const LevelContext = createContext<"h1" | "h2">("h1");
