/** Orders of ACME: for which names, how far each has come, and why one failed. */

import { hrefOf, hrefWith } from "#web/address.ts";
import { useAddress } from "#web/console.ts";
import { Action } from "#web/ui/action.tsx";
import { Outcome, useAsked, Waiting } from "#web/ui/asked.tsx";
import { Confirm } from "#web/ui/confirm.tsx";
import { Copy } from "#web/ui/copy.tsx";
import { Facts } from "#web/ui/facts.tsx";
import { type Filter, Filters } from "#web/ui/filters.tsx";
import { Heading } from "#web/ui/heading.tsx";
import { Panel, useDialog } from "#web/ui/layers.tsx";
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
          empty={<NoOrders />}
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

function NoOrders() {
  const address = useAddress();
  const { status, account } = address.query;
  if (status !== undefined || account !== undefined) {
    return (
      <>
        <p>No order fits.</p>
        <a class="button" href={hrefWith(address, { status: undefined, account: undefined })}>
          Show all orders
        </a>
        <Copy text="pkid acme orders" name="command" />
      </>
    );
  }
  return (
    <>
      <p>No client has ordered a certificate yet. Each directory says how one is set up.</p>
      <a class="button primary" href={hrefOf(["enrolment"])}>
        Set up a client
      </a>
      <Copy text="pkid acme eab create web --dns-suffix example.com" name="command" />
    </>
  );
}

/** One order, asked for by its id. */
function OrderPanel({ id }: { readonly id: string }) {
  const address = useAddress();
  const { open, close } = useDialog();
  const { reply, refresh } = useAsked("acme.order.list", { id }, ["acme.*"]);
  const closeHref = hrefOf(["enrolment", "orders"], address.query);
  if (reply === undefined) return <Waiting />;
  const row = reply.kind === "answered" && reply.answer.items.find((one) => one.id === id);
  if (!row) {
    return (
      <Panel title="No such order" closeHref={closeHref}>
        {reply.kind === "answered" ? (
          <p>There is no order with this id that you may see.</p>
        ) : (
          <Outcome reply={reply} again={refresh} />
        )}
      </Panel>
    );
  }
  return (
    <Panel title={namesOf(row)} closeHref={closeHref} actions={<End row={row} />}>
      <Status word={row.status} />
      {row.error && (
        <div class="notice bad">
          <p>{row.error.detail}</p>
          <p class="small">{row.error.type}</p>
        </div>
      )}
      <OrderFacts row={row} />
      {open === "end" && (
        <Confirm
          operation="acme.order.deactivate"
          members={{ id }}
          where={{ tenantId: row.tenant_id }}
          unless={whyNotEnded(row)}
          title="End this order"
          does="End the order"
          onClose={close}
          onDone={() => {
            refresh();
            close();
          }}
        >
          <p>It comes to no certificate any more. Its client may order again.</p>
        </Confirm>
      )}
    </Panel>
  );
}

function End({ row }: { readonly row: Order }) {
  const address = useAddress();
  return (
    <Action
      operation="acme.order.deactivate"
      where={{ tenantId: row.tenant_id }}
      href={hrefWith(address, { dialog: "end" })}
      look="danger"
      unless={whyNotEnded(row)}
    >
      End
    </Action>
  );
}

const whyNotEnded = ({ status }: Order): string | undefined =>
  status === "pending" || status === "ready" ? undefined : `It is ${status}.`;

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
