/** What runs by itself, when it last did, and which process leads. */

import { Fragment } from "preact";
import type { Answers } from "#api/answers.ts";
import { ClockPause } from "./clock.tsx";
import { usePolled } from "#web/polled.ts";
import { Outcome, useAsked, Waiting } from "#web/ui/asked.tsx";
import { Breaking } from "#web/ui/breaking.tsx";
import { Heading } from "#web/ui/heading.tsx";
import { type Column, Table } from "#web/ui/list.tsx";
import { Status } from "#web/ui/status.tsx";
import { Distance, Time } from "#web/ui/time.tsx";

type Job = Answers["job.list"]["jobs"][number];

/** Looked at every few seconds while it is shown: no event tells that a job has run. */
export function JobsPart() {
  const ready = useAsked("health.ready", {});
  const list = useAsked("job.list", {}, ["monitor.clock_accept"]);
  const look = () => {
    ready.refresh();
    list.refresh();
  };
  usePolled(look, 5);
  return (
    <>
      <Heading name="Jobs">
        <button type="button" class="button" onClick={look}>
          Look again
        </button>
      </Heading>
      <Outcome reply={ready.reply} again={ready.refresh} />
      {ready.reply?.kind === "answered" && (
        <dl>
          {Object.entries(ready.reply.answer.components).map(([name, one]) => (
            <Fragment key={name}>
              <dt>{name}</dt>
              <dd>
                <Status word={one.status} /> {one.detail} {one.error}
              </dd>
            </Fragment>
          ))}
        </dl>
      )}
      {list.reply === undefined && <Waiting />}
      <Outcome reply={list.reply} again={list.refresh} />
      {list.reply?.kind === "answered" && (
        <>
          <ClockPause clock={list.reply.answer.clock} />
          <div class="scroll">
            <Table
              caption="Jobs of this process"
              columns={columns}
              rows={list.reply.answer.jobs}
              keyOf={({ name }) => name}
            />
          </div>
        </>
      )}
    </>
  );
}

const columns: readonly Column<Job>[] = [
  {
    name: "Job",
    cell: ({ name }) => (
      <span class="mono">
        <Breaking text={name} />
      </span>
    ),
  },
  {
    name: "State",
    cell: ({ late, last_failure, last_success_at }) => (
      <Status {...stateOf(late, last_failure, last_success_at)} />
    ),
  },
  {
    name: "Every",
    cell: ({ every_seconds }) => <span class="whole">{interval(every_seconds)}</span>,
  },
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
