/** Orders of ACME: for which names, how far each has come, and why one failed. */

import { hrefOf } from "#web/address.ts";
import { useAddress } from "#web/console.ts";
import { useAsked, Waiting } from "#web/ui/asked.tsx";
import { Copy } from "#web/ui/copy.tsx";
import { Facts } from "#web/ui/facts.tsx";
import { type Filter, Filters } from "#web/ui/filters.tsx";
import { Heading } from "#web/ui/heading.tsx";
import { Panel } from "#web/ui/layers.tsx";
import { type Column, List, type RowOf } from "#web/ui/list.tsx";
import { Status } from "#web/ui/status.tsx";
import { Distance, Time } from "#web/ui/time.tsx";

type Order = RowOf<"acme.order.list">;

export function OrdersPart({ id }: { readonly id: string | undefined }) {
  const address = useAddress();
  const { status, account } = address.query;
  return (
    <>
      <Heading name="Orders" />
      <Filters filters={filters} />
      <div class="beside">
        <List
          name="acme.order.list"
          members={{ status, account }}
          caption="Orders, newest first"
          columns={columns}
          keyOf={(row) => row.id}
          hrefOf={(row) => hrefOf(["enrolment", "orders", row.id], address.query)}
          selected={id}
          live={["acme.order.*"]}
          empty={<p>No order fits.</p>}
        />
        {id !== undefined && <OrderPanel id={id} />}
      </div>
    </>
  );
}

const namesOf = ({ identifiers }: Order): string =>
  identifiers.map(({ value }) => value).join(", ");

const columns: readonly Column<Order>[] = [
  { name: "Names", cell: namesOf },
  { name: "State", cell: ({ status }) => <Status word={status} /> },
  { name: "Asked", cell: ({ created_at }) => <Time at={created_at} /> },
  { name: "Directory", wide: true, cell: ({ directory }) => directory },
  { name: "Why not", wide: true, cell: ({ error }) => error?.detail ?? "" },
];

const filters: readonly Filter[] = [
  {
    name: "status",
    label: "State",
    choices: ["pending", "ready", "processing", "valid", "invalid"].map((value) => ({
      value,
      label: value,
    })),
  },
  { name: "account", label: "Account" },
];

/** One order: found on the pages of the list, which has no look-up by id. */
function OrderPanel({ id }: { readonly id: string }) {
  const address = useAddress();
  const { account } = address.query;
  const { reply } = useAsked("acme.order.list", { account, limit: 500 }, ["acme.order.*"]);
  const closeHref = hrefOf(["enrolment", "orders"], address.query);
  if (reply === undefined) return <Waiting />;
  const row = reply.kind === "answered" && reply.answer.items.find((one) => one.id === id);
  if (!row) {
    return (
      <Panel title="No such order" closeHref={closeHref}>
        <p>It is not among the newest 500 that you may see.</p>
      </Panel>
    );
  }
  return (
    <Panel title={namesOf(row)} closeHref={closeHref}>
      <Status word={row.status} />
      {row.error && (
        <div class="notice bad">
          <p>{row.error.detail}</p>
          <p class="small">{row.error.type}</p>
        </div>
      )}
      <OrderFacts row={row} />
    </Panel>
  );
}

function OrderFacts({ row }: { readonly row: Order }) {
  const certificate = (serial: string) => hrefOf(["certificates", row.ca_id, serial]);
  return (
    <Facts
      of={{
        Id: <Copy text={row.id} name="id" />,
        Account: <a href={hrefOf(["enrolment", "accounts", row.account_id])}>{row.account_id}</a>,
        Certificate: row.serial && <a href={certificate(row.serial)}>{row.serial}</a>,
        Replaces: row.replaces && <a href={certificate(row.replaces)}>{row.replaces}</a>,
        Profile: row.profile,
        Asked: <Time at={row.created_at} />,
        Lapses: <Distance at={row.expires} />,
      }}
    />
  );
}
