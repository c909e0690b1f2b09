/** Certificates: the list of a CA or what a search finds in all of them, and one beside it. */

import { useEffect } from "preact/hooks";
import { hrefOf, hrefWith, type QueryChange, visit } from "#web/address.ts";
import { useAddress } from "#web/console.ts";
import {
  type Authority,
  authorityOf,
  usualAuthority,
} from "#web/pages/certificates/authorities.ts";
import { Everywhere, searched } from "#web/pages/certificates/everywhere.tsx";
import { ExportDialog } from "#web/pages/certificates/export.tsx";
import { everyCa, membersIn, Selection } from "#web/pages/certificates/filters.tsx";
import { Inventory } from "#web/pages/certificates/inventory.tsx";
import { CertificatePanel } from "#web/pages/certificates/panel.tsx";
import { Asked } from "#web/ui/asked.tsx";
import { Action } from "#web/ui/action.tsx";
import { Copy } from "#web/ui/copy.tsx";
import { Heading } from "#web/ui/heading.tsx";
import { useDialog } from "#web/ui/layers.tsx";

/** `/console/certificates/<ca>/<serial>`; the list beside it is in the query. */
export function CertificatesPage({ rest }: { readonly rest: readonly string[] }) {
  const { query } = useAddress();
  return (
    <Asked name="ca.list" members={{ limit: 500, tenant: query.tenant }} live={["ca.*"]}>
      {({ items, has_more }) => <Certificates cas={items} more={has_more} rest={rest} />}
    </Asked>
  );
}

interface CertificatesProps {
  readonly cas: readonly Authority[];
  /** There are older CAs than these. */
  readonly more: boolean;
  readonly rest: readonly string[];
}

function Certificates({ cas, more, rest: [caId, serial] }: CertificatesProps) {
  const address = useAddress();
  const { query } = address;
  const named = query.ca ?? (isSearch(query) ? everyCa : undefined);
  const meant = authorityOf(cas, caId) ?? usualAuthority(cas);
  useEffect(() => {
    // The address says which list this is, so that a link to it shows the same.
    if (named === undefined && meant !== undefined) {
      visit(hrefWith(address, { ca: meant.id }), { replace: true });
    }
  }, [named, meant, address]);
  const ca = authorityOf(cas, named) ?? (named === undefined ? meant : undefined);
  const everywhere = named === everyCa && cas.length > 0;
  const selected = caId !== undefined && serial !== undefined ? { caId, serial } : undefined;
  return (
    <>
      <Heads ca={ca} everywhere={everywhere} />
      {cas.length === 0 ? (
        <NoAuthority />
      ) : (
        <div class="beside">
          <div class="list">
            <Selection cas={cas} named={named} />
            {more && <p class="quiet small">Only the newest 500 CAs can be chosen here.</p>}
            {named === everyCa && <Everywhere cas={cas} selected={selected?.serial} />}
            {named !== everyCa && ca === undefined && <NoSuchAuthority />}
            {ca !== undefined && <Inventory ca={ca} selected={selected?.serial} />}
          </div>
          {selected !== undefined && (
            <CertificatePanel
              key={`${selected.caId} ${selected.serial}`}
              cas={cas}
              caId={selected.caId}
              serial={selected.serial}
            />
          )}
        </div>
      )}
      {ca !== undefined && <Export cas={[ca]} name={ca.label} />}
      {everywhere && <Export cas={searched(cas)} name="every CA" />}
    </>
  );
}

interface HeadsProps {
  readonly ca: Authority | undefined;
  /** The list is of what a search finds in all CAs. */
  readonly everywhere: boolean;
}

function Heads({ ca, everywhere }: HeadsProps) {
  const address = useAddress();
  const { tenant } = address.query;
  if (ca === undefined) {
    return (
      <Heading name="Certificates">
        {everywhere && (
          <a class="button plain" href={hrefWith(address, { dialog: "export" })}>
            Export CSV
          </a>
        )}
      </Heading>
    );
  }
  return (
    <Heading name="Certificates">
      <Action
        operation="cert.list"
        where={{ caId: ca.id, tenantId: ca.tenant_id }}
        href={hrefWith(address, { dialog: "export" })}
      >
        Export CSV
      </Action>
      <Action
        operation="cert.issue"
        where={{ caId: ca.id, tenantId: ca.tenant_id }}
        href={hrefOf(["issue"], { ca: ca.id, tenant })}
        look="primary"
        unless={ca.status === "active" ? undefined : `The CA is ${ca.status}.`}
      >
        Issue
      </Action>
    </Heading>
  );
}

interface ExportProps {
  readonly cas: readonly Authority[];
  readonly name: string;
}

function Export({ cas, name }: ExportProps) {
  const { query } = useAddress();
  const { open, close } = useDialog();
  if (open !== "export") return null;
  return <ExportDialog cas={cas} name={name} members={membersIn(query)} onClose={close} />;
}

function NoAuthority() {
  const { query } = useAddress();
  return (
    <div class="empty">
      <p>There is no certificate authority yet whose certificates you may see.</p>
      <Action operation="ca.init_root" href={hrefOf(["authorities"], { tenant: query.tenant })}>
        Go to the authorities
      </Action>
      <Copy text="pkid ca init-root --label root --cn 'Example Root'" name="command" />
    </div>
  );
}

const NoSuchAuthority = () => (
  <p class="notice warn">This address names no CA that you may see. Choose one above.</p>
);

/** Whoever looks for one certificate does not know its CA. */
const isSearch = (query: QueryChange): boolean =>
  searching.some((name) => query[name] !== undefined);

const searching = ["q", "serial_prefix", "public_key_sha256", "certificate_sha256"] as const;
