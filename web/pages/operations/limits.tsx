/** What is logged, which load limits are in force and why, and what was refused for them. */

import { useEffect, useState } from "preact/hooks";
import type { Answers } from "#api/answers.ts";
import { fetched, pathOf, replied } from "#web/api.ts";
import { samplesIn, sumOf } from "#web/exposition.ts";
import { usePolled } from "#web/polled.ts";
import { useAsked } from "#web/ui/asked.tsx";
import { Facts } from "#web/ui/facts.tsx";

type Setting = Answers["config.show"]["settings"][number];

/** Two cards; nothing for who may not read the configuration, which is said below. */
export function Limits() {
  const { reply } = useAsked("config.show", { defaults: true }, ["config.*"]);
  const refused = useRefused();
  if (reply?.kind !== "answered") return null;
  const all = new Map(reply.answer.settings.map((setting) => [setting.path, setting]));
  const isLimited = all.get("rate_limit.enabled")?.value === true;
  const tiers = isLimited ? tiersOf(all) : {};
  return (
    <div class="cards">
      <section class="card" aria-labelledby="logging">
        <h2 id="logging">Log</h2>
        <Facts of={{ Level: said(all.get("log.level")), Format: said(all.get("log.format")) }} />
      </section>
      <section class="card" aria-labelledby="limits">
        <h2 id="limits">Load limits</h2>
        <Facts
          of={{
            Limited: said(all.get("rate_limit.enabled")),
            ...tiers,
            "Signing bounded": said(all.get("rate_limit.concurrency.enabled")),
            "Signing at once": said(all.get("rate_limit.concurrency.max_in_flight")),
            "Signing in waiting": said(all.get("rate_limit.concurrency.max_queue")),
            "Refused since the start": refused && (
              <>
                {refused.tooMany.toLocaleString("en")} with 429, {refused.away.toLocaleString("en")}{" "}
                with 503
              </>
            ),
          }}
        />
      </section>
    </div>
  );
}

function tiersOf(all: ReadonlyMap<string, Setting>) {
  return Object.fromEntries(
    tiers.map(([tier, name]) => {
      const rate = all.get(`rate_limit.${tier}.rate`);
      const burst = all.get(`rate_limit.${tier}.burst`);
      if (rate === undefined) return [name, undefined];
      return [
        name,
        rate.value === 0 ? (
          "off"
        ) : (
          <>
            {String(rate.value)} a second, {String(burst?.value)} at once{" "}
            <span class="quiet small">({rate.origin})</span>
          </>
        ),
      ];
    }),
  );
}

const tiers = [
  ["global", "All together"],
  ["per_ip", "Each address"],
  ["per_account", "Each account"],
] as const;

function said(setting: Setting | undefined) {
  if (setting === undefined) return undefined;
  const { value, origin } = setting;
  const word = value === true ? "yes" : value === false ? "no" : String(value);
  return (
    <>
      {word} <span class="quiet small">({origin})</span>
    </>
  );
}

/** What this process answered with 429 and 503; looked at while it is shown. */
function useRefused(): { readonly tooMany: number; readonly away: number } | undefined {
  const [refused, setRefused] = useState<{ readonly tooMany: number; readonly away: number }>();
  const [round, setRound] = useState(0);
  usePolled(() => setRound((count) => count + 1), 10);
  useEffect(() => {
    const stop = new AbortController();
    const look = async () => {
      const reply = await replied(fetched(pathOf("metrics.read"), undefined, stop.signal));
      if (reply.kind !== "answered" || stop.signal.aborted) return;
      const samples = samplesIn(await reply.answer.text());
      const answered = (status: string) => sumOf(samples, "pki_http_requests_total", { status });
      setRefused({ tooMany: answered("429"), away: answered("503") });
    };
    void look();
    return () => stop.abort();
  }, [round]);
  return refused;
}
