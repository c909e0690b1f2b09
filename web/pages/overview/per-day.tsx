/** What was issued and revoked on each of the last thirty days. */

import { useAddress } from "#web/console.ts";
import { useAsked } from "#web/ui/asked.tsx";
import { awaited, NoPlot, Plot } from "#web/ui/plot.tsx";

/** Of the chosen tenant, or of all CAs that the caller may read. */
export function PerDay() {
  const { tenant } = useAddress().query;
  const asking = useAsked("inventory.days", { tenant, days: dayCount }, ["cert.*", "ca.*"]);
  const { reply } = asking;
  if (reply?.kind !== "answered") {
    return <NoPlot {...perDay} series={awaited(["issued", "revoked"], dayCount)} asking={asking} />;
  }
  if (reply.answer.cas === 0) return null;
  const days = [...reply.answer.items].reverse();
  return (
    <Plot
      {...perDay}
      series={[
        { name: "issued", points: days.map(({ date, issued }) => ({ name: date, value: issued })) },
        {
          name: "revoked",
          points: days.map(({ date, revoked }) => ({ name: date, value: revoked })),
        },
      ]}
    />
  );
}

const dayCount = 30;
const perDay = {
  title: "Issued and revoked, 30 days",
  unit: "certificates",
  kind: "bars",
} as const;
