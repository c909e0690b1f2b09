/** How many certificates there are, by how soon they end and by status. */

import { useAddress } from "#web/console.ts";
import { useAsked } from "#web/ui/asked.tsx";
import { NoPlot, Plot } from "#web/ui/plot.tsx";
import { statusWord } from "#web/ui/status.tsx";

/** Of the chosen tenant, or of all CAs that the caller may read. */
export function Inventory() {
  const { tenant } = useAddress().query;
  const ends = useAsked("monitor.expiring", { tenant, limit: 1 }, ["cert.*"]).reply;
  const counts = useAsked("inventory.certificates", { tenant }, ["cert.*", "ca.*"]).reply;
  return (
    <>
      <NoPlot title={byTime} reply={ends} />
      <NoPlot title={byStatus} reply={counts} />
      {ends?.kind === "answered" && (
        <Plot
          title={byTime}
          unit="certificates"
          kind="bars"
          series={[
            {
              name: "certificates",
              points: [
                {
                  name: `over ${ends.answer.warning_days} days`,
                  value: ends.answer.counts.ok,
                },
                {
                  name: `up to ${ends.answer.warning_days} days`,
                  value: ends.answer.counts.warning,
                },
                {
                  name: `up to ${ends.answer.critical_days} days`,
                  value: ends.answer.counts.critical,
                },
                { name: "expired", value: ends.answer.counts.expired },
              ],
            },
          ]}
        />
      )}
      {counts?.kind === "answered" && counts.answer.cas > 0 && (
        <Plot
          title={byStatus}
          unit="certificates"
          kind="bars"
          series={[
            {
              name: "certificates",
              points: statuses.map((status) => ({
                name: statusWord(status),
                value: counts.answer[status],
              })),
            },
          ]}
        />
      )}
    </>
  );
}

const byTime = "Not revoked, by time left";
const byStatus = "Inventory, by status";
const statuses = ["good", "held", "revoked", "expired"] as const;
