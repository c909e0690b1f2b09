/** Who vouches for a CA, whom it vouches for, and every path that opens. */

import type { Answers } from "#api/answers.ts";
import { addressOf } from "#web/api.ts";
import { hrefWith } from "#web/address.ts";
import { useAddress } from "#web/console.ts";
import { Action } from "#web/ui/action.tsx";
import { Asked } from "#web/ui/asked.tsx";
import { Copy, Serial } from "#web/ui/copy.tsx";
import { Download, save } from "#web/ui/download.tsx";
import { type Column, List, Table } from "#web/ui/list.tsx";
import { shortText } from "#web/ui/plain.ts";
import { Status } from "#web/ui/status.tsx";
import { Day } from "#web/ui/time.tsx";
import { type Ca, caHref, inactiveReason } from "./ca.ts";

type Cross = Answers["ca.cross_signs"]["items"][number];
type Chain = Answers["ca.chains"]["items"][number];

/** A tab of a CA. */
export function CrossTab({ ca }: { readonly ca: Ca }) {
  const address = useAddress();
  return (
    <>
      <div class="buttons">
        <Action
          operation="ca.cross_sign"
          look="outlined"
          where={{ caId: ca.id, tenantId: ca.tenant_id }}
          href={hrefWith(address, { dialog: "cross-sign" })}
          unless={inactiveReason(ca)}
        >
          Cross-sign another CA
        </Action>
      </div>
      <h2>Certificates it has made for others</h2>
      <List
        name="ca.cross_signs"
        members={{ id: ca.id }}
        caption={`Cross certificates of ${ca.label}`}
        columns={madeColumns(ca)}
        keyOf={({ id }) => id}
        live={["ca.cross_sign", "cert.revoke"]}
        empty={
          <p>
            None. A cross certificate lets clients of {ca.label} trust what another CA issues:{" "}
            <code>pkid ca cross-sign</code>
          </p>
        }
      />
      <h2>Paths to a root</h2>
      {ca.certificate === undefined ? (
        <p class="empty">None until it has its certificate.</p>
      ) : (
        <Asked name="ca.chains" members={{ id: ca.id }} live={["ca.cross_sign", "cert.revoke"]}>
          {({ items }) => <Paths ca={ca} chains={items} />}
        </Asked>
      )}
    </>
  );
}

const madeColumns = (ca: Ca): readonly Column<Cross>[] => [
  { name: "Subject", cell: (cross) => <SubjectCell cross={cross} /> },
  { name: "State", cell: ({ status }) => <Status word={status} /> },
  { name: "From", cell: ({ source }) => sourceWords[source] },
  { name: "Serial", cell: ({ serial }) => <Serial serial={serial} short />, wide: true },
  { name: "Until", cell: ({ not_after }) => <Day at={not_after} /> },
  {
    name: "Chain",
    cell: ({ id, status }) =>
      status === "revoked" ? (
        "–"
      ) : (
        <Download
          path={addressOf("ca.cross_chain", { id: ca.id, cross_sign_id: id })}
          file={`${ca.label}-cross-chain.pem`}
        >
          Download
        </Download>
      ),
  },
];

const sourceWords: Readonly<Record<Cross["source"], string>> = {
  "local-ca": "a CA here",
  certificate: "a certificate",
  csr: "a request",
};

function SubjectCell({ cross: { subject, subject_ca_id } }: { readonly cross: Cross }) {
  if (subject_ca_id === undefined) return <span>{shortText(subject)}</span>;
  return <a href={caHref(subject_ca_id)}>{shortText(subject)}</a>;
}

interface PathsProps {
  readonly ca: Ca;
  readonly chains: readonly Chain[];
}

function Paths({ ca, chains }: PathsProps) {
  if (chains.length === 0) {
    return <p class="empty">It is a root, and nobody else vouches for it.</p>;
  }
  return (
    <div class="list">
      <div class="scroll">
        <Table
          caption={`Paths from ${ca.label} to a root`}
          columns={pathColumns(ca)}
          rows={chains}
          keyOf={({ cross_sign_id, issuer_ca_id }) => cross_sign_id ?? issuer_ca_id}
        />
      </div>
      {chains.length >= pathsMax && (
        <p class="quiet small">The server names {pathsMax} paths at most; there may be others.</p>
      )}
    </div>
  );
}

const pathColumns = (ca: Ca): readonly Column<Chain>[] => [
  {
    name: "By way of",
    cell: ({ issuer_ca_id, issuer_label }) => <a href={caHref(issuer_ca_id)}>{issuer_label}</a>,
  },
  { name: "Kind", cell: ({ native }) => (native ? "its own certificate" : "a cross certificate") },
  { name: "Certificates", cell: ({ pem }) => pem.split("-----BEGIN").length - 1 },
  {
    name: "Files",
    cell: ({ issuer_label, pem }) => (
      <span class="buttons">
        <Copy text={pem} name={`path by way of ${issuer_label}`}>
          Copy
        </Copy>
        <button
          type="button"
          class="button plain"
          onClick={() =>
            save(
              `${ca.label}-via-${issuer_label}.pem`,
              new Blob([pem], { type: "application/x-pem-file" }),
            )
          }
        >
          Download
        </button>
      </span>
    ),
  },
];

/** Of `ca.chains`, which has no pages. */
const pathsMax = 100;
