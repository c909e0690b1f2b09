/** The certificates of one CA, a page at a time; new ones come by themselves. */

import type { ComponentChildren } from "preact";
import { hrefOf, hrefWith, type QueryChange } from "#web/address.ts";
import { useAddress } from "#web/console.ts";
import { Action } from "#web/ui/action.tsx";
import { Copy, Serial } from "#web/ui/copy.tsx";
import { type Column, List } from "#web/ui/list.tsx";
import { Breaking } from "#web/ui/breaking.tsx";
import { plainText } from "#web/ui/plain.ts";
import { Status, statusWord } from "#web/ui/status.tsx";
import { Day, Distance } from "#web/ui/time.tsx";
import { type Authority, type Certificate, nameOf } from "./authorities.ts";
import { isFiltered, membersIn } from "./filters.tsx";
import { serverNow } from "#web/server-clock.ts";

interface InventoryProps {
  readonly ca: Authority;
  readonly selected: string | undefined;
}

/** The list that the address selects. */
export function Inventory({ ca, selected }: InventoryProps) {
  const address = useAddress();
  return (
    <List
      name="cert.list"
      members={{ id: ca.id, ...membersIn(address.query) }}
      caption={`Certificates of ${ca.label}`}
      columns={columns}
      keyOf={({ serial }) => serial}
      hrefOf={(row) => panelHref(row, address.query)}
      selected={selected}
      live={["cert.*"]}
      empty={<Empty ca={ca} />}
    />
  );
}

/** The address of a certificate's panel beside the list the query selects. */
export const panelHref = (
  { ca_id, serial }: Pick<Certificate, "ca_id" | "serial">,
  query: QueryChange,
): string => hrefOf(["certificates", ca_id, serial], listQuery(query));

/** The query without what is about the panel. */
export function listQuery(query: QueryChange): QueryChange {
  const {
    dialog: _dialog,
    tab: _tab,
    host: _host,
    port: _port,
    protocol: _protocol,
    ...list
  } = query;
  return list;
}

/** What a row of certificates shows. */
export const columns: readonly Column<Certificate>[] = [
  { name: "Name", cell: (row) => <Breaking text={plainText(nameOf(row))} /> },
  { name: "Serial", cell: ({ serial }) => <Serial serial={serial} short />, wide: true },
  { name: "Profile", cell: ({ profile }) => profile, wide: true },
  { name: "Status", cell: (row) => <CertificateStatus {...row} /> },
  { name: "Expires", cell: (row) => <Expiry {...row} /> },
  { name: "Requested by", cell: ({ requested_by }) => plainText(requested_by), wide: true },
];

/** The wire says `held`; people say suspended. */
export function CertificateStatus({
  status,
  superseded,
}: Pick<Certificate, "status" | "superseded">): ComponentChildren {
  return (
    <>
      <Status word={statusWord(status)} />
      {superseded && <span class="quiet small"> replaced</span>}
    </>
  );
}

function Expiry({ status, not_after }: Certificate) {
  const left = Date.parse(not_after) - serverNow();
  if (status !== "good" || left > soonMs) return <Day at={not_after} />;
  return (
    <span class="warn">
      <Distance at={not_after} />
    </span>
  );
}

function Empty({ ca }: { readonly ca: Authority }) {
  const address = useAddress();
  const { query } = address;
  if (isFiltered(query)) {
    const none = Object.fromEntries(Object.keys(membersIn(query)).map((name) => [name, undefined]));
    return (
      <>
        <p>No certificate of {ca.label} fits these filters.</p>
        <a class="button" href={hrefWith(address, { ...none, ca: ca.id })}>
          Show all of them
        </a>
      </>
    );
  }
  return (
    <>
      <p>{ca.label} has issued nothing yet.</p>
      <Action
        operation="cert.issue"
        where={{ caId: ca.id, tenantId: ca.tenant_id }}
        href={hrefOf(["issue"], { ca: ca.id, tenant: query.tenant })}
        look="primary"
        unless={ca.status === "active" ? undefined : `The CA is ${ca.status}.`}
      >
        Issue the first
      </Action>
      <Copy text={`pkid cert issue --ca ${ca.label} --csr request.pem`} name="command" />
    </>
  );
}

const soonMs = 30 * 86_400_000;
