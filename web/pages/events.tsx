/** The audit chain, live and searchable: who did what, the text that is hashed, and its proof. */

import { actions, results } from "#core/audit/actions.ts";
import { hrefOf, hrefWith } from "#web/address.ts";
import { useAddress } from "#web/console.ts";
import { EventPanel } from "#web/pages/events/event.tsx";
import { ExportDialog } from "#web/pages/events/export.tsx";
import { eventMembers } from "#web/pages/events/members.ts";
import { VerifyDialog } from "#web/pages/events/verify.tsx";
import type { PageProps } from "#web/page.ts";
import { Action } from "#web/ui/action.tsx";
import { Breaking } from "#web/ui/breaking.tsx";
import { Copy, Serial } from "#web/ui/copy.tsx";
import { type Filter, Filters } from "#web/ui/filters.tsx";
import { Heading } from "#web/ui/heading.tsx";
import { useDialog } from "#web/ui/layers.tsx";
import { type Column, List, type RowOf } from "#web/ui/list.tsx";
import { Status } from "#web/ui/status.tsx";
import { Time } from "#web/ui/time.tsx";

/** The segment behind `events` is the number of one, whose panel is open. */
export function EventsPage({ rest: [seq] }: PageProps) {
  const address = useAddress();
  const { open, close } = useDialog();
  const { tenant } = address.query;
  const isFiltered = filters.some(({ name }) => address.query[name] !== undefined);
  return (
    <>
      <Heading name="Events">
        <Action operation="event.verify" href={hrefWith(address, { dialog: "verify" })}>
          Verify now
        </Action>
        <Action operation="event.export" href={hrefWith(address, { dialog: "export" })}>
          Export
        </Action>
      </Heading>
      <Filters filters={filters} />
      <div class="beside">
        <List
          name="event.list"
          members={eventMembers(address.query)}
          caption="Audit events, newest first"
          columns={columns}
          keyOf={(event) => String(event.seq)}
          hrefOf={(event) => hrefOf(["events", String(event.seq)], address.query)}
          selected={seq}
          live={["*"]}
          empty={
            <>
              <p>
                {isFiltered ? "No event is as the filters say." : "There is no event you may read."}
              </p>
              {isFiltered && (
                <a class="button" href={hrefOf(["events"], { tenant })}>
                  Show all
                </a>
              )}
              <Copy text="pkid audit list --follow" name="command" />
            </>
          }
        />
        {seq !== undefined && (
          <EventPanel seq={seq} closeHref={hrefOf(["events"], address.query)} />
        )}
      </div>
      {open === "verify" && <VerifyDialog onClose={close} />}
      {open === "export" && <ExportDialog query={address.query} onClose={close} />}
    </>
  );
}

const What = ({ action }: { readonly action: string }) => (
  <span class="mono">
    <Breaking text={action} />
  </span>
);

const columns: readonly Column<RowOf<"event.list">>[] = [
  { name: "Number", cell: ({ seq }) => <span class="mono">{seq}</span> },
  { name: "When", cell: ({ timestamp }) => <Time at={timestamp} exact /> },
  { name: "What", cell: ({ action }) => <What action={action} /> },
  { name: "Result", cell: ({ result }) => <Status word={result} /> },
  { name: "Who", wide: true, cell: ({ actor, actor_name }) => actor_name ?? actor },
  {
    name: "On",
    wide: true,
    wraps: true,
    cell: ({ target, target_name, serial }) => <On name={target_name ?? target} serial={serial} />,
  },
];

interface OnProps {
  readonly name: string | undefined;
  readonly serial: string | undefined;
}

/** A serial as everywhere in the console: in hexadecimal groups, copied by a click. */
function On({ name, serial }: OnProps) {
  if (serial === undefined || serial === "" || (name !== undefined && name !== serial)) {
    return <>{name}</>;
  }
  return <Serial serial={serial} />;
}

/** Each group of actions by its beginning, and each action. */
const actionChoices = [
  ...[...new Set(Object.keys(actions).map((action) => `${action.split(".")[0]}.*`))].sort(),
  ...Object.keys(actions).sort(),
].map((value) => ({ value, label: value }));

const filters: readonly Filter[] = [
  { name: "action", label: "What", choices: actionChoices },
  { name: "actor", label: "Who" },
  { name: "result", label: "Result", choices: results.map((value) => ({ value, label: value })) },
  { name: "from", label: "From", kind: "day" },
  { name: "to", label: "Until", kind: "day" },
  { name: "ca", label: "CA" },
  { name: "serial", label: "Serial" },
  { name: "request_id", label: "Request" },
];
