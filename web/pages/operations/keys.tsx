/** Where keys are, which there are, and the key that seals them. */

import { useState } from "preact/hooks";
import { hrefOf, hrefWith } from "#web/address.ts";
import { useAddress } from "#web/console.ts";
import { Action } from "#web/ui/action.tsx";
import { Asked } from "#web/ui/asked.tsx";
import { Confirm } from "#web/ui/confirm.tsx";
import { Fingerprint } from "#web/ui/copy.tsx";
import { Heading } from "#web/ui/heading.tsx";
import { useDialog } from "#web/ui/layers.tsx";
import { type Column, List, type RowOf, Table } from "#web/ui/list.tsx";
import { Status } from "#web/ui/status.tsx";
import { Time } from "#web/ui/time.tsx";

export function KeysPart() {
  return (
    <>
      <Heading name="Keys" />
      <div class="cards">
        <Provider />
        <Kek />
      </div>
      <List
        name="inventory.keys"
        members={{}}
        caption="Keys of the providers"
        columns={columns}
        keyOf={({ provider, label, role }) => `${provider} ${role} ${label}`}
        empty={<p>No provider has a key yet.</p>}
        above={({ extractable_count, unbound_count }) => (
          <p class="quiet">
            {extractable_count} could leave their provider, {unbound_count} belong to nothing.
          </p>
        )}
      />
    </>
  );
}

function Provider() {
  return (
    <section class="card">
      <h2>Provider</h2>
      <Asked name="hsm.info">
        {(hsm) => (
          <dl>
            <dt>State</dt>
            <dd>
              <Status word={hsm.available ? "up" : "down"} /> {hsm.error}
            </dd>
            <dt>Keys of CAs</dt>
            <dd>{hsm.roles.ca === "pkcs11" ? "in the HSM" : "in software, sealed"}</dd>
            <dt>Responder keys</dt>
            <dd>{hsm.roles.responder === "pkcs11" ? "in the HSM" : "in software, sealed"}</dd>
            {hsm.manufacturer && (
              <>
                <dt>Device</dt>
                <dd>
                  {hsm.manufacturer} {hsm.part_number} {hsm.serial}
                </dd>
              </>
            )}
            <dt>Pool</dt>
            <dd>
              {hsm.pool.in_use} of {hsm.pool.size} in use, {hsm.pool.waiting} waiting
            </dd>
            <dt>Sign ledger</dt>
            <dd>
              <a href={hrefOf(["operations", "ledger"])}>{hsm.ledger.last_number} entries</a>
            </dd>
          </dl>
        )}
      </Asked>
    </section>
  );
}

function Kek() {
  const address = useAddress();
  const { open, close } = useDialog();
  const [round, setRound] = useState(0);
  return (
    <section class="card">
      <h2>Key that seals keys</h2>
      <Asked key={round} name="kek.show" live={["kek.*"]}>
        {({ kek_label, provider, version, versions, wrapped_keys }) => (
          <>
            <dl>
              <dt>Label</dt>
              <dd>{kek_label}</dd>
              <dt>Held</dt>
              <dd>{provider === "pkcs11" ? "in the HSM" : "in a sealed file"}</dd>
              <dt>Version</dt>
              <dd>{version}</dd>
              <dt>Seals</dt>
              <dd>{wrapped_keys} keys</dd>
            </dl>
            <Table
              caption="Versions"
              columns={versionColumns}
              rows={versions}
              keyOf={(one) => String(one.version)}
            />
          </>
        )}
      </Asked>
      <div class="buttons">
        <Action operation="kek.rotate" href={hrefWith(address, { dialog: "rotate" })}>
          Rotate
        </Action>
      </div>
      {open === "rotate" && (
        <Confirm
          operation="kek.rotate"
          members={{}}
          title="Rotate the key that seals keys"
          does="Rotate"
          onClose={close}
          onDone={() => {
            setRound((count) => count + 1);
            close();
          }}
        >
          <p>
            A new version is made and everything sealed is sealed anew under it. Archives of before
            still need the old version: it is kept.
          </p>
        </Confirm>
      )}
    </section>
  );
}

interface KekVersion {
  readonly version: number;
  readonly status: string;
  readonly created_at: string;
}

const versionColumns: readonly Column<KekVersion>[] = [
  { name: "Version", cell: ({ version }) => version },
  { name: "State", cell: ({ status }) => <Status word={status} /> },
  { name: "Since", cell: ({ created_at }) => <Time at={created_at} /> },
];

const columns: readonly Column<RowOf<"inventory.keys">>[] = [
  { name: "Label", cell: ({ label }) => <span class="mono">{label}</span> },
  { name: "Role", cell: ({ role }) => role },
  { name: "Type", cell: ({ key_type }) => key_type },
  { name: "Held by", cell: ({ provider }) => provider },
  { name: "Of", wide: true, cell: ({ ca_label }) => ca_label ?? "" },
  {
    name: "Can leave",
    wide: true,
    cell: ({ extractable, sensitive }) => (extractable || !sensitive ? "yes" : "no"),
  },
  {
    name: "Fingerprint",
    wide: true,
    cell: ({ public_key_fingerprint: text }) => text && <Fingerprint text={text} />,
  },
];
