/** What was issued and revoked on each of the last thirty days. */

import { useEffect, useState } from "preact/hooks";
import type { Answers } from "#api/answers.ts";
import { ask, type Reply, replied } from "#web/api.ts";
import { isMissing } from "#web/ui/asked.tsx";
import { useConsole, useLive, actionsIn } from "#web/console.ts";
import { NoPlot, Plot } from "#web/ui/plot.tsx";

type Usage = Answers["tenant.usage"];

/** Of the tenant that is chosen, or of all together. */
export function PerDay() {
  const { replies, left } = useUsage();
  const days = summed(
    (replies ?? []).flatMap((one) => (one.kind === "answered" ? [one.answer] : [])),
  );
  // The figures of some tenants would be taken for those of all.
  const missing = replies?.find(isMissing);
  if (missing !== undefined) return <NoPlot title={perDay} reply={missing} />;
  if (left > 0) return <TooMany />;
  if (replies === undefined) return <NoPlot title={perDay} reply={undefined} />;
  if (days.length === 0) return null;
  return (
    <Plot
      title={perDay}
      unit="certificates"
      kind="bars"
      series={[
        { name: "issued", points: days.map(({ day, issued }) => ({ name: day, value: issued })) },
        {
          name: "revoked",
          points: days.map(({ day, revoked }) => ({ name: day, value: revoked })),
        },
      ]}
    />
  );
}

/** A picture of some tenants would be taken for one of all. */
const TooMany = () => (
  <section class="card" aria-label={perDay}>
    <h2>{perDay}</h2>
    <p>
      Its figures are those of tenants, and there are more than {tenantsMax} of them. Choose one at
      the top.
    </p>
  </section>
);

interface Known {
  /** The tenants. */
  readonly of: string;
  readonly replies: readonly Reply<Usage>[];
}

interface Used {
  /** Undefined until all have come. */
  readonly replies: readonly Reply<Usage>[] | undefined;
  readonly left: number;
}

/** The days of each tenant, and of how many tenants there are none. */
function useUsage(): Used {
  const { tenants, address, credential } = useConsole();
  const [known, setKnown] = useState<Known>();
  const [round, setRound] = useState(0);
  useLive(actionsIn(["cert.issue", "cert.revoke", "cert.renew"]), () => setRound((n) => n + 1));
  const { tenant } = address.query;
  const chosen = tenants.filter(
    ({ id, slug }) => tenant === undefined || tenant === id || tenant === slug,
  );
  // One that could not be told whole is not asked for at all.
  const wanted = chosen.length > tenantsMax ? [] : chosen;
  const key = wanted.map(({ id }) => id).join();
  useEffect(() => {
    const stop = new AbortController();
    const asked = wanted.map(({ id }) =>
      replied(ask("tenant.usage", { id, days: 30 }, credential, stop.signal)),
    );
    void Promise.all(asked).then((all) => {
      if (!stop.signal.aborted) setKnown({ of: key, replies: all });
    });
    return () => stop.abort();
    // `key` stands for the tenants.
  }, [key, credential, round]);
  // The figures of the tenant before would be taken for those of the one that is chosen.
  return {
    replies: known?.of === key ? known.replies : undefined,
    left: chosen.length - wanted.length,
  };
}

/** Oldest first. */
function summed(usage: readonly Usage[]) {
  const days = new Map<string, { issued: number; revoked: number }>();
  for (const { day, certs_issued, certs_revoked } of usage.flatMap((one) => one.days)) {
    const { issued = 0, revoked = 0 } = days.get(day) ?? {};
    days.set(day, { issued: issued + certs_issued, revoked: revoked + certs_revoked });
  }
  return [...days]
    .map(([day, { issued, revoked }]) => ({ day, issued, revoked }))
    .sort((a, b) => (a.day < b.day ? -1 : 1));
}

const perDay = "Issued and revoked, 30 days";
const tenantsMax = 50;
