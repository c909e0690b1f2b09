/** What transparency logs have promised about a certificate, and whether they kept it. */

import { decodePem } from "#core/asn1/pem.ts";
import { Asked } from "#web/ui/asked.tsx";
import { Fingerprint } from "#web/ui/copy.tsx";
import { Status } from "#web/ui/status.tsx";
import { Time } from "#web/ui/time.tsx";
import type { FoundSct } from "#web/x509/scts.ts";
import type { Certificate } from "./authorities.ts";
import { useDecoded } from "./decoding.ts";

/** The SCTs it carries, the logs that were asked, and what the monitor has seen in them. */
export function Transparency({ certificate }: { readonly certificate: Certificate }) {
  const { ct_status, sct_count, ct_logs = [], ca_id, serial } = certificate;
  const carried = useDecoded(certificate.certificate, sctsIn, none);
  if (ct_status === "none" && carried?.length === 0) {
    return <p class="quiet">No log was asked about it, and it carries no timestamps of any.</p>;
  }
  return (
    <>
      {ct_status === "failed_open" && (
        <p class="notice warn">
          Too few logs answered when it was issued, and its profile allowed that. Clients that want
          timestamps will not accept it.
        </p>
      )}
      <dl>
        <dt>Logs that gave one</dt>
        <dd>{ct_logs.length === 0 ? "none" : ct_logs.join(", ")}</dd>
        <dt>Timestamps</dt>
        <dd>
          {sct_count} when issued, {carried?.length ?? "…"} in the certificate
        </dd>
      </dl>
      {carried?.map(({ logId, at }) => (
        <dl key={logId}>
          <dt>Log</dt>
          <dd>
            <Fingerprint text={logId} name="log id" />
          </dd>
          <dt>Promised</dt>
          <dd>
            <Time at={at} />
          </dd>
        </dl>
      ))}
      <Inclusion ca={ca_id} serial={serial} />
    </>
  );
}

function Inclusion({ ca, serial }: { readonly ca: string; readonly serial: string }) {
  return (
    <Asked name="ct.inclusion" members={{ ca, serial, limit: logsMax }} live={["ct.*"]}>
      {({ items, total }) => (
        <>
          {items.map((row) => (
            <dl key={row.log_id}>
              <dt>{row.log_name || row.log_id}</dt>
              <dd>
                <Status word={row.status} /> <Time at={row.included_at ?? row.last_checked_at} />
                {row.last_error !== undefined && <div class="small">{row.last_error}</div>}
              </dd>
            </dl>
          ))}
          {total > items.length && (
            <p class="quiet small">And {(total - items.length).toLocaleString("en")} more logs.</p>
          )}
        </>
      )}
    </Asked>
  );
}

/** The list within the certificate; empty where there is none. */
async function sctsIn(pem: string): Promise<readonly FoundSct[]> {
  const { partsOf } = await import("#web/x509/certificate.ts");
  const { parseScts } = await import("#web/x509/scts.ts");
  const der = decodePem(pem, ["CERTIFICATE"]);
  if (der === undefined) return none();
  const list = partsOf(der).extensions.find(({ oid }) => oid === sctList);
  return list === undefined ? none() : parseScts(list.value);
}

/** One page of the interface. */
const logsMax = 500;
const sctList = "1.3.6.1.4.1.11129.2.4.2";
const none = (): readonly FoundSct[] => [];
