/** Requests a second, what was refused, and how fast the keys are, while the page is open. */

import { useEffect, useState } from "preact/hooks";
import { fetched, pathOf, type Reply, replied } from "#web/api.ts";
import { type Sample, samplesIn, sumOf } from "#web/exposition.ts";
import { Outcome } from "#web/ui/asked.tsx";
import { Plot } from "#web/ui/plot.tsx";

interface Look {
  readonly at: number;
  readonly requests: number;
  readonly refusals: number;
  readonly signatures: number;
  readonly signSeconds: number;
}

/** The figures are looked at every five seconds and forgotten with the page. */
export function Traffic() {
  const { looks, refused, again } = useLooks();
  const steps = looks.slice(1).map((look, index) => step(looks[index] ?? look, look));
  return (
    <>
      <Plot
        title="Requests a second"
        unit="per second"
        kind="lines"
        series={[
          {
            name: "answered",
            points: steps.map(({ name, requests }) => ({ name, value: requests })),
          },
          {
            name: "refused",
            points: steps.map(({ name, refusals }) => ({ name, value: refusals })),
          },
        ]}
      >
        <Looking steps={steps.length} refused={refused} again={again} />
      </Plot>
      <Plot
        title="Time of a signature"
        unit="ms"
        kind="lines"
        series={[
          { name: "mean", points: steps.map(({ name, signMs }) => ({ name, value: signMs })) },
        ]}
      >
        <Looking steps={steps.length} refused={undefined} again={again} />
      </Plot>
    </>
  );
}

interface LookingProps {
  readonly steps: number;
  readonly refused: Reply<unknown> | undefined;
  readonly again: () => void;
}

/** Why there is little to see, or nothing new; always as high, unless it was refused. */
function Looking({ steps, refused, again }: LookingProps) {
  if (refused !== undefined) return <Outcome reply={refused} again={again} />;
  const since = steps < 2 ? "from now on, " : "";
  return <p class="quiet small">Drawn {since}every five seconds.</p>;
}

interface Looks {
  readonly looks: readonly Look[];
  /** The last one came to nothing. */
  readonly refused: Reply<unknown> | undefined;
  /** Looks now, and every so often from now on. */
  readonly again: () => void;
}

function useLooks(): Looks {
  const [looks, setLooks] = useState<readonly Look[]>([]);
  const [refused, setRefused] = useState<Reply<unknown>>();
  const [round, setRound] = useState(0);
  useEffect(() => {
    const stop = new AbortController();
    const look = async () => {
      if (document.hidden) return;
      const path = pathOf("metrics.read");
      const reply = await replied(fetched(path, undefined, stop.signal));
      if (stop.signal.aborted) return;
      setRefused(reply.kind === "answered" ? undefined : reply);
      if (reply.kind !== "answered") return;
      const samples = samplesIn(await reply.answer.text());
      if (!stop.signal.aborted) setLooks((past) => [...past.slice(-looksMax), lookAt(samples)]);
    };
    void look();
    const timer = setInterval(() => void look(), everyMs);
    return () => {
      clearInterval(timer);
      stop.abort();
    };
  }, [round]);
  return { looks, refused, again: () => setRound((count) => count + 1) };
}

function lookAt(samples: readonly Sample[]): Look {
  const refused = samples
    .filter(({ name, labels }) => name === "pki_http_requests_total" && isRefusal(labels.status))
    .reduce((sum, { value }) => sum + value, 0);
  return {
    at: Date.now(),
    requests: sumOf(samples, "pki_http_requests_total"),
    refusals: refused,
    signatures: sumOf(samples, "pki_hsm_operation_duration_seconds_count", { operation: "sign" }),
    signSeconds: sumOf(samples, "pki_hsm_operation_duration_seconds_sum", { operation: "sign" }),
  };
}

const isRefusal = (status: string | undefined): boolean => /^[45]/.test(status ?? "");

function step(before: Look, after: Look) {
  const seconds = Math.max(0.001, (after.at - before.at) / 1000);
  const signatures = after.signatures - before.signatures;
  const signSeconds = after.signSeconds - before.signSeconds;
  return {
    name: new Date(after.at).toTimeString().slice(0, 8),
    // A restart begins every count anew.
    requests: Math.max(0, after.requests - before.requests) / seconds,
    refusals: Math.max(0, after.refusals - before.refusals) / seconds,
    // Where nothing was signed there is no time of a signature.
    signMs: signatures > 0 ? Math.max(0, signSeconds / signatures) * 1000 : undefined,
  };
}

const everyMs = 5_000;
/** Five minutes. */
const looksMax = 60;
