/** How many certificates there are, by how soon they end and by status. */

import type { Answers } from "#api/answers.ts";
import { useAddress } from "#web/console.ts";
import { type Asking, useAsked } from "#web/ui/asked.tsx";
import { awaited, NoPlot, Plot } from "#web/ui/plot.tsx";
import { statusWord } from "#web/ui/status.tsx";

interface InventoryProps {
  /** The whole page asks for it once. */
  readonly expiring: Asking<"monitor.expiring">;
}

/** Of the chosen tenant, or of all CAs that the caller may read. */
export function Inventory({ expiring }: InventoryProps) {
  const { tenant } = useAddress().query;
  const counts = useAsked("inventory.certificates", { tenant }, ["cert.*", "ca.*"]);
  const none = awaited(["certificates"], statuses.length);
  return (
    <>
      {expiring.reply?.kind === "answered" ? (
        <ByTime ends={expiring.reply.answer} />
      ) : (
        <NoPlot {...byTime} series={none} asking={expiring} />
      )}
      {counts.reply?.kind === "answered" ? (
        <ByStatus counts={counts.reply.answer} />
      ) : (
        <NoPlot {...byStatus} series={none} asking={counts} />
      )}
    </>
  );
}

function ByTime({ ends }: { readonly ends: Answers["monitor.expiring"] }) {
  const { counts, warning_days, critical_days } = ends;
  const points = [
    { name: `over ${warning_days} days`, value: counts.ok },
    { name: `up to ${warning_days} days`, value: counts.warning },
    { name: `up to ${critical_days} days`, value: counts.critical },
    { name: "expired", value: counts.expired },
  ];
  return <Plot {...byTime} series={[{ name: "certificates", points }]} />;
}

function ByStatus({ counts }: { readonly counts: Answers["inventory.certificates"] }) {
  if (counts.cas === 0) return null;
  const points = statuses.map((status) => ({ name: statusWord(status), value: counts[status] }));
  return <Plot {...byStatus} series={[{ name: "certificates", points }]} />;
}

const byTime = {
  title: "Not revoked, by time left",
  unit: "certificates",
  kind: "bars",
} as const;
const byStatus = { title: "Inventory, by status", unit: "certificates", kind: "bars" } as const;
const statuses = ["good", "held", "revoked", "expired"] as const;
