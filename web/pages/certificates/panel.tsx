/** One certificate beside its list: how it stands, what can be done with it, and what it says. */

import { useId } from "preact/hooks";
import { decodePem } from "#core/asn1/pem.ts";
import { hrefOf, hrefWith } from "#web/address.ts";
import { useAddress, useLive } from "#web/console.ts";
import { Action } from "#web/ui/action.tsx";
import { Outcome, useAsked, Waiting } from "#web/ui/asked.tsx";
import { Copy } from "#web/ui/copy.tsx";
import { save } from "#web/ui/download.tsx";
import { certificatesAbove, type Issuers, noChain, useIssuers } from "#web/ui/issuers.ts";
import { Panel } from "#web/ui/layers.tsx";
import { Breaking } from "#web/ui/breaking.tsx";
import { plainText } from "#web/ui/plain.ts";
import { Distance, Time } from "#web/ui/time.tsx";
import { pathOf, pemOf } from "#web/x509/paths.ts";
import { type Authority, type Certificate, nameOf } from "./authorities.ts";
import { CertificateChain } from "./chain.tsx";
import { CertificateDialog } from "./dialogs.tsx";
import { CertificateEvents } from "./history.tsx";
import { CertificateFields } from "./fields.tsx";
import { CertificateStatus, listQuery } from "./inventory.tsx";
import { CertificateOverview } from "./overview.tsx";
import { Pinning } from "./pinning.tsx";
import { whyNotReleased, whyNotRenewed, whyNotRevoked, whyNotSuspended } from "./states.ts";
import { Transparency } from "./transparency.tsx";

interface PanelProps {
  readonly caId: string;
  readonly serial: string;
}

/** Of the certificate that the path names. */
export function CertificatePanel({ caId, serial }: PanelProps) {
  const { query } = useAddress();
  const { reply, refresh } = useAsked("cert.show", { id: caId, serial });
  const certificate = reply?.kind === "answered" ? reply.answer : undefined;
  // After a roll-over another key of the named CA may have signed it.
  const issuerId = certificate?.ca_id ?? caId;
  const issuers = useIssuers(issuerId);
  useLive((event) => event.serial === certificate?.serial && event.ca_id === issuerId, refresh);
  const closeHref = hrefOf(["certificates"], listQuery(query));
  if (certificate === undefined) {
    return (
      <Panel title="Certificate" closeHref={closeHref}>
        {reply === undefined ? <Waiting /> : <Outcome reply={reply} again={refresh} />}
      </Panel>
    );
  }
  const ca = issuers?.cas[0];
  return (
    <Panel
      title={<Breaking text={plainText(nameOf(certificate))} />}
      closeHref={closeHref}
      actions={<Actions certificate={certificate} ca={ca} />}
    >
      <Standing certificate={certificate} />
      <Tabs />
      <Tab certificate={certificate} issuers={issuers} />
      <Files certificate={certificate} issuers={issuers} />
      <CertificateDialog certificate={certificate} ca={ca} onChange={refresh} />
    </Panel>
  );
}

interface ActionsProps {
  readonly certificate: Certificate;
  readonly ca: Authority | undefined;
}

function Actions({ certificate, ca }: ActionsProps) {
  const address = useAddress();
  const where = { caId: certificate.ca_id, tenantId: ca?.tenant_id };
  const pausing =
    certificate.status === "held"
      ? (["release", "Release", whyNotReleased(certificate)] as const)
      : (["suspend", "Suspend", whyNotSuspended(certificate)] as const);
  const actions = [
    ["renew", "Renew", whyNotRenewed(certificate, ca)],
    pausing,
    ["revoke", "Revoke", whyNotRevoked(certificate)],
  ] as const;
  return (
    <>
      {actions.map(([dialog, name, unless]) => (
        <Action
          key={dialog}
          operation={`cert.${dialog}`}
          where={where}
          href={hrefWith(address, { dialog })}
          look={dialog === "revoke" ? "danger" : "outlined"}
          unless={unless}
        >
          {name}
        </Action>
      ))}
    </>
  );
}

function Standing({ certificate }: { readonly certificate: Certificate }) {
  const { status, not_after, revoked_at, reason } = certificate;
  return (
    <p>
      <CertificateStatus {...certificate} />
      {" · "}
      {status === "expired" ? "expired " : "expires "}
      <Distance at={not_after} />
      {revoked_at !== undefined && (
        <>
          {` · ${status === "held" ? "suspended" : "revoked"} `}
          <Time at={revoked_at} />
          {status === "revoked" && reason !== "unspecified" && ` (${reason})`}
        </>
      )}
    </p>
  );
}

const tabs = [
  [undefined, "Overview"],
  ["fields", "Fields"],
  ["chain", "Chain"],
  ["logs", "Transparency"],
  ["events", "Events"],
  ["dns", "DNS"],
] as const;

function Tabs() {
  const address = useAddress();
  return (
    <nav class="tabs" aria-label="Parts of the certificate">
      {tabs.map(([tab, name]) => (
        <a
          key={name}
          href={hrefWith(address, { tab })}
          aria-current={address.query.tab === tab ? "page" : undefined}
        >
          {name}
        </a>
      ))}
    </nav>
  );
}

interface TabProps {
  readonly certificate: Certificate;
  /** Undefined until they are known. */
  readonly issuers: Issuers | undefined;
}

function Tab({ certificate, issuers }: TabProps) {
  const { tab } = useAddress().query;
  switch (tab) {
    case "fields":
      return <CertificateFields pem={certificate.certificate} />;
    case "chain":
      return <CertificateChain certificate={certificate} issuers={issuers} />;
    case "logs":
      return <Transparency certificate={certificate} />;
    case "events":
      return <CertificateEvents certificate={certificate} />;
    case "dns":
      return <Pinning certificate={certificate} />;
    default:
      return <CertificateOverview certificate={certificate} ca={issuers?.cas[0]} />;
  }
}

/** The files of it, made here from what the page has. */
function Files({ certificate, issuers }: TabProps) {
  const reasonId = useId();
  const { certificate: pem, serial, pruned } = certificate;
  if (pruned === true) {
    return <p class="quiet small">Its octets were removed after its time, as is configured.</p>;
  }
  const der = decodePem(pem, ["CERTIFICATE"]);
  const above = issuers && certificatesAbove(issuers);
  const chain = der && above && pemOf(pathOf(der, above));
  const saved = (name: string, part: BlobPart, type: string) => () =>
    save(name, new Blob([part], { type }));
  return (
    <>
      <div class="buttons">
        <button type="button" class="button" onClick={saved(`${serial}.pem`, pem, pemType)}>
          PEM
        </button>
        {der !== undefined && (
          <button
            type="button"
            class="button"
            onClick={saved(`${serial}.der`, Uint8Array.from(der), "application/pkix-cert")}
          >
            DER
          </button>
        )}
        <button
          type="button"
          class="button"
          disabled={chain === undefined}
          aria-describedby={chain === undefined ? reasonId : undefined}
          onClick={saved(`${serial}-chain.pem`, chain ?? "", pemType)}
        >
          Chain
        </button>
        <Copy text={pem} name="PEM">
          copy PEM
        </Copy>
      </div>
      {issuers !== undefined && chain === undefined && (
        <>
          <p id={reasonId} class="quiet small">
            {noChain}
          </p>
          <Outcome reply={issuers.refused} />
        </>
      )}
    </>
  );
}

const pemType = "application/x-pem-file";
