/** The parts of a page, each at an address of its own. */

import type { ComponentChildren } from "preact";
import { hrefOf } from "#web/address.ts";
import { useAddress } from "#web/console.ts";
import { LevelContext } from "./heading.tsx";

export interface Tab {
  /** The segment behind the page's own. */
  readonly segment: string;
  readonly name: string;
}

interface PartsProps {
  /** What the page is called. */
  readonly name: string;
  readonly page: string;
  readonly tabs: readonly Tab[];
  readonly current: string;
  /** The part that is looked at, with a heading of its own. */
  readonly children: ComponentChildren;
}

/** The name of the page, its parts as links, so that each can be gone back to, and one of them. */
export function Parts({ name, page, tabs, current, children }: PartsProps) {
  const { tenant } = useAddress().query;
  return (
    <>
      <h1>{name}</h1>
      <nav class="tabs" aria-label="Parts of the page">
        {tabs.map(({ segment, name }) => (
          <a
            key={segment}
            href={hrefOf([page, segment], { tenant })}
            aria-current={segment === current ? "page" : undefined}
          >
            {name}
          </a>
        ))}
      </nav>
      <LevelContext.Provider value="h2">{children}</LevelContext.Provider>
    </>
  );
}
