/** The certificate of a CA, or the request while it waits for one; what lies above it; files. */

import { CertificateFields } from "#web/pages/certificates/fields.tsx";
import { addressOf } from "#web/api.ts";
import { Outcome } from "#web/ui/asked.tsx";
import { Copy } from "#web/ui/copy.tsx";
import { Download } from "#web/ui/download.tsx";
import { useIssuers } from "#web/ui/issuers.ts";
import { plainText } from "#web/ui/plain.ts";
import { type Ca, caHref } from "./ca.ts";
import { RequestText } from "./request-dialog.tsx";
import { Pem } from "./pem.tsx";

/** A tab of a CA. */
export function CertificateTab({ ca }: { readonly ca: Ca }) {
  return (
    <>
      {ca.certificate === undefined ? (
        <p class="empty">
          It waits for its certificate. Give the request to the other side, and bring back what it
          makes of it.
        </p>
      ) : (
        <Certified ca={ca} pem={ca.certificate} />
      )}
      {ca.csr !== undefined && (
        <section class="card" aria-label="Request">
          <h2>Request</h2>
          <RequestText label={ca.label} pem={ca.csr} />
        </section>
      )}
    </>
  );
}

function Certified({ ca, pem }: { readonly ca: Ca; readonly pem: string }) {
  return (
    <>
      <section class="card" aria-label="Certificate">
        <h2>Certificate</h2>
        <CertificateFields pem={pem} />
        <details>
          <summary>PEM</summary>
          <Pem name="Certificate" text={pem} />
        </details>
        <div class="buttons">
          <Copy text={pem} name="certificate">
            Copy the PEM
          </Copy>
        </div>
      </section>
      <Above ca={ca} />
      <Files ca={ca} />
    </>
  );
}

/** Those that vouch for it, its issuer first, as far as this instance knows them. */
function Above({ ca }: { readonly ca: Ca }) {
  const issuers = useIssuers(ca.id);
  if (ca.external_chain !== undefined) {
    const count = ca.external_chain.split("-----BEGIN").length - 1;
    return (
      <section class="card" aria-label="Above it">
        <h2>Above it</h2>
        <p>
          {count === 1 ? "One certificate" : `${count} certificates`} of the external side, as
          brought in.
        </p>
        <Pem name="External chain" text={ca.external_chain} />
      </section>
    );
  }
  if (ca.parent_id === undefined) return null;
  const { cas = [], beyond = [], refused } = issuers ?? {};
  const isOutside = cas.at(-1)?.csr !== undefined;
  return (
    <section class="card" aria-label="Above it">
      <h2>Above it</h2>
      <ol>
        {cas.slice(1).map(({ id, label, subject }) => (
          <li key={id}>
            <a href={caHref(id)}>{label}</a> <span class="quiet">{plainText(subject)}</span>
          </li>
        ))}
        {beyond.length > 0 && (
          <li class="quiet">
            {beyond.length} more, {isOutside ? "of the external side" : "which you may not read"}.
            The bundle has {beyond.length === 1 ? "its certificate" : "their certificates"}.
          </li>
        )}
      </ol>
      <Outcome reply={refused} />
    </section>
  );
}

function Files({ ca: { id, label } }: { readonly ca: Ca }) {
  return (
    <section class="card" aria-label="Files">
      <h2>Files</h2>
      <div class="buttons">
        <Download path={addressOf("ca.certificate", { id })} file={`${label}.der`}>
          Certificate, DER
        </Download>
        <Download path={addressOf("ca.certificate", { id, format: "pem" })} file={`${label}.pem`}>
          Certificate, PEM
        </Download>
        <Download path={addressOf("ca.chain", { id })} file={`${label}-bundle.pem`}>
          Bundle, PEM
        </Download>
        <Download path={addressOf("ca.public_key", { id })} file={`${label}.pub.pem`}>
          Public key, PEM
        </Download>
        <Download path={addressOf("ca.public_key", { id, format: "ssh" })} file={`${label}.pub`}>
          Public key, OpenSSH
        </Download>
      </div>
      <p class="quiet small">
        The bundle has the certificates in force of this name, and those above them up to the root.
      </p>
    </section>
  );
}
