/** Accounts of ACME: whose key, what it has proved, and the way to end it. */

import { hrefOf, hrefWith } from "#web/address.ts";
import { useAddress } from "#web/console.ts";
import { Action } from "#web/ui/action.tsx";
import { Outcome, useAsked, Waiting } from "#web/ui/asked.tsx";
import { Confirm } from "#web/ui/confirm.tsx";
import { Copy, Fingerprint } from "#web/ui/copy.tsx";
import { Facts } from "#web/ui/facts.tsx";
import { type Filter, Filters } from "#web/ui/filters.tsx";
import { Heading } from "#web/ui/heading.tsx";
import { Panel, useDialog } from "#web/ui/layers.tsx";
import { type Column, List, Pager, type RowOf, rowsOfPage } from "#web/ui/list.tsx";
import { panelWay, withoutPanelWay } from "#web/ui/paging.ts";
import { Status } from "#web/ui/status.tsx";
import { Time } from "#web/ui/time.tsx";

type Account = RowOf<"acme.account.list">;
type Authorization = RowOf<"acme.authz.list">;

export function AccountsPart({ id }: { readonly id: string | undefined }) {
  const address = useAddress();
  return (
    <>
      <Heading name="Accounts" />
      <Filters filters={filters} />
      <div class="beside">
        <List
          name="acme.account.list"
          members={{ status: address.query.status }}
          caption="Accounts, newest first"
          columns={columns}
          keyOf={(row) => row.id}
          hrefOf={(row) =>
            hrefOf(["enrolment", "accounts", row.id], { ...address.query, ...withoutPanelWay })
          }
          selected={id}
          live={["acme.account.*"]}
          empty={<NoAccounts />}
        />
        {id !== undefined && <AccountPanel id={id} />}
      </div>
    </>
  );
}

const columns: readonly Column<Account>[] = [
  { name: "Account", cell: ({ id }) => <span class="mono">{id}</span> },
  { name: "State", cell: ({ status }) => <Status word={status} /> },
  { name: "Contacts", cell: ({ contacts }) => contacts.join(", ") },
  { name: "Directory", wide: true, cell: ({ directory }) => directory },
  { name: "Since", wide: true, cell: ({ created_at }) => <Time at={created_at} /> },
];

const filters: readonly Filter[] = [
  {
    name: "status",
    label: "State",
    choices: ["valid", "deactivated", "revoked"].map((value) => ({ value, label: value })),
  },
];

function NoAccounts() {
  const address = useAddress();
  if (address.query.status !== undefined) {
    return (
      <>
        <p>No account fits.</p>
        <a class="button" href={hrefWith(address, { status: undefined })}>
          Show all accounts
        </a>
        <Copy text="pkid acme accounts" name="command" />
      </>
    );
  }
  return (
    <>
      <p>No client has made an account yet. Each directory says how one is set up.</p>
      <a class="button primary" href={hrefOf(["enrolment"])}>
        Set up a client
      </a>
      <Copy text="pkid acme eab create web --dns-suffix example.com" name="command" />
    </>
  );
}

/** One account, asked for by its id. */
function AccountPanel({ id }: { readonly id: string }) {
  const address = useAddress();
  const { open, close } = useDialog();
  const { reply, refresh } = useAsked("acme.account.list", { id }, ["acme.account.*"]);
  const closeHref = hrefOf(["enrolment", "accounts"], { ...address.query, ...withoutPanelWay });
  if (reply === undefined) return <Waiting />;
  const row =
    reply.kind === "answered" ? reply.answer.items.find((one) => one.id === id) : undefined;
  if (row === undefined) {
    return (
      <Panel title="No such account" closeHref={closeHref}>
        {reply.kind === "answered" ? (
          <p>There is no account with this id that you may see.</p>
        ) : (
          <Outcome reply={reply} again={refresh} />
        )}
      </Panel>
    );
  }
  return (
    <Panel title="Account" closeHref={closeHref} actions={<Deactivate row={row} />}>
      <AccountFacts row={row} />
      <Authorizations account={id} />
      {open === "deactivate" && (
        <Confirm
          operation="acme.account.deactivate"
          members={{ id }}
          where={{ tenantId: row.tenant_id }}
          unless={whyNotDeactivated(row)}
          title="Deactivate this account"
          does="Deactivate the account"
          onClose={close}
          onDone={() => {
            refresh();
            close();
          }}
        >
          <p>
            It is over for good: its key orders nothing more, its authorizations and open orders
            end. Certificates it has stay good.
          </p>
        </Confirm>
      )}
    </Panel>
  );
}

function Deactivate({ row }: { readonly row: Account }) {
  const address = useAddress();
  return (
    <Action
      operation="acme.account.deactivate"
      where={{ tenantId: row.tenant_id }}
      href={hrefWith(address, { dialog: "deactivate" })}
      look="danger"
      unless={whyNotDeactivated(row)}
    >
      Deactivate
    </Action>
  );
}

const whyNotDeactivated = ({ status }: Account): string | undefined =>
  status === "valid" ? undefined : `It is ${status}.`;

function AccountFacts({ row }: { readonly row: Account }) {
  const { eab_id } = row;
  return (
    <>
      <Status word={row.status} />
      <Facts
        of={{
          Id: <Copy text={row.id} name="id" />,
          Directory: row.directory,
          Contacts: row.contacts.join(", ") || "none",
          "Key thumbprint": <Fingerprint text={row.key_thumbprint} name="thumbprint" />,
          Credential: eab_id && <a href={hrefOf(["enrolment", "credentials", eab_id])}>{eab_id}</a>,
          Since: <Time at={row.created_at} />,
          Orders: <a href={hrefOf(["enrolment", "orders"], { account: row.id })}>its orders</a>,
        }}
      />
    </>
  );
}

function Authorizations({ account }: { readonly account: string }) {
  const { open, close } = useDialog();
  const cursor = useAddress().query[panelWay.cursor];
  const members = { account, limit: rowsOfPage, cursor };
  const { reply, refresh } = useAsked("acme.authz.list", members, ["acme.*"]);
  if (reply?.kind !== "answered") return <Outcome reply={reply} again={refresh} />;
  const { items, has_more } = reply.answer;
  return (
    <>
      <h3>What it has proved, or is to prove</h3>
      {items.length === 0 && cursor === undefined && <p class="quiet">Nothing yet.</p>}
      <ul class="bare">
        {items.map((one) => (
          <Proof key={one.id} authorization={one} />
        ))}
      </ul>
      {(has_more || cursor !== undefined) && (
        <Pager answer={reply.answer} rows={rowsOfPage} way={panelWay} name="Pages of the proofs" />
      )}
      {open?.startsWith("authz-") && (
        <Confirm
          operation="acme.authz.deactivate"
          members={{ id: open.slice(6) }}
          title="End this authorization"
          does="End the authorization"
          onClose={close}
          onDone={() => {
            refresh();
            close();
          }}
        >
          <p>The account must prove the name again before it gets another certificate for it.</p>
        </Confirm>
      )}
    </>
  );
}

function Proof({ authorization }: { readonly authorization: Authorization }) {
  const address = useAddress();
  const { id, identifier, wildcard, status, expires, challenges } = authorization;
  const faults = challenges.flatMap(({ error }) => error?.detail ?? []);
  return (
    <li>
      <Status word={status} /> {wildcard ? "*." : ""}
      {identifier.value}{" "}
      <span class="quiet small">
        until <Time at={expires} />
      </span>
      {faults.map((fault) => (
        <p key={fault} class="bad small">
          {fault}
        </p>
      ))}
      {(status === "valid" || status === "pending") && (
        <Action
          operation="acme.authz.deactivate"
          look="outlined"
          href={hrefWith(address, { dialog: `authz-${id}` })}
        >
          End
        </Action>
      )}
    </li>
  );
}
