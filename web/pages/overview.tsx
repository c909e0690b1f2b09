/** The first page: what needs a person now, and how this instance is doing. */

import { useAddress } from "#web/console.ts";
import { Attention } from "#web/pages/overview/attention.tsx";
import { Inventory } from "#web/pages/overview/inventory.tsx";
import { PerDay } from "#web/pages/overview/per-day.tsx";
import { Traffic } from "#web/pages/overview/traffic.tsx";
import { useAsked } from "#web/ui/asked.tsx";
import { Heading } from "#web/ui/heading.tsx";
import { Plots } from "#web/ui/plot.tsx";

export function OverviewPage() {
  const { tenant } = useAddress().query;
  // It counts the whole inventory: both parts that show it share one answer.
  const expiring = useAsked("monitor.expiring", { tenant, limit: 1 }, ["cert.*"]);
  return (
    <>
      <Heading name="Overview" />
      <Attention expiring={expiring.reply} />
      <Plots>
        <PerDay />
        <Inventory expiring={expiring} />
        <Traffic />
      </Plots>
    </>
  );
}
