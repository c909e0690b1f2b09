/** Certificates: the list of a CA or what a search finds in all of them, and one beside it. */

import { useEffect } from "preact/hooks";
import { hrefOf, hrefWith, type QueryChange, visit } from "#web/address.ts";
import { useAddress } from "#web/console.ts";
import { type Authority, usualAuthority } from "#web/pages/certificates/authorities.ts";
import { Everywhere } from "#web/pages/certificates/everywhere.tsx";
import { ExportDialog } from "#web/pages/certificates/export.tsx";
import { everyCa, membersIn, Selection } from "#web/pages/certificates/filters.tsx";
import { Inventory } from "#web/pages/certificates/inventory.tsx";
import { NoAuthority } from "#web/pages/certificates/no-authority.tsx";
import { CertificatePanel } from "#web/pages/certificates/panel.tsx";
import { Action } from "#web/ui/action.tsx";
import { Asked, Outcome, Waiting } from "#web/ui/asked.tsx";
import { casMax } from "#web/ui/ca-pages.ts";
import { Heading } from "#web/ui/heading.tsx";
import { useDialog } from "#web/ui/layers.tsx";
import { type NamedCa, useNamedCa } from "#web/ui/named-ca.ts";

/** `/console/certificates/<ca>/<serial>`; the list beside it is in the query. */
export function CertificatesPage({ rest: [caId, serial] }: { readonly rest: readonly string[] }) {
  const address = useAddress();
  const { query } = address;
  const named = query.ca ?? (isSearch(query) ? everyCa : undefined);
  useEffect(() => {
    // The address says which list this is, so that a link to it shows the same.
    if (named === undefined && caId !== undefined) {
      visit(hrefWith(address, { ca: caId }), { replace: true });
    }
  }, [named, caId, address]);
  const meant = named ?? caId;
  if (meant === undefined) return <Unnamed />;
  const selected = caId !== undefined && serial !== undefined ? { caId, serial } : undefined;
  return <Certificates named={meant} selected={selected} />;
}

/** Goes on to the list that is meant where the address names none. */
function Unnamed() {
  const { tenant } = useAddress().query;
  return (
    <Asked name="ca.list" members={{ limit: casMax, tenant }} live={["ca.*"]}>
      {({ items }) => <Meant ca={usualAuthority(items)} />}
    </Asked>
  );
}

function Meant({ ca }: { readonly ca: Authority | undefined }) {
  const address = useAddress();
  useEffect(() => {
    if (ca !== undefined) visit(hrefWith(address, { ca: ca.id }), { replace: true });
  }, [ca, address]);
  return (
    <>
      <Heading name="Certificates" />
      {ca === undefined ? <NoAuthority /> : <Waiting />}
    </>
  );
}

interface CertificatesProps {
  /** The id or label of a CA, or `everyCa`. */
  readonly named: string;
  readonly selected: { readonly caId: string; readonly serial: string } | undefined;
}

function Certificates({ named, selected }: CertificatesProps) {
  const everywhere = named === everyCa;
  const found = useNamedCa(everywhere ? undefined : named);
  return (
    <>
      <Heads ca={found.ca} everywhere={everywhere} />
      <div class="beside">
        <div class="list">
          <Selection named={named} />
          {everywhere ? (
            <Everywhere selected={selected?.serial} />
          ) : (
            <OfOne found={found} selected={selected?.serial} />
          )}
        </div>
        {selected !== undefined && (
          <CertificatePanel
            key={`${selected.caId} ${selected.serial}`}
            caId={selected.caId}
            serial={selected.serial}
          />
        )}
      </div>
      {(everywhere || found.ca !== undefined) && <Export ca={found.ca} />}
    </>
  );
}

interface OfOneProps {
  readonly found: NamedCa;
  readonly selected: string | undefined;
}

function OfOne({ found: { ca, refused, again }, selected }: OfOneProps) {
  if (ca !== undefined) return <Inventory ca={ca} selected={selected} />;
  if (refused === undefined) return <Waiting />;
  const isNone = refused.kind === "refused" && refused.refusal.status === 404;
  return isNone ? <NoSuchAuthority /> : <Outcome reply={refused} again={again} />;
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

/** Of one CA, or of all of them. */
function Export({ ca }: { readonly ca: Authority | undefined }) {
  const { query } = useAddress();
  const { open, close } = useDialog();
  if (open !== "export") return null;
  return <ExportDialog ca={ca} members={membersIn(query)} onClose={close} />;
}

const NoSuchAuthority = () => (
  <p class="notice warn">This address names no CA that you may see. Choose one above.</p>
);

/** Whoever looks for one certificate does not know its CA. */
const isSearch = (query: QueryChange): boolean =>
  searching.some((name) => query[name] !== undefined);

const searching = ["q", "serial_prefix", "public_key_sha256", "certificate_sha256"] as const;
