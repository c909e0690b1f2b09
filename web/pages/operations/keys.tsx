/** Where keys are, which there are, and the key that seals them. */

import type { Answers } from "#api/answers.ts";
import { hrefOf, hrefWith } from "#web/address.ts";
import { useAddress } from "#web/console.ts";
import { usePolled } from "#web/polled.ts";
import { Action } from "#web/ui/action.tsx";
import { Outcome, useAsked, Waiting } from "#web/ui/asked.tsx";
import { Confirm } from "#web/ui/confirm.tsx";
import { Fingerprint } from "#web/ui/copy.tsx";
import { Facts } from "#web/ui/facts.tsx";
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
        live={["ca.*", "kek.*"]}
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

/** The pool moves without an event, so it is looked at while it is shown. */
function Provider() {
  const { reply, refresh } = useAsked("hsm.info", {}, ["ca.*", "kek.*"]);
  usePolled(refresh, 10);
  return (
    <section class="card">
      <h2>Provider</h2>
      {reply === undefined && <Waiting />}
      <Outcome reply={reply} again={refresh} />
      {reply?.kind === "answered" && <ProviderFacts hsm={reply.answer} />}
    </section>
  );
}

function ProviderFacts({ hsm }: { readonly hsm: Answers["hsm.info"] }) {
  const { available, error, roles, manufacturer, part_number, serial, pool, ledger } = hsm;
  return (
    <Facts
      of={{
        State: (
          <>
            <Status word={available ? "up" : "down"} /> {error}
          </>
        ),
        "Keys of CAs": roles.ca === "pkcs11" ? "in the HSM" : "in software, sealed",
        "Responder keys": roles.responder === "pkcs11" ? "in the HSM" : "in software, sealed",
        Device: manufacturer && `${manufacturer} ${part_number} ${serial}`,
        Pool: `${pool.in_use} of ${pool.size} in use, ${pool.waiting} waiting`,
        "Sign ledger": <a href={hrefOf(["operations", "ledger"])}>{ledger.last_number} entries</a>,
      }}
    />
  );
}

function Kek() {
  const address = useAddress();
  const { open, close } = useDialog();
  const { reply, refresh } = useAsked("kek.show", {}, ["kek.*"]);
  const kek = reply?.kind === "answered" ? reply.answer : undefined;
  return (
    <section class="card">
      <h2>Key that seals keys</h2>
      {reply === undefined && <Waiting />}
      <Outcome reply={reply} again={refresh} />
      {kek && <KekFacts kek={kek} />}
      <div class="buttons">
        <Action
          operation="kek.rotate"
          href={hrefWith(address, { dialog: "rotate" })}
          look="outlined"
          unless={reply?.kind === "refused" ? "There is none that could be rotated." : undefined}
        >
          {["Rotate the KEK", kek?.kek_label].join(" ").trim()}
        </Action>
      </div>
      {open === "rotate" && kek !== undefined && (
        <Rotate
          kek={kek}
          onClose={close}
          onDone={() => {
            refresh();
            close();
          }}
        />
      )}
    </section>
  );
}

type KekShown = Answers["kek.show"];

function KekFacts({ kek }: { readonly kek: KekShown }) {
  const { kek_label, provider, version, versions, wrapped_keys } = kek;
  return (
    <>
      <Facts
        of={{
          Label: kek_label,
          Held: provider === "pkcs11" ? "in the HSM" : "in a sealed file",
          Version: version,
          Seals: counted(wrapped_keys),
        }}
      />
      <Table
        caption="Versions"
        columns={versionColumns}
        rows={versions}
        keyOf={(one) => String(one.version)}
      />
    </>
  );
}

interface RotateProps {
  readonly kek: KekShown;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

/** The consequence in numbers first; an unfinished rotation is finished and makes no version. */
function Rotate({ kek, onClose, onDone }: RotateProps) {
  const { kek_label, version, versions, wrapped_keys } = kek;
  const isUnfinished = versions.some(({ status }) => status === "retiring");
  const next = isUnfinished ? version : version + 1;
  return (
    <Confirm
      operation="kek.rotate"
      members={{}}
      title={`Rotate the KEK ${kek_label}`}
      does={`Rotate the KEK ${kek_label}`}
      onClose={onClose}
      onDone={onDone}
    >
      <Facts
        of={{
          "Sealed anew": counted(wrapped_keys),
          "Version in force": isUnfinished ? `stays ${version}` : `${version}, then ${next}`,
          "Versions kept": isUnfinished ? versions.length : versions.length + 1,
        }}
      />
      <p>
        {isUnfinished
          ? `The last rotation has not come to its end: what is still under an older version is sealed anew under version ${version}, and no further version is made.`
          : `Version ${next} is made and seals everything that is sealed; nobody waits for it. Version ${version} is retired for good and only opens archives of before: it is kept.`}
      </p>
    </Confirm>
  );
}

const counted = (wrapped: number): string =>
  wrapped === 1 ? "1 value or key" : `${wrapped.toLocaleString("en")} values and keys`;

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
    wraps: true,
    cell: ({ public_key_fingerprint: text }) => text && <Fingerprint text={text} />,
  },
];
