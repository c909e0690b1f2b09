/** The certificates above one, up to the root: its CAs, and what is known of those beyond them. */

import { decodePem, encodePem } from "#core/asn1/pem.ts";
import { hrefOf } from "#web/address.ts";
import { useAddress } from "#web/console.ts";
import { Waiting } from "#web/ui/asked.tsx";
import { Fingerprint } from "#web/ui/copy.tsx";
import type { Issuers } from "#web/ui/issuers.ts";
import { plainText } from "#web/ui/plain.ts";
import { Status } from "#web/ui/status.tsx";
import { Day } from "#web/ui/time.tsx";
import { isRoot } from "#web/x509/paths.ts";
import { type Authority, type Certificate, nameOf } from "./authorities.ts";
import { useDecoded } from "./decoding.ts";

interface ChainProps {
  readonly certificate: Certificate;
  /** Undefined until they are known. */
  readonly issuers: Issuers | undefined;
}

/** Leaf first, as servers send it. */
export function CertificateChain({ certificate, issuers }: ChainProps) {
  if (issuers === undefined) return <Waiting />;
  const { cas, beyond } = issuers;
  const isOutside = cas.at(-1)?.csr !== undefined;
  return (
    <ol class="plain chain">
      <li>{plainText(nameOf(certificate))}</li>
      {cas.map((ca) => (
        <Own key={ca.id} ca={ca} />
      ))}
      {beyond.map((der) => (
        <Beyond
          key={der.toBase64()}
          der={der}
          whose={isOutside ? "outside this instance" : "not one that you may read"}
        />
      ))}
      <Rest issuers={issuers} />
    </ol>
  );
}

function Own({ ca }: { readonly ca: Authority }) {
  const { query } = useAddress();
  return (
    <li>
      <div>
        <a href={hrefOf(["authorities", ca.id], { tenant: query.tenant })}>{ca.label}</a>{" "}
        <Status word={ca.status} />
        {ca.parent_id === undefined && ca.csr === undefined && " · root"}
      </div>
      <div class="quiet small">{plainText(ca.subject)}</div>
      <div class="quiet small">
        {ca.key_type} · until <Day at={ca.not_after} />
      </div>
      <Fingerprint text={ca.public_key_fingerprint} name="key fingerprint" />
    </li>
  );
}

interface BeyondProps {
  readonly der: Uint8Array;
  readonly whose: string;
}

/** There is no record of it to read, but its certificate. */
function Beyond({ der, whose }: BeyondProps) {
  const said = useDecoded(encodePem("CERTIFICATE", der), saidBy, nothing);
  return (
    <li>
      <div>
        {said === undefined ? "…" : plainText(said.subject)} <span class="quiet">· {whose}</span>
        {isRoot(der) && " · root"}
      </div>
      {said !== undefined && (
        <div class="quiet small">
          until <Day at={said.until} />
        </div>
      )}
    </li>
  );
}

/** What is above the last of them. */
function Rest({ issuers: { cas, beyond, refused } }: { readonly issuers: Issuers }) {
  const top = cas.at(-1);
  const last = beyond.at(-1);
  if (refused !== undefined) return <li class="quiet">Whatever is above it could not be had.</li>;
  if (last !== undefined) {
    return isRoot(last) ? null : <li class="quiet">A root outside this instance.</li>;
  }
  if (top === undefined) return <li class="quiet">Its CA is not one that you may read.</li>;
  return top.csr === undefined ? null : <li class="quiet">A root outside this instance.</li>;
}

interface SaidBy {
  readonly subject: string;
  readonly until: string | undefined;
}

async function saidBy(pem: string): Promise<SaidBy> {
  const [{ partsOf }, { nameInWords }] = await Promise.all([
    import("#web/x509/certificate.ts"),
    import("#web/x509/names.ts"),
  ]);
  const der = decodePem(pem, ["CERTIFICATE"]);
  if (der === undefined) return nothing();
  const { subject, notAfter } = partsOf(der);
  const until = notAfter.as === "time" ? notAfter.text : undefined;
  return { subject: nameInWords(subject) || "(a name that cannot be read)", until };
}

const nothing = (): SaidBy => ({
  subject: "(a certificate that cannot be read)",
  until: undefined,
});
