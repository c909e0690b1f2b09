/** The certificates above one, up to the root, as far as the caller may read them. */

import { hrefOf } from "#web/address.ts";
import { useAddress } from "#web/console.ts";
import { Fingerprint } from "#web/ui/copy.tsx";
import { plainText } from "#web/ui/plain.ts";
import { Status } from "#web/ui/status.tsx";
import { Day } from "#web/ui/time.tsx";
import { type Authority, type Certificate, nameOf, pathOf } from "./authorities.ts";

interface ChainProps {
  readonly certificate: Certificate;
  readonly cas: readonly Authority[];
}

/** Leaf first, as servers send it. */
export function CertificateChain({ certificate, cas }: ChainProps) {
  const { query } = useAddress();
  const path = pathOf(cas, certificate.ca_id);
  const top = path.at(-1);
  return (
    <ol class="plain chain">
      <li>{plainText(nameOf(certificate))}</li>
      {path.map((ca) => (
        <li key={ca.id}>
          <div>
            <a href={hrefOf(["authorities", ca.id], { tenant: query.tenant })}>{ca.label}</a>{" "}
            <Status word={ca.status} />
            {ca.parent_id === undefined && ca.external_chain === undefined && " · root"}
          </div>
          <div class="quiet small">{plainText(ca.subject)}</div>
          <div class="quiet small">
            {ca.key_type} · until <Day at={ca.not_after} />
          </div>
          <Fingerprint text={ca.public_key_fingerprint} name="key fingerprint" />
        </li>
      ))}
      {top === undefined && <li class="quiet">Its CA is not one that you may read.</li>}
      {top?.parent_id !== undefined && <li class="quiet">A CA above it that you may not read.</li>}
      {top?.external_chain !== undefined && <li class="quiet">A root outside this instance.</li>}
    </ol>
  );
}
