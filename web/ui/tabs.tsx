/** The parts of a page, each at an address of its own. */

import { hrefOf } from "#web/address.ts";
import { useAddress } from "#web/console.ts";

export interface Tab {
  /** The segment behind the page's own. */
  readonly segment: string;
  readonly name: string;
}

interface TabsProps {
  readonly page: string;
  readonly tabs: readonly Tab[];
  readonly current: string;
}

/** Links, so that each part can be copied, reloaded and gone back to. */
export function Tabs({ page, tabs, current }: TabsProps) {
  const { tenant } = useAddress().query;
  return (
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
  );
}
