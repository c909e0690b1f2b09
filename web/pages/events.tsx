/** The audit log, newest first, as far as the caller may read it. */

import type { Answers } from "#api/answers.ts";
import type { Credential } from "#web/api.ts";
import { Pages } from "#web/ui/asked.tsx";
import { type Column, Status, Table, Time } from "#web/ui/table.tsx";

type Event = Answers["event.list"]["items"][number];

/** Needs the capability `audit:read`. */
export function EventsPage({ credential }: { readonly credential: Credential | undefined }) {
  return (
    <>
      <h1>Audit events</h1>
      <Pages name="event.list" credential={credential}>
        {({ items }) => (
          <Table
            caption="Each event carries the hash of the one before it; pkid audit verify walks the whole chain."
            empty="No event yet."
            columns={columns}
            rows={items}
            keyOf={({ id }) => id}
          />
        )}
      </Pages>
    </>
  );
}

const columns: readonly Column<Event>[] = [
  { name: "No.", cell: ({ seq }) => String(seq) },
  { name: "Time", cell: ({ timestamp }) => <Time at={timestamp} /> },
  { name: "Action", cell: ({ action }) => <code>{action}</code> },
  { name: "Result", cell: ({ result }) => <Status word={result} /> },
  { name: "By", cell: ({ actor, actor_name }) => actor_name ?? actor },
  {
    name: "About",
    cell: ({ target, target_name, serial }) => target_name ?? target ?? serial ?? "",
  },
  { name: "Detail", cell: ({ detail }) => detail ?? "" },
];
