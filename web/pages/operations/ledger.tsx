/** The sign ledger: every use of a key of a CA, before and after it. */

import { hrefOf } from "#web/address.ts";
import { addressOf } from "#web/api.ts";
import { Copy } from "#web/ui/copy.tsx";
import { Download } from "#web/ui/download.tsx";
import { Heading } from "#web/ui/heading.tsx";
import { type Column, List, type RowOf } from "#web/ui/list.tsx";
import { Status } from "#web/ui/status.tsx";
import { Time } from "#web/ui/time.tsx";

export function LedgerPart() {
  return (
    <>
      <Heading name="Sign ledger">
        <Download path={addressOf("hsm.signed_audit_log")} file="sign-ledger.json">
          Signed ledger
        </Download>
        <Download path={addressOf("hsm.combined_audit_log")} file="sign-ledger-combined.json">
          With what was signed
        </Download>
      </Heading>
      <p class="quiet">
        Both are signed by the ledger key; the second holds the certificates, requests and kept CRLs
        too. Verify either file anywhere:{" "}
        <Copy text="pkid hsm verify-log sign-ledger.json" name="command" />
      </p>
      <List
        name="hsm.audit_log"
        members={{}}
        caption="Entries, newest first"
        columns={columns}
        keyOf={({ number }) => String(number)}
        live={["cert.*", "crl.*", "ca.*"]}
        empty={<p>The ledger is never empty; this one could not be read.</p>}
      />
    </>
  );
}

const columns: readonly Column<RowOf<"hsm.audit_log">>[] = [
  { name: "Number", cell: ({ number }) => <span class="mono">{number}</span> },
  { name: "When", cell: ({ timestamp }) => <Time at={timestamp} /> },
  { name: "Kind", wide: true, cell: ({ kind }) => kind },
  { name: "For", cell: ({ purpose, operation }) => purpose?.replaceAll("_", " ") ?? operation },
  { name: "Result", cell: ({ result }) => result && <Status word={result} /> },
  { name: "Key", wide: true, cell: ({ key_label }) => key_label },
  {
    name: "CA",
    wide: true,
    cell: ({ ca_id }) => ca_id && <a href={hrefOf(["authorities", ca_id])}>{ca_id.slice(0, 8)}</a>,
  },
  {
    name: "Intact",
    wide: true,
    cell: ({ hash_valid }) => <Status word={hash_valid ? "valid" : "invalid"} />,
  },
];
