/** Keys that accounts of ACME are bound to, and what each may ask for. */

import { useState } from "preact/hooks";
import { hrefOf, hrefWith } from "#web/address.ts";
import type { Reply } from "#web/api.ts";
import { useAddress, useConsole } from "#web/console.ts";
import { Action } from "#web/ui/action.tsx";
import { Outcome, useAsked, Waiting } from "#web/ui/asked.tsx";
import { Confirm } from "#web/ui/confirm.tsx";
import { Copy } from "#web/ui/copy.tsx";
import { Facts } from "#web/ui/facts.tsx";
import { CheckField, ChoiceField, sameWords, TextField } from "#web/ui/fields.tsx";
import { useSend } from "#web/ui/form.tsx";
import { type Filter, Filters } from "#web/ui/filters.tsx";
import { GuardedForm } from "#web/ui/guarded-form.tsx";
import { Heading } from "#web/ui/heading.tsx";
import { Dialog, Panel, useDialog } from "#web/ui/layers.tsx";
import { type Column, List, type RowOf } from "#web/ui/list.tsx";
import { Status } from "#web/ui/status.tsx";
import { Distance, Time } from "#web/ui/time.tsx";
import type { AcmeDirectory } from "./directories.tsx";

type Credential = RowOf<"acme.eab.list">;

interface CredentialsPartProps {
  readonly id: string | undefined;
  readonly directories: readonly AcmeDirectory[];
}

export function CredentialsPart({ id, directories }: CredentialsPartProps) {
  const address = useAddress();
  const { open, close } = useDialog();
  const newCredential = (
    <Action operation="acme.eab.create" href={hrefWith(address, { dialog: "new" })} look="primary">
      New credential
    </Action>
  );
  return (
    <>
      <Heading name="Credentials">{newCredential}</Heading>
      <Filters filters={filters} />
      <div class="beside">
        <List
          name="acme.eab.list"
          members={{ status: address.query.status }}
          caption="Credentials, newest first"
          columns={columns}
          keyOf={(row) => row.id}
          hrefOf={(row) => hrefOf(["enrolment", "credentials", row.id], address.query)}
          selected={id}
          live={["acme.eab.*", "acme.account.new"]}
          empty={
            <>
              <p>
                No credential fits. One binds the accounts of a machine to the names it may ask for.
              </p>
              {newCredential}
              <Copy text="pkid acme eab create web --dns-suffix example.com" name="command" />
            </>
          }
        />
        {id !== undefined && <CredentialPanel id={id} />}
      </div>
      {open === "new" && <NewCredential directories={directories} onClose={close} />}
    </>
  );
}

const columns: readonly Column<Credential>[] = [
  { name: "Name", cell: ({ name }) => name },
  { name: "May ask for", cell: limitsOf },
  { name: "State", cell: ({ status }) => <Status word={status} /> },
  {
    name: "Uses",
    wide: true,
    cell: ({ uses, max_uses }) => `${uses} of ${max_uses === 0 ? "unlimited" : max_uses}`,
  },
  { name: "Expires", wide: true, cell: ({ expires_at }) => <Time at={expires_at} /> },
  { name: "Last used", wide: true, cell: ({ last_used_at }) => <Distance at={last_used_at} /> },
];

function limitsOf({
  any_identifier,
  dns_suffixes,
  ip_ranges,
  allow_wildcards,
}: Credential): string {
  if (any_identifier) return "any name";
  const names = [...dns_suffixes, ...ip_ranges].join(", ");
  return allow_wildcards ? `${names}, wildcards too` : names;
}

const filters: readonly Filter[] = [
  {
    name: "status",
    label: "State",
    choices: ["active", "exhausted", "expired", "revoked"].map((value) => ({
      value,
      label: value,
    })),
  },
];

/** One credential, asked for by its id. */
function CredentialPanel({ id }: { readonly id: string }) {
  const address = useAddress();
  const { open, close } = useDialog();
  const { reply, refresh } = useAsked("acme.eab.list", { id }, ["acme.eab.*"]);
  const closeHref = hrefOf(["enrolment", "credentials"], address.query);
  if (reply === undefined) return <Waiting />;
  const row = reply.kind === "answered" && reply.answer.items.find((one) => one.id === id);
  if (!row) {
    return (
      <Panel title="No such credential" closeHref={closeHref}>
        {reply.kind === "answered" ? (
          <p>There is no credential with this id that you may see.</p>
        ) : (
          <Outcome reply={reply} again={refresh} />
        )}
      </Panel>
    );
  }
  return (
    <Panel title={row.name} closeHref={closeHref} actions={<Revoke row={row} />}>
      <Status word={row.status} />
      <CredentialFacts row={row} />
      {open === "revoke" && (
        <Confirm
          operation="acme.eab.revoke"
          members={{ id }}
          where={{ tenantId: row.tenant_id }}
          unless={whyNotRevoked(row)}
          title={`Revoke ${row.name}`}
          does={`Revoke ${row.name}`}
          onClose={close}
          onDone={() => {
            refresh();
            close();
          }}
        >
          <p>
            It binds no more accounts, and those it has bound order nothing more. Certificates they
            have stay good.
          </p>
        </Confirm>
      )}
    </Panel>
  );
}

function Revoke({ row }: { readonly row: Credential }) {
  const address = useAddress();
  return (
    <Action
      operation="acme.eab.revoke"
      where={{ tenantId: row.tenant_id }}
      href={hrefWith(address, { dialog: "revoke" })}
      look="danger"
      unless={whyNotRevoked(row)}
    >
      Revoke
    </Action>
  );
}

function whyNotRevoked({ status, source }: Credential): string | undefined {
  if (status === "revoked") return "It is revoked.";
  return source === "config" ? "It stands in the configuration." : undefined;
}

const CredentialFacts = ({ row }: { readonly row: Credential }) => (
  <Facts
    of={{
      "Key identifier": <Copy text={row.id} name="key identifier" />,
      Directory: row.directory,
      "May ask for": limitsOf(row),
      Profile: row.profile,
      For: row.description,
      Uses: `${row.uses} of ${row.max_uses === 0 ? "unlimited" : row.max_uses}`,
      Made: (
        <>
          <Time at={row.created_at} /> by {row.created_by}
        </>
      ),
      Expires: row.expires_at === undefined ? "never" : <Time at={row.expires_at} />,
    }}
  />
);

interface Wanted {
  readonly directory: string;
  readonly name: string;
  readonly suffixes: string;
  readonly ranges: string;
  readonly wildcards: boolean;
  readonly any: boolean;
  readonly uses: string;
  readonly days: string;
}

interface NewCredentialProps {
  readonly directories: readonly AcmeDirectory[];
  readonly onClose: () => void;
}

/** What is asked for, and then the key, once. */
function NewCredential({ directories, onClose }: NewCredentialProps) {
  const { showOnce } = useConsole();
  const { send, busy, reply } = useSend("acme.eab.create");
  const [said, setSaid] = useState<Wanted>({
    directory: directories[0]?.name ?? "",
    name: "",
    suffixes: "",
    ranges: "",
    wildcards: false,
    any: false,
    uses: "1",
    days: "30",
  });
  const submit = async () => {
    const made = await send(membersOf(said));
    if (made === undefined) return;
    const { id, hmac_key, directory_url } = made;
    showOnce({
      title: "The key, this once",
      parts: { Directory: directory_url, KID: id, KEY: hmac_key },
      href: hrefOf(["enrolment", "credentials", id]),
    });
  };
  if (reply?.kind === "answered") return null;
  return (
    <Dialog title="New credential" onClose={onClose}>
      <GuardedForm
        operation="acme.eab.create"
        onSend={submit}
        busy={busy}
        reply={reply}
        does="Make the credential"
        onCancel={onClose}
        missing={said.name === "" ? "Type a name first." : undefined}
      >
        <ChoiceField
          label="Directory"
          member="directory"
          reply={reply}
          value={said.directory}
          choices={sameWords(directories.map(({ name }) => name))}
          onChange={(directory) => setSaid({ ...said, directory })}
        />
        <WantedFields
          said={said}
          reply={reply}
          onChange={(part) => setSaid({ ...said, ...part })}
        />
      </GuardedForm>
    </Dialog>
  );
}

const membersOf = (said: Wanted) => ({
  directory: said.directory,
  name: said.name,
  dns_suffixes: listIn(said.suffixes),
  ip_ranges: listIn(said.ranges),
  allow_wildcards: said.wildcards,
  any_identifier: said.any,
  max_uses: Number(said.uses),
  expires_in_days: said.days === "" ? undefined : Number(said.days),
});

interface WantedFieldsProps {
  readonly said: Wanted;
  readonly reply: Reply<unknown> | undefined;
  readonly onChange: (part: Partial<Wanted>) => void;
}

function WantedFields({ said, reply, onChange }: WantedFieldsProps) {
  return (
    <>
      {textFields.map(({ name, label, member, hint }) => (
        <TextField
          key={name}
          label={label}
          member={member}
          reply={reply}
          hint={hint}
          value={said[name]}
          onChange={(text) => onChange({ [name]: text })}
        />
      ))}
      <CheckField
        label="wildcards too"
        checked={said.wildcards}
        onChange={(wildcards) => onChange({ wildcards })}
      />
      <CheckField
        label="any name at all"
        checked={said.any}
        onChange={(any) => onChange({ any })}
      />
    </>
  );
}

const textFields = [
  { name: "name", label: "Name", member: "name", hint: "Whose machines use it." },
  {
    name: "suffixes",
    label: "DNS names below",
    member: "dns_suffixes",
    hint: "example.com is that name and all below it; several with commas.",
  },
  {
    name: "ranges",
    label: "IP addresses in",
    member: "ip_ranges",
    hint: "10.0.0.0/8; several with commas.",
  },
  {
    name: "uses",
    label: "Accounts it may bind",
    member: "max_uses",
    hint: "0 is unlimited.",
  },
  {
    name: "days",
    label: "Days it lives",
    member: "expires_in_days",
    hint: "Empty: until it is revoked.",
  },
] as const;

const listIn = (text: string): readonly string[] =>
  text.split(/[\s,]+/).filter((one) => one !== "");
