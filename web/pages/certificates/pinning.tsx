/** TLSA records (RFC 6698) of a certificate and its CA, for whoever runs its zone. */

import { useState } from "preact/hooks";
import { hrefOf, visit } from "#web/address.ts";
import { useAddress } from "#web/console.ts";
import { Outcome, useAsked, Waiting } from "#web/ui/asked.tsx";
import { Copy } from "#web/ui/copy.tsx";
import { Field } from "#web/ui/form.tsx";
import type { Certificate } from "./authorities.ts";
import { TypedField } from "./typed.tsx";

/** The host, port and protocol are in the address; what is shown is for those. */
export function Pinning({ certificate }: { readonly certificate: Certificate }) {
  const { query } = useAddress();
  const { ca_id: id, serial } = certificate;
  const { host = hostOf(certificate), port = "443", protocol = "tcp" } = query;
  const members = host === "" ? undefined : { id, serial, host, port, protocol };
  const { reply, refresh } = useAsked("dns.tlsa", members);
  return (
    <>
      <PinningForm key={`${host} ${port} ${protocol}`} place={{ host, port, protocol }} />
      {members !== undefined && reply === undefined && <Waiting />}
      <Outcome reply={reply} again={refresh} />
      {members !== undefined && reply?.kind === "answered" && (
        <>
          <p class="quiet small">
            Usage 3 pins this certificate or its key, 2 its CA as an anchor, 0 its CA. Publish one
            or two, not all; a record of the key (selector 1) outlives a renewal with the same key.
          </p>
          <ul class="plain records">
            {reply.answer.tlsa.map(({ zone }) => (
              <li key={zone}>
                <Copy text={zone} name="record">
                  {zone.length <= shownMax ? zone : `${zone.slice(0, shownMax)}…`}
                </Copy>
              </li>
            ))}
          </ul>
          <Copy text={reply.answer.zone} name="all records">
            copy all
          </Copy>
        </>
      )}
    </>
  );
}

interface Place {
  readonly host: string;
  readonly port: string;
  readonly protocol: string;
}

function PinningForm({ place }: { readonly place: Place }) {
  const { path, query } = useAddress();
  const [host, setHost] = useState(place.host);
  const [port, setPort] = useState(place.port);
  const [protocol, setProtocol] = useState(place.protocol);
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    visit(hrefOf(path, { ...query, host, port, protocol }));
  };
  return (
    <form class="row" onSubmit={submit}>
      <TypedField label="Host" value={host} onValue={setHost} />
      <TypedField label="Port" numeric value={port} onValue={setPort} />
      <Field label="Protocol">
        {(control) => (
          <select
            {...control}
            value={protocol}
            onChange={({ currentTarget }) => setProtocol(currentTarget.value)}
          >
            <option>tcp</option>
            <option>udp</option>
            <option>sctp</option>
          </select>
        )}
      </Field>
      <button type="submit" class="button">
        Show records
      </button>
    </form>
  );
}

/** The first name that is a host; wildcards are none. */
function hostOf({ sans, common_name }: Certificate): string {
  const names = sans.flatMap((san) => (san.startsWith("dns:") ? [san.slice(4)] : []));
  return (
    names.find((name) => !name.includes("*")) ?? (hostPattern.test(common_name) ? common_name : "")
  );
}

/** A whole certificate in a record is long, and is copied and not read. */
const shownMax = 180;
const hostPattern = /^[a-z0-9-]+(\.[a-z0-9-]+)+$/i;
