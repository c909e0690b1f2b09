/** How many certificates there are, by how soon they end and by status. */

import { useEffect, useState } from "preact/hooks";
import { ask, replied } from "#web/api.ts";
import { useConsole } from "#web/console.ts";
import { useAsked } from "#web/ui/asked.tsx";
import { Plot, type Point } from "#web/ui/plot.tsx";

export function Inventory() {
  const { reply } = useAsked("monitor.expiring", { limit: 1 }, ["cert.*"]);
  const byStatus = useByStatus();
  const counts = reply?.kind === "answered" ? reply.answer.counts : undefined;
  return (
    <>
      {counts && reply?.kind === "answered" && (
        <Plot
          title="Valid, by time left"
          unit="certificates"
          kind="bars"
          series={[
            {
              name: "certificates",
              points: [
                { name: `over ${reply.answer.warning_days} days`, value: counts.ok },
                { name: `up to ${reply.answer.warning_days} days`, value: counts.warning },
                { name: `up to ${reply.answer.critical_days} days`, value: counts.critical },
                { name: "expired", value: counts.expired },
              ],
            },
          ]}
        />
      )}
      {byStatus.length > 0 && (
        <Plot
          title="Inventory, by status"
          unit="certificates"
          kind="bars"
          series={[{ name: "certificates", points: byStatus }]}
        />
      )}
    </>
  );
}

/** The sizes of the filtered lists of each CA, asked for once. */
function useByStatus(): readonly Point[] {
  const { credential, address } = useConsole();
  const { tenant } = address.query;
  const { reply } = useAsked("ca.list", { tenant, limit: casMax });
  const [points, setPoints] = useState<readonly Point[]>([]);
  const cas = reply?.kind === "answered" ? reply.answer.items : [];
  const key = cas.map(({ id }) => id).join();
  useEffect(() => {
    if (cas.length === 0) return;
    const stop = new AbortController();
    const asked = statuses.map(async (status) => {
      const totals = await Promise.all(
        cas.map(async ({ id }) => {
          const members = { id, status, limit: 1 };
          const one = await replied(ask("cert.list", members, credential, stop.signal));
          return one.kind === "answered" ? one.answer.total : 0;
        }),
      );
      return { name: status, value: totals.reduce((sum, total) => sum + total, 0) };
    });
    void Promise.all(asked).then((all) => {
      if (!stop.signal.aborted) setPoints(all);
    });
    return () => stop.abort();
    // `key` stands for the CAs.
  }, [key, credential]);
  return points;
}

const statuses = ["good", "held", "revoked", "expired"] as const;
const casMax = 24;
