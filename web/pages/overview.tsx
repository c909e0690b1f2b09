/** The first page: what needs a person now, and how this instance is doing. */

import { Attention } from "#web/pages/overview/attention.tsx";
import { Inventory } from "#web/pages/overview/inventory.tsx";
import { PerDay } from "#web/pages/overview/per-day.tsx";
import { Traffic } from "#web/pages/overview/traffic.tsx";
import { Heading } from "#web/ui/heading.tsx";
import { Plots } from "#web/ui/plot.tsx";

export function OverviewPage() {
  return (
    <>
      <Heading name="Overview" />
      <Attention />
      <Plots>
        <PerDay />
        <Inventory />
        <Traffic />
      </Plots>
    </>
  );
}
