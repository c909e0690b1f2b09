/** Whether the server works: its version, and each component with its state. */

import type { Answers } from "#api/answers.ts";
import { addressOf } from "#web/api.ts";
import { Asked } from "#web/ui/asked.tsx";
import { type Column, Status, Table } from "#web/ui/table.tsx";

type Components = Answers["health.ready"]["components"];
type Component = Components[keyof Components];

/** Needs no login: everything here is public. */
export function StatusPage() {
  return (
    <>
      <h1>Status</h1>
      <Asked name="health.live" credential={undefined}>
        {({ build }) => (
          <dl>
            <dt>Version</dt>
            <dd>{build.version}</dd>
            <dt>Commit</dt>
            <dd class="mono">{build.commit || "–"}</dd>
            <dt>Runtime</dt>
            <dd>{build.runtime}</dd>
          </dl>
        )}
      </Asked>
      <h2>Components</h2>
      <Asked name="health.ready" credential={undefined}>
        {({ status, components }) => (
          <Table
            caption={`The server is ${status.replace("_", " ")}.`}
            empty="No component is probed."
            columns={columns}
            rows={Object.entries(components)}
            keyOf={([name]) => name}
          />
        )}
      </Asked>
      <p>
        <a href={addressOf("openapi.read")}>Interface description</a> ·{" "}
        <a href={addressOf("metrics.read")}>Metrics</a>
      </p>
    </>
  );
}

const columns: readonly Column<[string, Component]>[] = [
  { name: "Component", cell: ([name]) => name },
  { name: "State", cell: ([, { status }]) => <Status word={status} /> },
  { name: "Detail", cell: ([, { detail, error }]) => error ?? detail ?? "" },
];
