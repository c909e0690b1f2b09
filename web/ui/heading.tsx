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
  useEffect(() => {
    document.title = `${plainText(name)} · pkid`;
  }, [name]);
  const Level = useContext(LevelContext);
  return (
    <div class="heading">
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

/** What the heading of a page is: the second where the page's own name stands above it. */
export const LevelContext = createContext<"h1" | "h2">("h1");
