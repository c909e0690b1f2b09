/** The certificate authorities the caller may read, newest first. */

import type { Answers } from "#api/answers.ts";
import { addressOf, type Credential } from "#web/api.ts";
import { hashOf } from "#web/routes.ts";
import { Pages } from "#web/ui/asked.tsx";
import { type Column, Status, Table, Time } from "#web/ui/table.tsx";

type Ca = Answers["ca.list"]["items"][number];

/** Needs the capability `read`; the server narrows the list to where it is held. */
export function CasPage({ credential }: { readonly credential: Credential | undefined }) {
  return (
    <>
      <h1>Certificate authorities</h1>
      <Pages name="ca.list" credential={credential}>
        {({ items }) => (
          <Table
            caption="Certificates, chains and CRLs are public; relying parties fetch them from these addresses."
            empty="No certificate authority yet: make one with pkid ca init-root."
            columns={columns}
            rows={items}
            keyOf={({ id }) => id}
          />
        )}
      </Pages>
    </>
  );
}

const columns: readonly Column<Ca>[] = [
  { name: "Label", cell: ({ id, label }) => <a href={hashOf({ page: "ca", id })}>{label}</a> },
  { name: "Status", cell: ({ status }) => <Status word={status} /> },
  { name: "Kind", cell: ({ parent_id }) => (parent_id === undefined ? "root" : "intermediate") },
  { name: "Key", cell: ({ key_type, provider }) => `${key_type} (${provider})` },
  { name: "Expires", cell: ({ not_after }) => <Time at={not_after} /> },
  { name: "Public", cell: ({ id }) => <PublicLinks id={id} /> },
];

function PublicLinks({ id }: { readonly id: string }) {
  return (
    <>
      <a href={addressOf("ca.certificate", { id })}>certificate</a>{" "}
      <a href={addressOf("ca.chain", { id })}>chain</a>{" "}
      <a href={addressOf("crl.read", { id })}>CRL</a>
    </>
  );
}
