/** What runs by itself, when it last did, and which process leads. */

import { useState } from "preact/hooks";
import type { Answers } from "#api/answers.ts";
import { Asked } from "#web/ui/asked.tsx";
import { Heading } from "#web/ui/heading.tsx";
import { type Column, Table } from "#web/ui/list.tsx";
import { Status } from "#web/ui/status.tsx";
import { Distance, Time } from "#web/ui/time.tsx";

type Job = Answers["job.list"]["jobs"][number];

export function JobsPart() {
  // Another number asks again.
  const [round, setRound] = useState(0);
  return (
    <>
      <Heading name="Jobs">
        <button type="button" class="button plain" onClick={() => setRound((n) => n + 1)}>
          Look again
        </button>
      </Heading>
      <Asked key={`components ${round}`} name="health.ready">
        {({ components }) => (
          <dl>
            {Object.entries(components).map(([name, { status, detail, error }]) => (
              <>
                <dt>{name}</dt>
                <dd>
                  <Status word={status} /> {detail} {error}
                </dd>
              </>
            ))}
          </dl>
        )}
      </Asked>
      <Asked key={`jobs ${round}`} name="job.list">
        {({ jobs }) => (
          <div class="scroll">
            <Table
              caption="Jobs of this process"
              columns={columns}
              rows={jobs}
              keyOf={({ name }) => name}
            />
          </div>
        )}
      </Asked>
    </>
  );
}

const columns: readonly Column<Job>[] = [
  { name: "Job", cell: ({ name }) => <span class="mono">{name}</span> },
  {
    name: "State",
    cell: ({ late, last_failure, last_success_at }) => (
      <Status {...stateOf(late, last_failure, last_success_at)} />
    ),
  },
  { name: "Every", cell: ({ every_seconds }) => interval(every_seconds) },
  { name: "Last done", cell: ({ last_success_at }) => <Distance at={last_success_at} /> },
  {
    name: "Last failed",
    wide: true,
    cell: ({ last_failure_at, last_failure }) => (
      <>
        <Time at={last_failure_at} /> {last_failure}
      </>
    ),
  },
];

function stateOf(late: boolean, failure: string | undefined, done: string | undefined) {
  if (failure !== undefined) return { word: "failed", tone: "bad" } as const;
  if (late) return { word: "late", tone: "warn" } as const;
  return done === undefined
    ? ({ word: "not yet", tone: "quiet" } as const)
    : ({ word: "done", tone: "good" } as const);
}

function interval(seconds: number): string {
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  return `${Math.round(seconds / 3600)} h`;
}
