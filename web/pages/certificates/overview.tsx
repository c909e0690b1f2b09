/** What most people want to know of a certificate, before any of its fields. */

import { hrefOf } from "#web/address.ts";
import { useAddress } from "#web/console.ts";
import { Fingerprint, Serial } from "#web/ui/copy.tsx";
import { Breaking } from "#web/ui/breaking.tsx";
import { plainText } from "#web/ui/plain.ts";
import { Time } from "#web/ui/time.tsx";
import type { Authority, Certificate } from "./authorities.ts";
import { useDecoded } from "./decoding.ts";

interface OverviewProps {
  readonly certificate: Certificate;
  /** The CA of it, where it is known. */
  readonly ca: Authority | undefined;
}

/** Who it is for, and where it comes from. */
export function CertificateOverview({ certificate, ca }: OverviewProps) {
  return (
    <dl>
      <Identity certificate={certificate} />
      <Origin certificate={certificate} ca={ca} />
    </dl>
  );
}

function Identity({ certificate }: { readonly certificate: Certificate }) {
  const { query } = useAddress();
  const { sans, subject, serial, not_before, not_after, profile } = certificate;
  const { public_key_fingerprint: key } = certificate;
  return (
    <>
      <dt>Names</dt>
      <dd>
        {sans.length === 0 && <span class="quiet">none</span>}
        {sans.map((name) => (
          <div key={name}>
            <Breaking text={plainText(name.replace(/^dns:/, ""))} />
          </div>
        ))}
      </dd>
      <dt>Subject</dt>
      <dd>{subject === "" ? <span class="quiet">empty</span> : plainText(subject)}</dd>
      <dt>Serial</dt>
      <dd>
        <Serial serial={serial} />
      </dd>
      <dt>Valid</dt>
      <dd>
        <Time at={not_before} /> to <Time at={not_after} />
      </dd>
      <dt>Profile</dt>
      <dd>{profile}</dd>
      <Digest pem={certificate.certificate} />
      <dt>Key</dt>
      <dd>
        <Fingerprint text={key} name="key fingerprint" />{" "}
        <a
          class="small"
          href={hrefOf(["certificates"], { public_key_sha256: key, tenant: query.tenant })}
        >
          certificates of this key
        </a>
      </dd>
    </>
  );
}

/** Worked out here; of a certificate that was pruned there is none. */
function Digest({ pem }: { readonly pem: string }) {
  const digest = useDecoded(pem, digestOfPem, unknown);
  if (pem === "") return null;
  return (
    <>
      <dt>SHA-256</dt>
      <dd>
        {digest === undefined ? "…" : <Fingerprint text={digest} name="certificate fingerprint" />}
      </dd>
    </>
  );
}

const digestOfPem = async (pem: string): Promise<string> =>
  (await (await import("#web/x509/digest.ts")).certificateDigest(pem)) ?? unknown();

const unknown = () => "unknown";

function Origin({ certificate, ca }: OverviewProps) {
  const { tenant } = useAddress().query;
  const { ca_id, requested_by, created_at, marker, crl_partition } = certificate;
  const theirs = { actor: requested_by, action: "cert.*", ca: ca_id, tenant };
  return (
    <>
      <dt>Issued by</dt>
      <dd>
        <a href={hrefOf(["authorities", ca_id], { tenant })}>{ca?.label ?? ca_id}</a>
      </dd>
      <dt>Requested by</dt>
      <dd>
        <a href={hrefOf(["certificates"], { ca: ca_id, requested_by, tenant })}>
          {plainText(requested_by)}
        </a>{" "}
        <Time at={created_at} />{" "}
        <a class="small" href={hrefOf(["events"], theirs)}>
          all they did with certificates
        </a>
      </dd>
      {marker !== undefined && (
        <>
          <dt>Marked</dt>
          <dd>{marker === "canary" ? "canary: made to check this instance" : marker}</dd>
        </>
      )}
      {crl_partition !== undefined && (
        <>
          <dt>CRL partition</dt>
          <dd>{crl_partition}</dd>
        </>
      )}
    </>
  );
}
