/** One certificate authority: what it is, how fresh its CRL is, and what it has issued. */

import type { Answers } from "#api/answers.ts";
import type { Credential } from "#web/api.ts";
import { Asked, Pages } from "#web/ui/asked.tsx";
import { type Column, Status, Table, Time } from "#web/ui/table.tsx";

type Ca = Answers["ca.show"];
type IssuedCertificate = Answers["cert.list"]["items"][number];

interface CaPageProps {
  readonly id: string;
  readonly credential: Credential | undefined;
}

/** Needs the capability `read` on the CA. */
export function CaPage({ id, credential }: CaPageProps) {
  return (
    <>
      <Asked name="ca.show" members={{ id }} credential={credential}>
        {(ca) => <Facts ca={ca} />}
      </Asked>
      <h2>CRL</h2>
      <Asked name="crl.status" members={{ id }} credential={credential}>
        {({ base }) => (
          <dl>
            <dt>Number</dt>
            <dd>{base.number ?? "none published"}</dd>
            <dt>Published</dt>
            <dd>
              <Time at={base.this_update} />
            </dd>
            <dt>Next by</dt>
            <dd>
              <Time at={base.next_update} />
            </dd>
            <dt>Entries</dt>
            <dd>{base.revoked_count}</dd>
          </dl>
        )}
      </Asked>
      <h2>Certificates</h2>
      <Pages name="cert.list" members={{ id }} credential={credential}>
        {({ items }) => (
          <Table
            caption="Newest first."
            empty="This authority has issued no certificate."
            columns={columns}
            rows={items}
            keyOf={({ serial }) => serial}
          />
        )}
      </Pages>
    </>
  );
}

function Facts({ ca }: { readonly ca: Ca }) {
  return (
    <>
      <h1>{ca.label}</h1>
      <dl>
        <dt>Status</dt>
        <dd>
          <Status word={ca.status} />
        </dd>
        <dt>Id</dt>
        <dd class="mono">{ca.id}</dd>
        <dt>Key</dt>
        <dd>
          {ca.key_type} ({ca.provider})
        </dd>
        <dt>Key fingerprint</dt>
        <dd class="mono">{ca.public_key_fingerprint}</dd>
        <dt>Serial</dt>
        <dd class="mono">{ca.serial ?? "–"}</dd>
        <dt>Valid</dt>
        <dd>
          <Time at={ca.not_before} /> to <Time at={ca.not_after} />
        </dd>
      </dl>
    </>
  );
}

const columns: readonly Column<IssuedCertificate>[] = [
  { name: "Subject", cell: ({ subject, sans }) => subject || sans.join(", ") },
  { name: "Serial", cell: ({ serial }) => <span class="mono">{serial}</span> },
  { name: "Profile", cell: ({ profile }) => profile },
  { name: "Status", cell: ({ status, reason }) => <State status={status} reason={reason} /> },
  { name: "Expires", cell: ({ not_after }) => <Time at={not_after} /> },
];

function State({ status, reason }: { status: string; reason: string | undefined }) {
  return (
    <>
      <Status word={status} />
      {reason !== undefined && <span class="quiet"> ({reason})</span>}
    </>
  );
}
